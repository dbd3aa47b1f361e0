"""Where two request bodies first differ, in words a person can look up."""

from __future__ import annotations

import json
from itertools import takewhile, zip_longest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.blocks import JSON

_SHOWN = 60
_CONTEXT = 15

_ABSENT = object()


class Difference(NamedTuple):
    """One place, like `messages[2].content[0].content`, and what both sides have."""

    path: str
    recorded: str
    asked: str


def first_difference(recorded: JSON, asked: JSON, path: str = "") -> Difference:
    """The first place where two JSON values, which are not equal, differ."""
    for step, old, new in _members(recorded, asked):
        if old != new:
            return first_difference(old, new, path + step)
    return Difference(path.removeprefix("."), *_shown(recorded, asked))


def excerpt(text: str, start: int = 0) -> str:
    """A text cut to what fits into a sentence."""
    end = start + _SHOWN
    return f"{'…' * (start > 0)}{text[start:end]}{'…' * (len(text) > end)}"


def _members(recorded: JSON, asked: JSON) -> Iterator[tuple[str, JSON, JSON]]:
    match recorded, asked:
        case dict(), dict():
            for key in {**recorded, **asked}:
                yield f".{key}", recorded.get(key, _ABSENT), asked.get(key, _ABSENT)
        case list(), list():
            pairs = zip_longest(recorded, asked, fillvalue=_ABSENT)
            for index, (old, new) in enumerate(pairs):
                yield f"[{index}]", old, new


def _shown(recorded: JSON, asked: JSON) -> tuple[str, str]:
    """Both values as text; where they are long, from shortly before they part."""
    texts = _text(recorded), _text(asked)
    parting = sum(1 for _ in takewhile(_are_same, zip(*texts, strict=False)))
    start = max(0, parting - _CONTEXT) if max(map(len, texts)) > _SHOWN else 0
    return excerpt(texts[0], start), excerpt(texts[1], start)


def _are_same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _text(value: JSON) -> str:
    return "nothing" if value is _ABSENT else json.dumps(value, ensure_ascii=False)
