"""What a tool returned, as the content of a `tool_result` block.

The SDK takes a str or an iterable of content blocks, and iterates whatever else it
gets: a dict is sent as the list of its keys, bytes as a list of numbers, an int
becomes a TypeError (tests/loop/test_sdk_contract.py pins these). Here such a value
becomes JSON, or a sentence that says what came back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pydantic
from pydantic_core import PydanticSerializationError, to_json

from nbrunner.core.blocks import well_formed
from nbrunner.loop._sdk import plain

_BLOCK_TYPES = frozenset(
    {"text", "image", "document", "search_result", "tool_reference", "browser_state"}
)
_SHOWN_CHARACTERS = 2_000


def content_of_return(value: Any, tool: str) -> tuple[Any, str | None]:
    """The `content` to send for a return value, and what was changed, if anything.

    Args:
        value: What the tool returned; an iterator is read to its end, and raises
            here what it raises.
        tool: The tool's name, for the sentence.

    Returns:
        The content, which is JSON, and a remark for the person, or None where the SDK
        would have sent the same.
    """
    if isinstance(value, str):
        return well_formed(value), None
    if _is_block(value):
        return _blocks([value], tool, f"returned one {_kind(value)}; sent as a list")
    if value is None:
        return f"{tool} returned None: it gave no result.", "returned None"
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes_sentence(bytes(value), tool), f"returned {_kind(value)}"
    if _is_frame(value):
        return well_formed(_csv(value)), f"returned a {_kind(value)}; sent as CSV"
    if isinstance(value, Iterable) and not isinstance(
        value, dict | set | frozenset | pydantic.BaseModel
    ):
        items = list(value)
        if all(_is_block(item) for item in items):
            return _blocks(items, tool, None)
        return _as_json(items, tool, _kind(value))
    return _as_json(value, tool, _kind(value))


def content_of_error(content: Any, tool: str) -> tuple[Any, str | None]:
    """The `content` to send for that of a `ToolError`, and what was changed.

    The API takes text only in the result of a failed call, and some of it; the SDK
    sends a tool's own error as it is.
    """
    sent, remark = content_of_return(content, tool)
    if isinstance(sent, list):
        texts = [b for b in sent if b["type"] == "text" and b.get("text")]
        if len(texts) < len(sent):
            remark = "an error takes text only; the other blocks were left out"
        sent = texts
    if not sent:
        return f"{tool} failed and gave no reason.", remark or "failed without a word"
    return sent, remark


def sdk_content_of_return(value: Any, tool: str) -> tuple[Any, str | None]:
    """The `content` that the SDK itself makes of a return value.

    Args:
        value: What the tool returned.
        tool: The tool's name, for the sentence.

    Raises:
        TypeError: It is not iterable; the SDK answers with this very error.
    """
    content = plain(value if value is None or isinstance(value, str) else list(value))
    # What is not JSON the SDK cannot send at all.
    return (
        (well_formed(content), None)
        if _is_json(content)
        else content_of_return(value, tool)
    )


def shown(value: object) -> str:
    """The repr of a value, or what is to be said of one that has none."""
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - other people's code, told in the text
        return f"<{_kind(value)}, whose repr raised {_kind(error)}>"


def _blocks(items: list[Any], tool: str, remark: str | None) -> tuple[Any, str | None]:
    blocks = well_formed(plain(items))
    if _is_json(blocks):
        return blocks, remark
    return (
        f"{tool} returned content blocks that are not JSON: {_excerpt(blocks)}",
        "returned blocks that are not JSON; their repr was sent",
    )


def _as_json(value: Any, tool: str, kind: str) -> tuple[str, str]:
    if isinstance(value, set | frozenset):
        # A set has no order, and two runs must send the same text.
        value = sorted(value, key=shown)
    try:
        text = to_json(well_formed(value), inf_nan_mode="constants").decode()
    except (PydanticSerializationError, ValueError, RecursionError):
        return (
            f"{tool} returned a {kind}, which is not text: {_excerpt(value)}",
            f"returned a {kind}; its repr was sent",
        )
    return text, f"returned a {kind}; sent as JSON"


def _is_json(value: Any) -> bool:
    """Whether a value can go out: the SDK encodes requests by `json`, strictly."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _excerpt(value: object) -> str:
    text = well_formed(shown(value))
    left_out = len(text) - _SHOWN_CHARACTERS
    return text if left_out <= 0 else f"{text[:_SHOWN_CHARACTERS]} … {left_out} more"


def _bytes_sentence(value: bytes, tool: str) -> str:
    return (
        f"{tool} returned {len(value)} bytes of binary data, which cannot be shown as "
        "text. It has to return text, or an image or document block."
    )


def _is_block(item: Any) -> bool:
    """Whether the API would take a value as a content block of a result."""
    kind = item.get("type") if isinstance(item, dict) else getattr(item, "type", None)
    return isinstance(kind, str) and kind in _BLOCK_TYPES


def _is_frame(value: Any) -> bool:
    """Whether a value is a table by its looks: pandas, polars and their kin."""
    return hasattr(value, "columns") and (
        hasattr(value, "to_csv") or hasattr(value, "write_csv")
    )


def _csv(frame: Any) -> str:
    return str(frame.to_csv() if hasattr(frame, "to_csv") else frame.write_csv())


def _kind(value: object) -> str:
    return type(value).__name__
