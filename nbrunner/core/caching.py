"""Prompt-cache marks: where they can stand, how many fit, which one gives way.

A mark is a block with `cache_control`. Its place is written as:

* `tools`: the last tool definition;
* `system`: the last block of the system prompt;
* `request`: the top level, where the API marks the last block that it can;
* `results`: the newest tool results, as many as there is room for;
* `messages[2].content[0]`: a block of the conversation, both counted from 0;
* anything else is a `tool_use` id, and means the result of that call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from nbrunner.core.blocks import Value

if TYPE_CHECKING:
    from nbrunner.core.blocks import JSON, Block

Ttl: TypeAlias = Literal["5m", "1h"]
"""How long a prefix stays in the cache after it was last read."""

RULES_BY = "Anthropic's public documentation (prompt caching), 2026-11"
"""Where the rules below are from; they were read there, not measured."""

MAX_MARKS = 4
"""How many marks the API takes in one request, the top-level one counted in."""

UNMARKABLE = ("thinking", "redacted_thinking")
"""The blocks that carry no mark; neither does an empty text."""

LIFETIMES: dict[Ttl, str] = {"5m": "5 minutes", "1h": "1 hour"}
"""Marks that last longer have to come before those that last shorter."""

_NESTED = ("content", "source")
"""Where a block holds other blocks; a tool's input is opaque."""

_BLOCK = re.compile(r"messages\[(\d+)\]\.content\[(\d+)\]", re.ASCII)


class Mark(Value):
    """A cache mark that was asked for.

    Attributes:
        place: Where it stands, as this module's docstring says.
        ttl: How long it lasts.
    """

    place: str
    ttl: Ttl = "5m"

    def __init__(self, place: str, ttl: Ttl = "5m", **fields: Any) -> None:
        super().__init__(**{"place": place, "ttl": ttl, **fields})


class PlacedMark(NamedTuple):
    """A mark as it stands in a request: its path and its lifetime."""

    path: str
    ttl: str


def block_address(place: str) -> tuple[int, int] | None:
    """The message and the block that a place names, if it names one."""
    match = _BLOCK.fullmatch(place)
    return (int(match[1]), int(match[2])) if match else None


def control(ttl: Ttl) -> dict[str, str]:
    """The `cache_control` of that lifetime; five minutes are the API's default."""
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def mark(block: Block, ttl: Ttl = "5m") -> Block:
    """A copy of the block that carries a mark."""
    return {**block, "cache_control": control(ttl)}


def marks_of(head: dict[str, Any]) -> tuple[list[PlacedMark], list[PlacedMark]]:
    """The marks before the messages of a body, and those after them.

    The API reads tools, system, messages; the top-level mark comes last, because
    the server puts it on the last block that it can.
    """
    before = [m for key in ("tools", "system") for m in marks_below(head.get(key), key)]
    top = head.get("cache_control")
    return before, [PlacedMark("cache_control", _ttl(top))] if top else []


def too_late(marks: list[PlacedMark]) -> PlacedMark | None:
    """The first one-hour mark behind a five-minute one, which the API refuses."""
    has_shorter = False
    for placed in marks:
        if has_shorter and placed.ttl == "1h":
            return placed
        has_shorter = has_shorter or placed.ttl != "1h"
    return None


def marks_below(value: JSON, path: str) -> list[PlacedMark]:
    """All marks on and below a value, in the order the API reads."""
    if isinstance(value, list | tuple):
        return [
            placed
            for index, item in enumerate(value)
            for placed in marks_below(item, f"{path}[{index}]")
        ]
    if not isinstance(value, dict):
        return []
    own = value.get("cache_control")
    marks = [PlacedMark(path, _ttl(own))] if own else []
    for key in _NESTED:
        if isinstance(value.get(key), list | dict | tuple):
            marks += marks_below(value[key], f"{path}.{key}")
    return marks


def without_marks(value: JSON, path: str, marks: frozenset[str]) -> JSON:
    """A value without the marks at those paths; what holds none is not copied."""
    if not marks.intersection(placed.path for placed in marks_below(value, path)):
        return value
    if isinstance(value, list | tuple):
        return [
            without_marks(item, f"{path}[{index}]", marks)
            for index, item in enumerate(value)
        ]
    lighter = {
        k: v for k, v in value.items() if k != "cache_control" or path not in marks
    }
    for key in _NESTED:
        if key in value:
            lighter[key] = without_marks(value[key], f"{path}.{key}", marks)
    return lighter


def _ttl(cache_control: JSON) -> str:
    given = cache_control.get("ttl") if isinstance(cache_control, dict) else None
    return str(given or "5m")
