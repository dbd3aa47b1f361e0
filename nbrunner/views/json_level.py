"""The levels of a JSON tree: what is in each, a page at a time.

A page of a run shows the first of them, as far as a number of nodes goes. A live panel
fetches the others one by one as they are opened: each has a key, which says where in
which value it lies and which the panel sends back.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nbrunner.core.redact import redact_item
from nbrunner.views import words
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.look import WHOLE_CHARACTERS, Look, Part
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

LEVEL_KEY = r"#[0-9a-f]{12}(?:\.\d{1,7})*"
"""What the key of a level is, behind that of its part."""

NEXT_PAGE = r"\+\d{1,6}"
"""What stands behind it where another page of the level is asked for."""

_NODES = 250
_ITEMS = 40
_NEXT_ITEMS = 200
_DEEPEST = 24
_LEAF_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A place in a tree.

    Attributes:
        key: How the panel asks for it; None where nobody can.
        asked: What a person asked for, by its key.
        depth: How deep it lies.
    """

    key: str | None = None
    asked: frozenset[str] = frozenset()
    depth: int = 0

    @classmethod
    def root(cls, text: str, look: Look | None, part: Part | None) -> Level:
        """The root of the tree of a value.

        Args:
            text: The value as text. Its digest is in all keys of the tree, so that
                one of another value, or of this one before an edit, leads nowhere.
            look: How the run is shown.
            part: Which part of the run the value is in.
        """
        if look is None or part is None or not look.live:
            return cls()
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
        return cls(key=f"{part.key}#{digest}", asked=look.whole)

    def below(self, number: int) -> Level:
        """The place of one thing in it."""
        key = None if self.key is None else f"{self.key}.{number}"
        return replace(self, key=key, depth=self.depth + 1)

    @property
    def can_be_asked(self) -> bool:
        """Whether more of it can be fetched."""
        return self.key is not None and self.depth < _DEEPEST

    @property
    def is_asked(self) -> bool:
        """Whether a person opened it."""
        return self.key in self.asked

    @property
    def next_pages(self) -> int:
        """How many pages behind the first were asked for."""
        number = 0
        while f"{self.key}+{number + 1}" in self.asked:
            number += 1
        return number


def tree_fragment(name: str, value: Any, root: Level) -> Html:
    """A value that unfolds level by level."""
    return h("div", _node(name, value, _NODES, root), class_="nbr-tree")


def inside(value: Any) -> list[tuple[str, Any]]:
    """The things in a value, each with its key or its place."""
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list | tuple):
        pairs = enumerate(value)
    return [(str(key), item) for key, item in pairs]


def _node(name: str, value: Any, budget: int, level: Level) -> Html:
    """A value with its name; what is in it opens below.

    Args:
        name: Its key or place.
        value: JSON.
        budget: How many nodes it may show, itself left out.
        level: Where it lies.
    """
    things = inside(value)
    if not things:
        return _leaf(name, value, level)
    count = words.count(len(things), "key" if isinstance(value, dict) else "item")
    summary = h("summary", spaced(h("span", name), h("span", count)))
    budget = _NODES if level.is_asked else budget
    first = min(len(things), _ITEMS) if level.depth < _DEEPEST else 0
    if first > budget and level.can_be_asked:
        return _unfetched(summary, level)
    first = min(first, budget)
    shown = things[: first + level.next_pages * _NEXT_ITEMS]
    # By the first page alone, so that what is once shown of a level stays.
    each = (budget - first) // first if first else 0
    return h(
        "details",
        summary,
        [
            _node(key, item, each, level.below(number))
            for number, (key, item) in enumerate(shown)
        ],
        _rest(name, count, len(things) - len(shown), level),
        open=level.depth == 0,
        data_key=level.key,
    )


def _unfetched(summary: Html, level: Level) -> Html:
    """A level of which only the size is here; to open it asks for it."""
    return h(
        "details",
        summary,
        h("div", "fetching …"),
        data_key=level.key,
        data_intent="more",
        data_part=level.key,
    )


def _rest(name: str, count: str, left_out: int, level: Level) -> Html | None:
    """How much of a level is not here, and the button that asks for the next of it."""
    if not left_out:
        return None
    said = f"… {left_out:,} more of {count}"
    if not level.can_be_asked:
        return h("div", said)
    label = f"Show the next {min(left_out, _NEXT_ITEMS)}"
    button = h(
        "button",
        label,
        type="button",
        class_="nbr-button",
        data_intent="more",
        data_part=f"{level.key}+{level.next_pages + 1}",
        aria_label=f"{label} of {words.ellipsis(name, _LEAF_CHARACTERS)}",
    )
    return h("div", spaced(h("span", said), button), class_="nbr-rest")


def _leaf(name: str, value: Any, level: Level) -> Html:
    # Inside JSON a key may follow an escape (`\nAKIA...`) and look like none.
    text = json.dumps(redact_item(name, value), ensure_ascii=False, default=repr)
    # As one text: that the name is `password` tells what the value is.
    line = printable(f"{name}: {text}")
    left_out = len(line) - _LEAF_CHARACTERS
    if left_out <= 0:
        return h("div", line)
    begun = line[:_LEAF_CHARACTERS]
    if level.key is None or not isinstance(value, str):
        return h("div", f"{begun} … {left_out:,} more characters")
    begun = h("span", begun, class_="nbr-begun")
    summary = h("summary", spaced(begun, h("span", words.size(value))))
    if not level.is_asked:
        return _unfetched(summary, level)
    return h("details", summary, _whole_text(name, value), data_key=level.key)


def _whole_text(name: str, value: str) -> list[Html | None]:
    said, left_out = words.cut(f"{name}: {redact_item(name, value)}", WHOLE_CHARACTERS)
    said = said.removeprefix(printable(f"{name}: "))
    rest = h("div", left_out) if left_out else None
    return [h("pre", said, tabindex="0"), rest]
