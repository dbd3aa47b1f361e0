"""What may not get into a cassette file, and how it is kept out.

Streams are looked at as the messages that they make: a key comes in pieces, none of
which looks like one. It also keeps a replay consistent, because the next request
was recorded with that same message in its history, redacted in the same way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbrunner.core.redact import redact_json
from nbrunner.replay import wire
from nbrunner.replay.episode import Episode, Event, StoredResponse

if TYPE_CHECKING:
    from nbrunner.core.blocks import Message

_KEY = re.compile(r"sk-ant-[\w-]{8,}")

_SAYING = ("text", "thinking", "partial_json")


def redacted(episode: Episode) -> Episode:
    """The episode with every recognised secret replaced."""
    response = episode.response
    changes = {
        "headers": redact_json(response.headers),
        "body": redact_json(response.body),
        "events": response.events and _redacted(response),
    }
    return Episode(
        request=redact_json(episode.request),
        response=response.model_copy(update=changes),
    )


def holds_key(text: str, response: StoredResponse) -> bool:
    """Whether an API key stands in the text of an episode, or in what it streams."""
    return any(_KEY.search(told) for told in (text, _said(response)))


def _said(response: StoredResponse) -> str:
    """All that the deltas of a stream say, in one piece."""
    deltas = [data.get("delta", {}) for _, data in response.stream]
    return "".join(d[field] for d in deltas for field in _SAYING if field in d)


def _redacted(response: StoredResponse) -> tuple[Event, ...]:
    events = response.events or ()
    told = wire.message_of(response.stream)
    clean = redact_json(told)
    if clean == told:
        return tuple(map(_redacted_around, events))
    if response.message is None:
        # What broke off may end in half a secret, which nothing can recognise.
        return tuple(map(_redacted_around, events[:1]))
    return _streamed_anew(clean, events[0].at_s, events[-1].at_s)


def _redacted_around(event: Event) -> Event:
    """The event; its secrets are replaced unless it is a piece of a clean message."""
    if event.name == "content_block_delta" and isinstance(event.data, dict):
        return event
    return event._replace(data=redact_json(event.data))


def _streamed_anew(
    message: Message, first_s: float, last_s: float
) -> tuple[Event, ...]:
    """The message in other pieces, at even distances over the same time."""
    told = list(wire.events_of(message))
    gap_s = (last_s - first_s) / (len(told) - 1)
    return tuple(
        Event(round(first_s + index * gap_s, 3), name, data)
        for index, (name, data) in enumerate(told)
    )
