"""What a tool returned, as the content of a `tool_result` block.

The SDK takes a str or an iterable of content blocks, and iterates whatever else it
gets: a dict is sent as the list of its keys, bytes as a list of numbers, an int
becomes a TypeError (tests/loop/test_sdk_contract.py pins these). Here such a value
becomes JSON, or a sentence that says what came back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pydantic
from pydantic_core import PydanticSerializationError, to_json

_BLOCK_TYPES = frozenset(
    {"text", "image", "document", "search_result", "tool_reference"}
)


def content_of_return(value: Any, tool: str) -> tuple[Any, str | None]:
    """The `content` to send for a return value, and what was changed, if anything.

    Args:
        value: What the tool returned.
        tool: The tool's name, for the sentence.

    Returns:
        The content, and a remark for the person, or None where the SDK would have
        sent the same.
    """
    if isinstance(value, str):
        return value, None
    if isinstance(value, Iterable) and not isinstance(
        value, bytes | bytearray | dict | set | frozenset | pydantic.BaseModel
    ):
        if _is_frame(value):
            return _frame_text(value), f"returned a {_kind(value)}; sent as CSV"
        value = list(value)
        if all(_is_block(item) for item in value):
            return value, None
    if value is None:
        return f"{tool} returned None: it gave no result.", "returned None"
    if isinstance(value, bytes | bytearray):
        return _bytes_sentence(value, tool), f"returned {_kind(value)}"
    return _as_json(value, tool)


def _as_json(value: Any, tool: str) -> tuple[str, str]:
    if isinstance(value, set | frozenset):
        # A set has no order, and two runs must send the same text.
        value = sorted(value, key=repr)
    try:
        text = to_json(value, inf_nan_mode="constants").decode()
    except (PydanticSerializationError, ValueError):
        return (
            f"{tool} returned a {_kind(value)}, which is not text: {value!r:.2000}",
            f"returned a {_kind(value)}; its repr was sent",
        )
    return text, f"returned a {_kind(value)}; sent as JSON"


def _bytes_sentence(value: bytes | bytearray, tool: str) -> str:
    return (
        f"{tool} returned {len(value)} bytes of binary data, which cannot be shown as "
        "text. It has to return text, or an image or document block."
    )


def _is_block(item: Any) -> bool:
    """Whether the SDK would send an item of a list as a content block."""
    kind = item.get("type") if isinstance(item, dict) else getattr(item, "type", None)
    return kind in _BLOCK_TYPES


def _is_frame(value: Any) -> bool:
    """Whether a value is a table by its looks: pandas, polars and their kin."""
    return hasattr(value, "columns") and (
        hasattr(value, "to_csv") or hasattr(value, "write_csv")
    )


def _frame_text(frame: Any) -> str:
    return str(frame.to_csv() if hasattr(frame, "to_csv") else frame.write_csv())


def _kind(value: Any) -> str:
    return type(value).__name__
