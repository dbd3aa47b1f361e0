"""`Run`: a conversation with tools that can be watched and steered.

The composition root: it joins the loop, the views and the panel for a user, and
holds no state of its own beyond them. What happened is in the transcript.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from nbrunner.core.apply import apply
from nbrunner.core.events import EditApplied
from nbrunner.errors import UsageError
from nbrunner.run.as_runner import AsRunner
from nbrunner.run.given import client_of
from nbrunner.views.page import static_page
from nbrunner.views.text import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbrunner.core.edits import Edit
    from nbrunner.core.transcript import Transcript
    from nbrunner.panel import Panel


class Run(AsRunner):
    """One conversation branch: settings, history, and whatever is asked of it.

    Nothing is sent before `start()`, `wait()`, `await` or a loop of your own over it.
    Every method may be called while it is at work, from any thread.

    Args:
        client: An `anthropic.Anthropic`, or replies to play (a script, a cassette or
            its path, `replay.play(...)`, any httpx2 transport). Without one, a live
            client is made from the environment.
        tools: `@beta_tool` functions, SDK tool objects, raw definitions.
        messages: The conversation so far; a str is one user message.
        model: The model's name.
        max_tokens: The most tokens of one reply.
        system: The system prompt: a str or a list of text blocks.
        max_iterations: How many replies one start asks for at most.
        stream: Whether replies are streamed.
        hold: Stay open at the end, in the thread and in the panel, until someone
            calls `stop()`: a message sent meanwhile takes the run further. Ignored
            in a kernel that nobody sits at (nbclient, papermill).
        approver: Says of each call whether it may run: `approve_all`, `reject_all`,
            `ask`, `by_tool(...)`, or a function of your own that takes the call.
        allow_ungated: Accept tools that no approver can be asked about: those that
            the API or an MCP server runs, and toolsets.
        hold_on_failure: Wait for `retry()` or `stop()` after a request that failed
            and may succeed when sent again, instead of ending.
        sdk_texts: Send Claude the SDK's own texts for an invalid input, an unknown
            tool and an odd return value, in place of ours.
        name: What the run is called in its panel and in its lines of Python.
        **params: Any other parameter of the SDK's `tool_runner()`.

    Raises:
        UnknownParameter: A parameter that the SDK does not know (a TypeError).
        NotATool: Something in `tools` is not a tool.
        NotAnApprover: The approver is not one.
        Ungated: With an approver, a tool runs without asking it.
        NotAClient: The client is one for asyncio.
        NoKey: No client was given and the environment holds no key.
    """

    def _set_out(self, transcript: Transcript) -> None:
        super()._set_out(transcript)
        self.branches: list[Run] = []
        """The runs that were forked from this one, oldest first."""

    # -- branches --------------------------------------------------------------

    def fork(
        self,
        at: int | None = None,
        edits: Iterable[Edit] = (),
        *,
        name: str | None = None,
        client: Any = None,
    ) -> Run:
        """A new run that goes another way from an iteration on; this one stays.

        Args:
            at: The index of the iteration that it asks anew, from 0; None is the end
                of the conversation, and a negative one counts from there.
            edits: What is different in it. Results that came before may be edited.
            name: What it is called.
            client: Who answers it; this run's client if None.

        Raises:
            UsageError: There is no such iteration.
            EditRefused: An edit cannot be made.
        """
        count = len(self.transcript.iterations)
        place = count if at is None else at + count if at < 0 else at
        if not 0 <= place <= count:
            raise UsageError(
                f"{self.name} has {count} iterations, and none at {at}. Name one from "
                f"0 to {max(count - 1, 0)}, or leave it out to fork at the end."
            )
        number = len(self.branches) + 1
        fork = copy.copy(self)
        fork.name = name or f"{self.name}_{number}"
        fork._tools = self._tools.copy()  # noqa: SLF001 - its own class
        fork._set_out(self.transcript.branch(place, self.name))  # noqa: SLF001 - its own class
        if client is not None:
            fork._client = client_of(client)  # noqa: SLF001 - its own class
        for edit in edits:
            fork._make(edit)
        self.branches.append(fork)
        return fork

    def _make(self, edit: Edit) -> None:
        checked = self._checked(edit)
        apply(self.transcript.next_request(), checked, by="code")
        self._ledger.write(EditApplied(edit=checked, by="code"))

    # -- showing ---------------------------------------------------------------

    def show(self) -> Panel:
        """A live panel on this run, to look at and to steer it by."""
        from nbrunner.panel import Panel  # noqa: PLC0415 - loads anywidget

        return Panel(self)

    def to_html(self) -> str:
        """The transcript as static HTML, redacted: no script, no widget."""
        return static_page(self.transcript, name=self.name)

    def to_text(self) -> str:
        """The transcript as plain text, redacted."""
        return as_text(self.transcript, name=self.name)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.to_text()}

    def __repr__(self) -> str:
        count = len(self.transcript.iterations)
        state = self.stopped_by or self.transcript.status
        return f"<Run {self.name}: {count} iterations, {state}>"
