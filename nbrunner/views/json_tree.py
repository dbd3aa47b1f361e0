"""JSON for reading: as text while it is small, as a tree that unfolds when it is not.

Each level says how much is in it and shows its first items; the nodes of one tree
are counted, so that a page stays small whatever a tool was given. In a live panel the
others are fetched when they are opened (`views.json_level`).
"""

from __future__ import annotations

import json
from typing import Any

from nbrunner.views import words
from nbrunner.views.boxes import place_of_refusal
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.json_level import Level, inside, tree_fragment
from nbrunner.views.look import Look, Part, block, label_line, show_all

SMALL_CHARACTERS = 3_000
"""JSON up to this is read faster as text than by unfolding it."""

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
    if len(text) <= SMALL_CHARACTERS or is_whole or not inside(value):
        return block(words.pretty(value), label=label, look=look, part=part)
    tree = tree_fragment(words.size(text), value, Level.root(text, look, part))
    rest = None
    if look is not None and look.live and part is not None:
        line = h("code", f"{look.name}.{part.line}", class_="nbr-py")
        rest = h("div", spaced(show_all(text, part), line), class_="nbr-rest")
    shown = [label_line(label), tree, rest]
    return (
        h("div", shown, place_of_refusal(), class_="nbr-json")
        if rest
        else h("div", shown)
    )


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


def unfolded(text: str, *, look: Look, part: Part) -> Html | None:
    """A result that is JSON in one long line, to unfold below the text itself.

    Args:
        text: The result.
        look: How the run is shown.
        part: Which part of the run the result is.
    """
    if len(text) < _SHORTEST_PARSED or "\n" in text.strip():
        return None
    value = parsed_json(text)
    if not value:
        return None
    root = Level.root(text, look, part)
    return h(
        "details",
        h("summary", "the same, to unfold"),
        tree_fragment("JSON", value, root),
        place_of_refusal() if look.live else None,
        class_="nbr-unfold nbr-json" if look.live else "nbr-unfold",
        data_key=f"{root.key}.tree" if look.live else None,
    )
