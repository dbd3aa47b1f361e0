"""Messages and content blocks as they stand on the wire: plain JSON.

Blocks stay dicts on purpose: a reply is kept byte for byte, fields that this
version does not know included, and a long history of dicts is several times
cheaper than one of models. They are shared between values, so nothing here, and
nobody who gets one, changes a dict in place.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias, overload

from pydantic import BaseModel, ConfigDict

JSON: TypeAlias = Any
Block: TypeAlias = dict[str, Any]
Message: TypeAlias = dict[str, Any]


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Value(BaseModel):
    """Base of the immutable values: frozen, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def json_copy(value: JSON) -> JSON:
    """A copy of a JSON value that is its reader's to change."""
    return json.loads(json.dumps(value))


def content_of(message: Message) -> list[Block]:
    """The blocks of a message; a bare string is one text block."""
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content)


def tool_uses(blocks: list[Block] | tuple[Block, ...]) -> list[Block]:
    """The blocks that ask for a client tool, in the model's order."""
    return [block for block in blocks if block.get("type") == "tool_use"]


def tool_results(message: Message) -> list[Block]:
    """The blocks of a message that answer a client tool call."""
    return [b for b in content_of(message) if b.get("type") == "tool_result"]


@overload
def well_formed(value: str) -> str: ...
@overload
def well_formed(value: JSON) -> JSON: ...
def well_formed(value: JSON) -> JSON:
    """A JSON value with each lone surrogate as U+FFFD, as the SDK's runner sends it.

    Text with a lone surrogate is not UTF-8: it can neither be sent nor be stored.
    """
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {well_formed(key): well_formed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [well_formed(item) for item in value]
    return value


def is_empty_text(block: Block) -> bool:
    """Whether a block is text without text, which the API refuses in a history."""
    return block.get("type") == "text" and not block.get("text")


def text_of(blocks: list[Block] | tuple[Block, ...]) -> str:
    """What the text blocks say, joined as one text.

    The API cuts a text where its citations change, inside a sentence too: such
    pieces are joined as they are.
    """
    said = ""
    before: Block = {}
    for block in blocks:
        text = block.get("text") if block.get("type") == "text" else None
        if text and isinstance(text, str):
            side_by_side = before.get("type") == "text"
            cites = block.get("citations") or before.get("citations")
            is_cut = not said or (side_by_side and cites)
            said += text if is_cut else f"\n\n{text}"
        before = block
    return said
