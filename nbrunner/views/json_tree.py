"""JSON for reading: as text while it is small, as a tree that unfolds when it is not.

Each level says how much is in it and shows its first items; the nodes of one tree
are counted, so that a page stays small whatever a tool was given.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbrunner.core.redact import redact_json
from nbrunner.views import words
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.look import Look, Part, block, label_line, show_all
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

SMALL_CHARACTERS = 3_000
"""JSON up to this is read faster as text than by unfolding it."""

_NODES = 250
_ITEMS = 40
_DEEPEST = 24
_LEAF_CHARACTERS = 300
_LONGEST_PARSED = 1_000_000
_SHORTEST_PARSED = 200


def json_fragment(
    value: Any,
    *,
    label: str | None = None,
    look: Look | None = None,
    part: Part | None = None,
) -> Html:
    """A JSON value; the arguments are those of `look.block`."""
    is_whole = look is not None and part is not None and part.key in look.whole
    # Of large JSON only what is shown is made fit to be shown: the rest costs nothing.
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if len(text) <= SMALL_CHARACTERS or is_whole or not _inside(value):
        return block(words.pretty(value), label=label, look=look, part=part)
    tree = _node(words.size(text), value, _NODES, depth=0)
    rest = None
    if look is not None and look.live and part is not None:
        line = h("code", f"{look.name}.{part.line}", class_="nbr-py")
        rest = h("div", spaced(show_all(text, part), line), class_="nbr-rest")
    return h("div", label_line(label), h("div", tree, class_="nbr-tree"), rest)


def parsed_json(text: str) -> Any:
    """The object or array that a text is in JSON; None where it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    if len(text) > _LONGEST_PARSED:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def unfolded(text: str) -> Html | None:
    """A result that is JSON in one long line, to unfold below the text itself."""
    if len(text) < _SHORTEST_PARSED or "\n" in text.strip():
        return None
    value = parsed_json(text)
    if not value:
        return None
    return h(
        "details",
        h("summary", "the same, to unfold"),
        h("div", _node("JSON", value, _NODES, depth=0), class_="nbr-tree"),
        class_="nbr-unfold",
    )


def _node(name: str, value: Any, budget: int, *, depth: int) -> Html:
    """A value with its name; what is in it opens below.

    Args:
        name: Its key or place.
        value: JSON.
        budget: How many nodes it may show, itself left out.
        depth: How deep it lies.
    """
    inside = _inside(value)
    if not inside:
        return h("div", _leaf(name, value))
    count = words.count(len(inside), "key" if isinstance(value, dict) else "item")
    shown = inside[: min(_ITEMS, budget)] if depth < _DEEPEST else []
    each = (budget - len(shown)) // len(shown) if shown else 0
    left_out = len(inside) - len(shown)
    return h(
        "details",
        h("summary", spaced(h("span", printable(name)), h("span", count))),
        [_node(key, item, each, depth=depth + 1) for key, item in shown],
        h("div", f"… {left_out:,} more of {count}") if left_out else None,
        open=depth == 0,
    )


def _inside(value: Any) -> list[tuple[str, Any]]:
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list | tuple):
        pairs = enumerate(value)
    return [(str(key), item) for key, item in pairs]


def _leaf(name: str, value: Any) -> str:
    # Inside JSON a key may follow an escape (`\nAKIA...`) and look like none.
    text = json.dumps(redact_json(value), ensure_ascii=False, default=repr)
    # As one text: that the name is `password` tells what the value is.
    line = printable(f"{name}: {text}")
    left_out = len(line) - _LEAF_CHARACTERS
    return (
        line
        if left_out <= 0
        else f"{line[:_LEAF_CHARACTERS]} … {left_out:,} more characters"
    )
