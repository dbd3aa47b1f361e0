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
    surplus = len(list(_marks_below(messages, "messages"))) - free
    if surplus <= 0:
        return messages, []
    dropped: list[str] = []
    kept: list[Message] = []
    for index, message in enumerate(messages):
        lighter, paths = _without_marks(
            message, f"messages[{index}]", surplus - len(dropped)
        )
        dropped.extend(paths)
        kept.append(lighter)
    return kept, dropped


def _without_marks(
    message: Message, path: str, at_most: int
) -> tuple[Message, list[str]]:
    """The message with its first marks taken off, `at_most` of them."""
    if at_most <= 0 or isinstance(message["content"], str):
        return message, []
    dropped: list[str] = []
    blocks: list[Block] = []
    for index, block in enumerate(message["content"]):
        if len(dropped) < at_most and block.get("cache_control"):
            dropped.append(f"{path}.content[{index}]")
            blocks.append({k: v for k, v in block.items() if k != "cache_control"})
        else:
            blocks.append(block)
    return ({**message, "content": blocks} if dropped else message), dropped


def _marks_below(value: JSON, path: str) -> list[str]:
    """The paths of all marked blocks below a value; a tool's input is opaque."""
    if isinstance(value, list | tuple):
        return [
            place
            for index, item in enumerate(value)
            for place in _marks_below(item, f"{path}[{index}]")
        ]
    if not isinstance(value, dict):
        return []
    own = [path] if value.get("cache_control") else []
    nested = value.get("content")
    return own + _marks_below(nested, f"{path}.content") if nested else own
