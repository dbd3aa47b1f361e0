"""An inspection as `run.inspect()` hands it out: a value that shows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.inspection import Inspection, inspect
from nbrunner.views.html import Html, h, join, spaced
from nbrunner.views.inspector import (
    inspection_fragments,
    inspection_text,
    line_fragments,
)
from nbrunner.views.page import NO_FORMULAS, stylesheet

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript


class Inspected(Inspection):
    """What the prompt cache made of one request, shown by a notebook as in the panel.

    Attributes:
        is_replayed: Whether it has to read the same whenever it is made again.
    """

    is_replayed: bool = False

    @classmethod
    def at(cls, transcript: Transcript, index: int) -> Inspected:
        """The inspection of an iteration, from 0."""
        found = dict(inspect(transcript, index))
        return cls.model_construct(**found, is_replayed=transcript.source != "live")

    def __repr__(self) -> str:
        return inspection_text(self)

    __str__ = __repr__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        title = h("span", f"request {self.index + 1}", class_="nbr-name")
        body = inspection_fragments(self, is_lasting=self.is_replayed)
        page = h(
            "section",
            h("div", spaced(title, line_fragments(self)), class_="nbr-bar"),
            h("div", body, class_="nbr-request nbr-cache nbr-alone"),
            class_=f"nbr nbr-static {NO_FORMULAS}",
            aria_label=f"cache of request {self.index + 1}",
        )
        html = join([Html(f"<style>{stylesheet()}</style>"), page])
        return {"text/html": str(html), "text/plain": repr(self)}
