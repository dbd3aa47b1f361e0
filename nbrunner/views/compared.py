"""A comparison of two branches as `run.diff()` hands it out: it shows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.comparison import Changed, Comparison, compare
from nbrunner.views import words
from nbrunner.views.diff import diff_fragment, diff_lines, shown_texts
from nbrunner.views.html import Html, h, join, spaced
from nbrunner.views.page import NO_FORMULAS, stylesheet
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.transcript import Transcript

_SAME = "Both ask the same, and Claude said the same."


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
        lines = [" → ".join(self.names)]
        for title, changed in self._differences():
            texts = shown_texts(changed.before, changed.after)
            lines += [title]
            lines += [f"  {sign} {text}" for sign, text in diff_lines(*texts)]
        if self.is_same:
            lines.append(_SAME)
        lines += [f"{what}: {said}" for what, said in self._numbers()]
        return printable("\n".join(lines))

    __str__ = __repr__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        one, other = self.names
        title = h("span", f"{one} → {other}", class_="nbr-name")
        told: list[list[Html]] = [
            [
                h("div", heading, class_="nbr-lab"),
                diff_fragment(changed.before, changed.after),
            ]
            for heading, changed in self._differences()
        ]
        if self.is_same:
            told = [[h("div", _SAME, class_="nbr-lab")]]
        numbers = [h("div", f"{w}: {s}", class_="nbr-num") for w, s in self._numbers()]
        page = h(
            "section",
            h("div", spaced(title), class_="nbr-bar"),
            h("div", told, numbers, class_="nbr-request nbr-alone"),
            class_=f"nbr nbr-static {NO_FORMULAS}",
            aria_label=f"{one} and {other} compared",
        )
        html = join([Html(f"<style>{stylesheet()}</style>"), page])
        return {"text/html": str(html), "text/plain": repr(self)}

    def _differences(self) -> Iterator[tuple[str, Changed]]:
        for changed in self.settings:
            yield changed.where, changed
        if self.parts_at is not None:
            same = words.count(self.shared, "message")
            yield f"{self.parts_at.where} (the same before: {same})", self.parts_at
        if self.replies is not None:
            yield "what Claude said last", self.replies

    def _numbers(self) -> Iterator[tuple[str, str]]:
        counts = [words.count(number, "iteration") for number in self.iterations]
        yield "iterations", " → ".join(counts)
        used = [words.usage_words(usage) or "none" for usage in self.usage]
        yield "tokens of its own iterations", " → ".join(used)
