"""Messages and content blocks as they stand on the wire: plain JSON.

Blocks stay dicts on purpose: a reply is kept byte for byte, fields that this
version does not know included, and a long history of dicts is several times
cheaper than one of models. They are shared between values, so nothing here, and
nobody who gets one, changes a dict in place.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

JSON: TypeAlias = Any
Block: TypeAlias = dict[str, Any]
Message: TypeAlias = dict[str, Any]


class Value(BaseModel):
    """Base of the immutable values: frozen, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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


def is_empty_text(block: Block) -> bool:
    """Whether a block is text without text, which the API refuses in a history."""
    return block.get("type") == "text" and not block.get("text")


def text_of(blocks: list[Block] | tuple[Block, ...]) -> str:
    """What the text blocks say, joined as one text."""
    texts = [block.get("text", "") for block in blocks if block.get("type") == "text"]
    return "\n\n".join(text for text in texts if text)
