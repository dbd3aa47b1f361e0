"""An episode: one request and what came back for it, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field, model_validator

from nbrunner.core.blocks import Message, Value
from nbrunner.replay import wire

if TYPE_CHECKING:
    from collections.abc import Iterable

# The times of a reply that has none of its own: about those of a model at work.
FIRST_EVENT_S = 0.4
_EVENT_GAP_S = 0.03


class Event(NamedTuple):
    """A server-sent event and its arrival, in seconds since the request."""

    at_s: float
    name: str
    data: dict[str, Any] | str
    """Text where it was no JSON object; it is played back as it came."""


def timed(events: Iterable[tuple[str, dict[str, Any] | str]]) -> tuple[Event, ...]:
    """The events at the pace of a model at work."""
    return tuple(
        Event(round(FIRST_EVENT_S + index * _EVENT_GAP_S, 3), name, data)
        for index, (name, data) in enumerate(events)
    )


class StoredResponse(Value):
    """What came back for one request: a stream of events, or a body."""

    status: int = 200
    headers: dict[str, str] = Field(default_factory=dict)
    events: tuple[Event, ...] | None = None
    body: dict[str, Any] | str | None = None
    """Text where it was no JSON object; it is played back as it came."""

    cut: bool = False
    """Whether the connection broke here, before the response was whole."""

    @model_validator(mode="after")
    def _has_one_shape(self) -> StoredResponse:
        if (self.events is None) == (self.body is None):
            msg = "a response holds either events or a body"
            raise ValueError(msg)
        return self

    @property
    def stream(self) -> list[wire.StreamEvent]:
        """The events without their times, as far as they are JSON."""
        events = self.events or ()
        return [(e.name, e.data) for e in events if isinstance(e.data, dict)]

    @property
    def message(self) -> Message | None:
        """The whole message, whichever shape holds it; None where there is none."""
        if isinstance(self.body, dict):
            return self.body if self.body.get("type") == "message" else None
        return wire.message_of(self.stream) if wire.is_whole(self.stream) else None


class Episode(Value):
    """One request and its response; a scripted episode has no request."""

    request: dict[str, Any] | None = None
    """The body as it was sent, without `stream`: a response serves both kinds."""

    response: StoredResponse
