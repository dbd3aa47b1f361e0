"""A run and what was forked from it, as a small tree that shows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.blocks import Value
from nbrunner.views import words
from nbrunner.views.html import Html, h, join, spaced
from nbrunner.views.page import NO_FORMULAS, stylesheet
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator


class Tree(Value):
    """A run, where it was forked off, and the runs that were forked from it.

    Attributes:
        name: What the run is called.
        line: How Python reaches it.
        state: Where it stands, in words.
        at: The index of the first iteration that is its own; None at the root.
        count: How many iterations it has.
        branches: Those that were forked from it, oldest first.
    """

    name: str
    line: str
    state: str
    at: int | None = None
    count: int = 0
    branches: tuple[Tree, ...] = ()

    def __repr__(self) -> str:
        return printable("\n".join(self._lines()))

    __str__ = __repr__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        page = h(
            "section",
            h("ul", self._item(), class_="nbr-tree"),
            class_=f"nbr nbr-static {NO_FORMULAS}",
            aria_label=f"branches of {self.name}",
        )
        html = join([Html(f"<style>{stylesheet()}</style>"), page])
        return {"text/html": str(html), "text/plain": repr(self)}

    def _said(self) -> str:
        facts = [
            None if self.at is None else f"from iteration {self.at + 1} on",
            words.count(self.count, "iteration"),
            self.state,
        ]
        return " · ".join(fact for fact in facts if fact)

    def _lines(self) -> Iterator[str]:
        yield f"{self.name} · {self._said()}"
        for branch in self.branches:
            is_last = branch is self.branches[-1]
            first, *rest = branch._lines()  # noqa: SLF001 - its own class
            yield f"{'└─' if is_last else '├─'} {first}"
            yield from (f"{'  ' if is_last else '│ '} {line}" for line in rest)

    def _item(self) -> Html:
        branches = [b._item() for b in self.branches]  # noqa: SLF001 - its own class
        return h(
            "li",
            spaced(
                h("span", self.name, class_="nbr-name"),
                h("span", self._said(), class_="nbr-num"),
                h("code", self.line, class_="nbr-py") if self.at is not None else None,
            ),
            h("ul", branches) if branches else None,
        )
