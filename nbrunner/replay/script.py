"""Replies written by hand, for lessons without a key and for tests.

    script([say("Let me look."), use("get_weather", location="Paris")],
           say("It is 20 degrees."))

Each argument is one reply. A cassette made this way is played, saved and loaded
like a recorded one, and fits any request.
"""

from __future__ import annotations

import json
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from nbrunner.core.blocks import JSON, Block
from nbrunner.errors import NotAReply
from nbrunner.replay import wire
from nbrunner.replay.scripted import (
    Cut,
    Failure,
    Reply,
    Scripted,
    cassette_of,
    message_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbrunner.replay.cassette import Cassette

Spoken: TypeAlias = str | Block | list[str | Block] | tuple[str | Block, ...] | Reply
"""What can be given as one reply; a text is a `say` block."""

_ERRORS = {
    400: ("invalid_request_error", "Invalid request"),
    401: ("authentication_error", "Invalid key"),
    403: ("permission_error", "Not permitted"),
    404: ("not_found_error", "Not found"),
    413: ("request_too_large", "Request too large"),
    429: ("rate_limit_error", "Rate limited"),
    529: ("overloaded_error", "Overloaded"),
}
_OTHER_ERROR = ("api_error", "Internal server error")
_STATUSES = range(400, 600)

_FIELDS: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "thinking": {"thinking": str},
    "tool_use": {"name": str, "input": dict},
    "server_tool_use": {"id": str, "name": str, "input": dict},
    "mcp_tool_use": {"id": str, "name": str, "input": dict},
}


def say(text: str) -> Block:
    """A text block."""
    return {"type": "text", "text": text}


def think(text: str, signature: str = "scripted") -> Block:
    """A thinking block."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def use(
    name: str,
    tool_input: Mapping[str, Any] | None = None,
    /,
    **more: Any,
) -> Block:
    """A call of a client tool; `script()` gives it its id.

    Args:
        name: The name of the tool.
        tool_input: The input, where its names cannot be keywords.
        **more: The input, or more of it: `use("get_weather", location="Paris")`.
    """
    return {"type": "tool_use", "name": name, "input": {**(tool_input or {}), **more}}


def reply(
    *blocks: str | Block,
    stop_reason: str | None = None,
    usage: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Reply:
    """A reply with more said about it than its blocks.

    Args:
        *blocks: Its content; a text is a `say` block.
        stop_reason: By default `tool_use` if a tool is used, else `end_turn`.
        usage: Token counts; those left out are 0.
        **fields: Any other field of the message, such as `container`.

    Raises:
        NotAReply: A block is not one.
    """
    content = tuple(
        _block(block, f"argument {number} of reply()")
        for number, block in enumerate(blocks, start=1)
    )
    uses_tool = any(block["type"] == "tool_use" for block in content)
    return Reply(
        content=content,
        stop_reason=stop_reason or ("tool_use" if uses_tool else "end_turn"),
        usage=_plain(usage or {}, "the usage of reply()"),
        fields=_plain(fields, "the fields of reply()"),
    )


def fail(
    status: int,
    type: str | None = None,  # noqa: A002 - the API's word
    message: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Failure:
    """An API error instead of a reply.

    Args:
        status: The HTTP status, such as 529.
        type: The error's type; by default the one that belongs to the status.
        message: The error's text; by default one that belongs to the status.
        headers: Response headers, such as `retry-after`.

    Raises:
        NotAReply: The status is not one of an error.
    """
    if status not in _STATUSES:
        raise NotAReply.no_error_status(status)
    usual_type, usual_message = _ERRORS.get(status, _OTHER_ERROR)
    return Failure(
        status=status,
        type=type or usual_type,
        message=message or usual_message,
        headers=headers or {},
    )


def cut(whole: Spoken, after: int, error: str | None = None) -> Cut:
    """A reply whose stream breaks off.

    Asked for without `stream`, it is a connection that breaks.

    Args:
        whole: What would have been the reply.
        after: How many stream events still come.
        error: None ends the stream without a word, `"drop"` breaks the connection,
            and an error type such as `"overloaded_error"` is sent as an event.

    Raises:
        NotAReply: `whole` is no reply, or it has no more events than `after`.
    """
    cut_short = _scripted(whole, "the reply of cut()")
    if not isinstance(cut_short, Reply):
        raise NotAReply.of_type("the reply of cut()", whole)
    message = message_of(cut_short, 1, repeat("toolu"))
    events = sum(1 for _ in wire.events_of(message))
    if after not in range(events):
        raise NotAReply.cut_outside(after, events)
    return Cut(reply=cut_short, after=after, error=error)


def script(*replies: Spoken | Scripted) -> Cassette:
    """A cassette of replies written by hand.

    Args:
        *replies: One reply each: a text, a block, a list of blocks, or what
            `reply()`, `fail()` or `cut()` return.

    Raises:
        NotAReply: An argument is none of these; it is named.
    """
    return cassette_of(
        [
            _scripted(item, f"argument {number} of script()")
            for number, item in enumerate(replies, start=1)
        ]
    )


def _scripted(item: object, place: str) -> Scripted:
    match item:
        case Reply() | Failure() | Cut():
            return item
        case str() | dict():
            return reply(_block(item, place))
        case list() | tuple():
            return reply(*(_block(block, place) for block in item))
        case _:
            raise NotAReply.of_type(place, item)


def _block(item: object, place: str) -> Block:
    """A copy of a block, such as JSON keeps it."""
    if isinstance(item, str):
        return say(item)
    if not isinstance(item, dict) or not isinstance(item.get("type"), str):
        raise NotAReply.of_type(place, item)
    for key, kind in _FIELDS.get(item["type"], {}).items():
        if not isinstance(item.get(key), kind):
            raise NotAReply.bad_field(place, item["type"], key, item.get(key))
    block: Block = _plain(item, place)
    return block


def _plain(value: JSON, place: str) -> JSON:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise NotAReply.not_json(place, error) from error
