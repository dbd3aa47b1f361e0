"""Scripted replies as values, and the stored responses that they become.

What the API would fill in (ids, stop reasons, usage) is filled in the same way
every time, so that the outputs of a notebook stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from nbrunner.replay import wire
from nbrunner.replay.cassette import Cassette
from nbrunner.replay.episode import Episode, StoredResponse, timed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbrunner.core.blocks import Block, Message

_NO_USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A message, without what only its place in a script can tell."""

    content: tuple[Block, ...]
    stop_reason: str
    usage: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An API error instead of a reply."""

    status: int
    type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A reply whose stream breaks after some events."""

    reply: Reply
    after: int
    error: str | None


Scripted: TypeAlias = Reply | Failure | Cut


def cassette_of(scripted: Sequence[Scripted]) -> Cassette:
    """The cassette that plays these replies in order."""
    ids = _fresh_ids(scripted)
    return Cassette(
        source="scripted",
        episodes=tuple(
            Episode(response=_response(item, number, ids))
            for number, item in enumerate(scripted, start=1)
        ),
    )


def message_of(reply: Reply, number: int, ids: Iterator[str]) -> Message:
    """The whole message, the `number`th of its script, save the model's name."""
    return {
        "id": f"msg_{number:02}",
        "type": "message",
        "role": "assistant",
        "content": [_with_id(block, ids) for block in reply.content],
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": {**_NO_USAGE, **reply.usage},
        **reply.fields,
    }


def _response(scripted: Scripted, number: int, ids: Iterator[str]) -> StoredResponse:
    headers = {"request-id": f"req_{number:02}"}
    match scripted:
        case Failure(status=status, type=kind, message=text):
            error = {"type": kind, "message": text}
            return StoredResponse(
                status=status,
                headers={**headers, **scripted.headers},
                body={"type": "error", "error": error},
            )
        case Cut():
            return _broken(scripted, message_of(scripted.reply, number, ids), headers)
        case Reply():
            body = message_of(scripted, number, ids)
            return StoredResponse(headers=headers, body=body)


def _broken(cut: Cut, message: Message, headers: dict[str, str]) -> StoredResponse:
    events = list(wire.events_of(message))[: cut.after]
    is_drop = cut.error == "drop"
    if cut.error is not None and not is_drop:
        error = {"type": cut.error, "message": "The scripted reply breaks here."}
        events.append(("error", {"type": "error", "error": error}))
    return StoredResponse(headers=headers, events=timed(events), cut=is_drop)


def _with_id(block: Block, ids: Iterator[str]) -> Block:
    if block["type"] != "tool_use" or "id" in block:
        return block
    return {"type": "tool_use", "id": next(ids), **block}


def _fresh_ids(scripted: Sequence[Scripted]) -> Iterator[str]:
    """`toolu_01`, `toolu_02` and so on, without the ids that blocks bring along."""
    replies = (item.reply if isinstance(item, Cut) else item for item in scripted)
    taken = {
        block.get("id")
        for reply in replies
        if isinstance(reply, Reply)
        for block in reply.content
    }
    numbered = (f"toolu_{number:02}" for number in count(1))
    return (fresh for fresh in numbered if fresh not in taken)
