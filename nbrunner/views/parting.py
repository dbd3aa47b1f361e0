"""Where two branches part and what came of each, as HTML and as lines of text.

`run.diff()` shows it by itself, the panel and the pages beside a branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.views import words
from nbrunner.views.diff import diff_fragment, diff_lines, shown_texts
from nbrunner.views.html import Html, h

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.comparison import Changed, Comparison

_SAME = "Both ask the same, and Claude said the same."


def parting_fragment(found: Comparison) -> list[Html]:
    """What differs, each with its diff, and the numbers of both."""
    told: list[Html] = []
    for heading, changed in _differences(found):
        told += [
            h("div", heading, class_="nbr-lab"),
            diff_fragment(changed.before, changed.after),
        ]
    if found.is_same:
        told = [h("div", _SAME, class_="nbr-lab")]
    numbers = [
        h("div", f"{what}: {said}", class_="nbr-num") for what, said in _numbers(found)
    ]
    return [*told, *numbers]


def parting_lines(found: Comparison) -> list[str]:
    """The same as lines of text."""
    lines = []
    for title, changed in _differences(found):
        texts = shown_texts(changed.before, changed.after)
        lines += [title]
        lines += [f"  {sign} {text}" for sign, text in diff_lines(*texts)]
    if found.is_same:
        lines.append(_SAME)
    return lines + [f"{what}: {said}" for what, said in _numbers(found)]


def _differences(found: Comparison) -> Iterator[tuple[str, Changed]]:
    for changed in found.settings:
        yield changed.where, changed
    if (parts := found.parts_at) is not None:
        same = words.count(found.shared, "message")
        blocks = {s: words.without_ids(getattr(parts, s)) for s in ("before", "after")}
        yield (
            f"{parts.where} (the same before: {same})",
            parts.model_copy(update=blocks),
        )
    if found.replies is not None:
        yield "what Claude said last", found.replies


def _numbers(found: Comparison) -> Iterator[tuple[str, str]]:
    counts = [words.count(number, "iteration") for number in found.iterations]
    yield "iterations", " → ".join(counts)
    used = [words.usage_words(usage) or "none" for usage in found.usage]
    yield "tokens of its own iterations", " → ".join(used)
