"""The wire between the SDK and its replies: it notes what goes out, and can fail."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2

from nbrunner import replay
from nbrunner.replay.sse import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PATIENCE_S = 20


class Door:
    """A place at which a test holds the run's thread until it opens it."""

    def __init__(self) -> None:
        self._reached, self._opened = threading.Event(), threading.Event()

    def pass_through(self) -> None:
        self._reached.set()
        assert self._opened.wait(PATIENCE_S), "nobody opened the door"

    def wait_until_reached(self) -> None:
        assert self._reached.wait(PATIENCE_S), "nobody came to the door"

    def open(self) -> None:
        self._opened.set()


def answering(content: bytes, kind: str = "application/json") -> Callable[[], Any]:
    """What answers a request with those bytes."""
    return lambda: httpx2.Response(200, content=content, headers={"content-type": kind})


def streaming(*events: tuple[str, Any]) -> Callable[[], Any]:
    """What answers a request with a stream of those events."""
    content = b"".join(encode(name, data) for name, data in events)
    return answering(content, "text/event-stream")


class Wire(httpx2.BaseTransport):
    """Plays the replies of a script.

    Args:
        *replies: As `replay.script` takes them.
        faults: What answers a request, by its number from 0, in place of a reply.
        doors: Stand before an event of a stream, by request and event from 0.
    """

    def __init__(
        self,
        *replies: Any,
        faults: Mapping[int, Callable[[], httpx2.Response]] | None = None,
        doors: Mapping[tuple[int, int], Door] | None = None,
    ) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.betas: list[str | None] = []
        self._replies = replay.play(replay.script(*replies))
        self._faults, self._doors = faults or {}, doors or {}

    @property
    def client(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(
            api_key="none", max_retries=0, http_client=httpx2.Client(transport=self)
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        number = len(self.bodies)
        self.bodies.append(json.loads(request.read()))
        self.betas.append(request.headers.get("anthropic-beta"))
        if number in self._faults:
            return self._faults[number]()
        response = self._replies.handle_request(request)
        response.stream = _Doored(response.stream, number, self._doors)
        return response


class _Doored(httpx2.SyncByteStream):
    def __init__(
        self, stream: Any, number: int, doors: Mapping[tuple[int, int], Door]
    ) -> None:
        self._stream, self._number, self._doors = stream, number, doors

    def __iter__(self) -> Iterator[bytes]:
        for event, chunk in enumerate(self._stream):
            if (door := self._doors.get((self._number, event))) is not None:
                door.pass_through()
            yield chunk
