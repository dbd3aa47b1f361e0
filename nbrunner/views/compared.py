"""A comparison of two branches as `run.diff()` hands it out: it shows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.comparison import Comparison, compare
from nbrunner.views.html import Html, h, join, spaced
from nbrunner.views.page import NO_FORMULAS, stylesheet
from nbrunner.views.parting import parting_fragment, parting_lines
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript


class Compared(Comparison):
    """What differs between two branches, shown by a notebook as a diff.

    Attributes:
        names: What the two runs are called.
    """

    names: tuple[str, str]

    @classmethod
    def of(cls, one: Transcript, other: Transcript, names: tuple[str, str]) -> Compared:
        """The comparison of two branches, with their names."""
        return cls.model_construct(**dict(compare(one, other)), names=names)

    def __repr__(self) -> str:
        return printable("\n".join([" → ".join(self.names), *parting_lines(self)]))

    __str__ = __repr__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        one, other = self.names
        title = h("span", f"{one} → {other}", class_="nbr-name")
        page = h(
            "section",
            h("div", spaced(title), class_="nbr-bar"),
            h("div", parting_fragment(self), class_="nbr-request nbr-alone"),
            class_=f"nbr nbr-static {NO_FORMULAS}",
            aria_label=f"{one} and {other} compared",
        )
        html = join([Html(f"<style>{stylesheet()}</style>"), page])
        return {"text/html": str(html), "text/plain": repr(self)}
