"""Two texts where they part: a few lines of each, with what is around them.

Only the first difference matters to who asks, so the lines that both begin and end
with are taken off and the rest is shown against each other: linear, however long the
texts are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from nbrunner.views import words
from nbrunner.views.content import is_text
from nbrunner.views.fields import at, text_at
from nbrunner.views.html import Html, h
from nbrunner.views.images import without_bytes
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

Sign: TypeAlias = Literal["-", "+", " "]

UNSEEN = "They differ only in what is not shown here: secrets, ids, or bytes."

_AROUND = 2
_MOST_LINES = 12
_LONGEST_LINE = 160
_LEAD = 60
_WINDOW = 40_000
_EDGE = 10_000


class Line(NamedTuple):
    """A line of a diff: of the old text, of the new one, or of both."""

    sign: Sign
    text: str


def diff_fragment(before: Any, after: Any) -> Html:
    """Two blocks where they part, as lines with a sign."""
    lines = diff_lines(*shown_texts(before, after))
    if not lines:
        return h("div", UNSEEN, class_="nbr-lab")
    tones = {"-": "nbr-gone", "+": "nbr-come", " ": None}
    return h(
        "pre",
        [
            h("span", f"{line.sign} {line.text}\n", class_=tones[line.sign])
            for line in lines
        ],
        class_="nbr-diff",
        tabindex="0",
    )


def shown_texts(before: Any, after: Any) -> tuple[str, str]:
    """Two blocks as texts that differ where they do, without secrets."""
    texts = _readable(before), _readable(after)
    is_other = None not in (before, after) and at(before, "type") != at(after, "type")
    if is_other or texts[0] == texts[1]:
        texts = _json(before), _json(after)
    start = _shared(*texts)
    old, new = (_near(text, start) for text in texts)
    return old, new


def diff_lines(before: str, after: str) -> list[Line]:
    """The lines in which two texts part; none if they are the same."""
    if before == after:
        return []
    old, new = before.split("\n") if before else [], after.split("\n") if after else []
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    start = _shared(gone[0], come[0]) if gone and come else 0
    return [
        *(Line(" ", _cut(line, 0)) for line in old[max(head - _AROUND, 0) : head]),
        *_side("-", gone, start),
        *_side("+", come, start),
        *(Line(" ", _cut(line, 0)) for line in old[len(old) - tail :][:_AROUND]),
    ]


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines, or characters, both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))


def _side(sign: Sign, lines: Sequence[str], start: int) -> list[Line]:
    shown = [
        Line(sign, _cut(line, 0 if number else start))
        for number, line in enumerate(lines[:_MOST_LINES])
    ]
    left_out = len(lines) - len(shown)
    if left_out:
        shown.append(Line(sign, f"… {words.count(left_out, 'more line')}"))
    return shown


def _cut(line: str, start: int) -> str:
    """A line around the character where it begins to differ."""
    first = max(start - _LEAD, 0) if len(line) > _LONGEST_LINE else 0
    end = first + _LONGEST_LINE
    return f"{'…' if first else ''}{line[first:end]}{'…' if len(line) > end else ''}"


def _readable(value: Any) -> str:
    """A block as a person reads it: its text where it is one, else its JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if at(value, "type") == "text":
        return text_at(value, "text")
    if at(value, "type") == "tool_result" and is_text(at(value, "content")):
        return words.result_text(at(value, "content"))
    return _json(value)


def _json(value: Any) -> str:
    return "" if value is None else words.pretty(without_bytes(value))


def _near(text: str, start: int) -> str:
    """The text, of a very long one what is around a place, without secrets."""
    first, end = max(start - _WINDOW, 0), start + _WINDOW
    if first == 0 and len(text) <= end:
        return printable(text)
    # To redact megabytes takes its time. An edge may go through a key: it is not shown.
    shown = printable(text[first:end])
    return shown[_EDGE if first else 0 : -_EDGE if len(text) > end else None]
