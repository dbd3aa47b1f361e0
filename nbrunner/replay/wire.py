"""One reply, two shapes: a whole message, and the events that stream it.

A stored reply has one of the two shapes and serves both kinds of request. The
order and the fields of the events follow the Messages API, so that the SDK cannot
tell a played stream from a live one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_core import from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbrunner.core.blocks import JSON, Block, Message

StreamEvent: TypeAlias = tuple[str, dict[str, Any]]
"""An event of a stream, without its time: its name and its data."""

# Three words or so; a text without spaces comes in pieces all the same.
_WORDS = re.compile(r"(?:\S{1,24}\s*|\s+){1,3}")
_JSON_PIECE = 16

_INPUT_BLOCKS = ("tool_use", "server_tool_use", "mcp_tool_use")

# What is known only when the reply ends, and where message_delta carries it.
_IN_DELTA = ("stop_reason", "stop_sequence", "stop_details", "container")
_BESIDE_DELTA = ("context_management", "input_transformations")
_USAGE_IN_DELTA = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens_details",
    "server_tool_use",
    "iterations",
    "fallback_credit",
)


def events_of(message: Message) -> Iterator[StreamEvent]:
    """The events that stream a message, in the order of the API."""
    yield _event("message_start", message=_opening(message))
    yield _event("ping")
    for index, block in enumerate(message["content"]):
        opened, deltas = _unfold(block)
        yield _event("content_block_start", index=index, content_block=opened)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event("message_delta", **_closing(message))
    yield _event("message_stop")


def message_of(events: Iterable[StreamEvent]) -> Message:
    """The message that the events stream, as far as they go.

    A stream that broke off gives what had come, with `stop_reason` null. Events that
    have no place in a message are passed over: a recording may hold anything.
    """
    message: Message = {}
    blocks: dict[int, Block] = {}
    pieces: dict[int, str] = {}
    for name, data in events:
        index = data.get("index", -1)
        match name, data:
            case "message_start", {"message": dict(opening)}:
                message = dict(opening)
            case "content_block_start", {"content_block": dict(block)}:
                blocks[index] = dict(block)
            case "content_block_delta", {"delta": dict(delta)} if index in blocks:
                _grow(blocks[index], delta)
                pieces[index] = pieces.get(index, "") + delta.get("partial_json", "")
            case "message_delta", {"delta": dict()}:
                _close(message, data)
    for index, text in pieces.items():
        if text:
            blocks[index]["input"] = _input_of(text)
    return _labelled({**message, "content": list(blocks.values())})


def is_whole(events: Iterable[StreamEvent]) -> bool:
    """Whether the events came to the end of their message."""
    return any(name == "message_stop" for name, _ in events)


def _event(name: str, **fields: Any) -> StreamEvent:
    return name, {"type": name, **fields}


def _opening(message: Message) -> Message:
    late = (*_IN_DELTA, *_BESIDE_DELTA)
    opening = {key: value for key, value in message.items() if key not in late}
    usage = dict(message.get("usage") or {})
    if "output_tokens" in usage:
        usage["output_tokens"] = min(1, usage["output_tokens"])
    return {
        **opening,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _closing(message: Message) -> dict[str, Any]:
    usage = message.get("usage") or {}
    return {
        "delta": {key: message[key] for key in _IN_DELTA if key in message},
        "usage": {key: usage[key] for key in _USAGE_IN_DELTA if key in usage},
        **{key: message[key] for key in _BESIDE_DELTA if key in message},
    }


def _close(message: Message, data: dict[str, Any]) -> None:
    late = {**data["delta"], **{k: data[k] for k in _BESIDE_DELTA if k in data}}
    for key, value in late.items():
        # Null means "no news" here: a value of message_start must survive it.
        if value is not None or key not in message:
            message[key] = value
    news = {key: n for key, n in data.get("usage", {}).items() if n is not None}
    message["usage"] = {**message.get("usage", {}), **news}


def _unfold(block: Block) -> tuple[Block, Iterator[Block]]:
    """A block as it opens, and the deltas that fill it."""
    kind = block["type"]
    if kind == "text":
        opened = {**block, "text": ""}
        if block.get("citations"):
            opened["citations"] = []
        return opened, _text_deltas(block)
    if kind == "thinking":
        opened = {**block, "thinking": ""}
        if "signature" in block:
            opened["signature"] = ""
        return opened, _thinking_deltas(block)
    if kind in _INPUT_BLOCKS:
        return {**block, "input": {}}, _input_deltas(block)
    # Results of server tools, redacted thinking, and kinds that this version does
    # not know come whole.
    return block, iter(())


def _text_deltas(block: Block) -> Iterator[Block]:
    for citation in block.get("citations") or []:
        yield {"type": "citations_delta", "citation": citation}
    for words in _WORDS.findall(block["text"]):
        yield {"type": "text_delta", "text": words}


def _thinking_deltas(block: Block) -> Iterator[Block]:
    for words in _WORDS.findall(block["thinking"]):
        yield {"type": "thinking_delta", "thinking": words}
    if block.get("signature"):
        yield {"type": "signature_delta", "signature": block["signature"]}


def _input_deltas(block: Block) -> Iterator[Block]:
    text = json.dumps(block["input"], ensure_ascii=False)
    for start in range(0, len(text), _JSON_PIECE):
        piece = text[start : start + _JSON_PIECE]
        yield {"type": "input_json_delta", "partial_json": piece}


def _grow(block: Block, delta: Block) -> None:
    match delta:
        case {"type": "text_delta", "text": text}:
            block["text"] = block.get("text", "") + text
        case {"type": "thinking_delta", "thinking": text}:
            block["thinking"] = block.get("thinking", "") + text
        case {"type": "signature_delta", "signature": signature}:
            block["signature"] = signature
        case {"type": "citations_delta", "citation": citation}:
            block["citations"] = [*(block.get("citations") or []), citation]
        case {"type": "compaction_delta", **fields}:
            block.update({**fields, "type": block.get("type")})


def _input_of(text: str) -> JSON:
    try:
        # As the SDK does: a call cut off by max_tokens keeps what can be read.
        return from_json(text, allow_partial=True)
    except ValueError:
        return text


def _labelled(message: Message) -> Message:
    """The message under the name of the model that ended it, as the API labels it."""
    for block in message["content"]:
        match block:
            case {"type": "fallback", "to": {"model": model}}:
                message["model"] = model
    return message
