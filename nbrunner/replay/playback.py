"""A stored response as an HTTP response, at a chosen pace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2

from nbrunner.replay import sse, wire
from nbrunner.replay.episode import FIRST_EVENT_S, Event, StoredResponse, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbrunner.core.blocks import Message

_JSON = "application/json"


class _Chunk(NamedTuple):
    """Some bytes of a body and their arrival, in seconds since the request."""

    at_s: float
    content: bytes


class _Answer(NamedTuple):
    """The body of a response, and the failure that ends it, if one does."""

    media_type: str
    chunks: list[_Chunk]
    failure: httpx2.TransportError | None = None


def played(
    response: StoredResponse,
    body: dict[str, Any],
    pace: float,
    sleep: Callable[[float], None],
    unread: Callable[[], None] = lambda: None,
) -> httpx2.Response:
    """The HTTP response to a request with this body.

    A message comes as the request wants it, streamed or whole. Errors, and what is
    no message at all, come as they are stored. `unread` is called when who asked
    hangs up before the end.
    """
    if response.events is None and response.message is None:
        answer = _as_stored(response)
    elif body.get("stream"):
        answer = _streamed(response, body["model"])
    else:
        answer = _whole(response, body["model"])
    return httpx2.Response(
        response.status,
        headers={**response.headers, "content-type": answer.media_type},
        stream=_PacedBody(answer, pace, sleep, unread),
    )


class _PacedBody(httpx2.SyncByteStream):
    def __init__(
        self,
        answer: _Answer,
        pace: float,
        sleep: Callable[[float], None],
        unread: Callable[[], None],
    ) -> None:
        self._answer = answer
        self._pace = pace
        self._sleep = sleep
        self._unread = unread
        self._is_over = False

    def __iter__(self) -> Iterator[bytes]:
        before_s = 0.0
        for chunk in self._answer.chunks:
            wait_s = (chunk.at_s - before_s) * self._pace
            if wait_s > 0:
                self._sleep(wait_s)
            before_s = chunk.at_s
            self._is_over = chunk is self._answer.chunks[-1]
            yield chunk.content
        self._is_over = True
        if self._answer.failure is not None:
            raise self._answer.failure

    def close(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._unread()


def _as_stored(response: StoredResponse) -> _Answer:
    body = response.body
    text = body if isinstance(body, str) else json.dumps(body)
    return _Answer(
        media_type=response.headers.get("content-type", _JSON),
        chunks=[_Chunk(FIRST_EVENT_S, text.encode())],
        failure=_read_error() if response.cut else None,
    )


def _streamed(response: StoredResponse, model: str) -> _Answer:
    events = response.events
    if events is None and response.message is not None:
        events = timed(wire.events_of(response.message))
    # The two failures are those that the SDK sees when a real connection drops.
    dropped = httpx2.RemoteProtocolError(
        "peer closed connection without sending complete message body"
    )
    return _Answer(
        media_type="text/event-stream; charset=utf-8",
        chunks=[_Chunk(e.at_s, _encoded(e, model)) for e in events or ()],
        failure=dropped if response.cut else None,
    )


def _whole(response: StoredResponse, model: str) -> _Answer:
    message = response.message
    if message is None:
        return _Answer(_JSON, [], _read_error())
    at_s = response.events[-1].at_s if response.events else FIRST_EVENT_S
    content = json.dumps(_signed(message, model)).encode()
    return _Answer(_JSON, [_Chunk(at_s, content)])


def _encoded(event: Event, model: str) -> bytes:
    data = event.data
    if event.name == "message_start" and isinstance(data, dict) and "message" in data:
        data = {**data, "message": _signed(data["message"], model)}
    return sse.encode(event.name, data)


def _signed(message: Message, model: str) -> Message:
    """A scripted message names no model: it comes from the one that was asked."""
    return {"model": model, **message}


def _read_error() -> httpx2.ReadError:
    return httpx2.ReadError("the connection broke before the reply was whole")
