"""Prompt-cache breakpoints: where they are, how many fit, which one gives way.

Rules by Anthropic's public documentation (prompt caching, 2026-11): at most four
`cache_control` marks a request, the top-level automatic one counted in; never on
thinking blocks and never on empty text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbrunner.core.blocks import JSON, Block, Message

MAX_MARKS = 4
"""How many `cache_control` marks the API takes in one request."""

_NESTED = ("content", "source")
"""Where a block holds other blocks; a tool's input is opaque."""


def mark(block: Block) -> Block:
    """A copy of the block that carries a five-minute breakpoint."""
    return {**block, "cache_control": {"type": "ephemeral"}}


def marked_places(body: dict[str, Any]) -> list[str]:
    """Every breakpoint of a request body as a path, in the order the API reads.

    The order is tools, system, messages; the top-level mark comes last, because
    the server puts it on the last block that it can.
    """
    places: list[str] = []
    for key in ("tools", "system", "messages"):
        places.extend(_marks_below(body.get(key), key))
    if body.get("cache_control"):
        places.append("cache_control")
    return places


def within_budget(
    messages: list[Message], free: int
) -> tuple[list[Message], list[str]]:
    """The messages with at most `free` marks, and the paths of those taken off.

    The oldest mark gives way: a later breakpoint covers all that it covered.
    """
    surplus = len(_marks_below(messages, "messages")) - max(free, 0)
    if surplus <= 0:
        return messages, []
    dropped = _marks_below(messages, "messages")[:surplus]
    kept: list[Message] = _without_marks(messages, "messages", frozenset(dropped))
    return kept, dropped


def _without_marks(value: JSON, path: str, marks: frozenset[str]) -> JSON:
    """A value without the marks at those paths; what holds none is not copied."""
    if not marks.intersection(_marks_below(value, path)):
        return value
    if isinstance(value, list | tuple):
        return [
            _without_marks(item, f"{path}[{index}]", marks)
            for index, item in enumerate(value)
        ]
    lighter = {
        k: v for k, v in value.items() if k != "cache_control" or path not in marks
    }
    for key in _NESTED:
        if key in value:
            lighter[key] = _without_marks(value[key], f"{path}.{key}", marks)
    return lighter


def _marks_below(value: JSON, path: str) -> list[str]:
    """The paths of all marked blocks below a value, in the order the API reads."""
    if isinstance(value, list | tuple):
        return [
            place
            for index, item in enumerate(value)
            for place in _marks_below(item, f"{path}[{index}]")
        ]
    if not isinstance(value, dict):
        return []
    nested = [
        place
        for key in _NESTED
        for place in _marks_below(value.get(key), f"{path}.{key}")
    ]
    return [*([path] if value.get("cache_control") else []), *nested]
