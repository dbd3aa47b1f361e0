"""Showing a branch: a live panel, a static page, a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.errors import UsageError
from nbrunner.run.branch import Branch
from nbrunner.views.code import as_code
from nbrunner.views.inspected import Inspected
from nbrunner.views.page import static_page
from nbrunner.views.relatives import relatives_of
from nbrunner.views.text import as_text
from nbrunner.views.words import count as counted

if TYPE_CHECKING:
    from nbrunner.panel import Panel


class Showing(Branch):
    """A branch that can be looked at."""

    def show(self) -> Panel:
        """A live panel on this run, to look at and to steer it by."""
        from nbrunner.panel import Panel  # noqa: PLC0415 - loads anywidget

        panel = Panel(self)
        self.panels.add(panel)
        return panel

    def inspect(self, at: int = -1) -> Inspected:
        """What the prompt cache made of one request: its marks, and a missed read.

        Args:
            at: Which iteration, as in `transcript.iterations[at]`.

        Raises:
            UsageError: There is no such iteration.
        """
        transcript = self.transcript
        count = len(transcript.iterations)
        if not -count <= at < count:
            raise UsageError(
                f"{self.name} has {counted(count, 'iteration')}, and none at {at}: "
                "they are counted from 0, and -1 is the newest."
            )
        return Inspected.at(transcript, at % count)

    def to_html(self) -> str:
        """The transcript as static HTML, redacted: no script, no widget."""
        beside = relatives_of(self)
        return static_page(self.transcript, name=self.name, relatives=beside)

    def to_text(self) -> str:
        """The transcript as plain text, redacted."""
        return as_text(self.transcript, name=self.name, relatives=relatives_of(self))

    def to_code(self) -> str:
        """The run as plain code for the SDK, redacted: no line of it needs nbrunner.

        Each thing that a person did to the run is the line that does the same, so that
        the code sends what the run sent. The tools are named as in the notebook.
        """
        return as_code(
            self.transcript,
            name=self.name,
            tools=self._tools.callable_here,
            stream=self._driving["stream"],
            eager=self._driving["eager"],
            max_iterations=self._driving["max_iterations"],
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.to_text()}

    def __repr__(self) -> str:
        count = len(self.transcript.iterations)
        state = self.stopped_by or self.transcript.status
        return f"<Run {self.name}: {count} iterations, {state}>"
