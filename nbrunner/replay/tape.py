"""What a recorder writes: the cassette that grows, and how a response gets on it."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING

import httpx2

from nbrunner.replay.cassette import Cassette
from nbrunner.replay.episode import Episode, Event, StoredResponse
from nbrunner.replay.sse import Decoder, as_object
from nbrunner.replay.writing import AnyPath, lines_of, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# An allow-list: what a replay needs. The headers that name an organization or its
# rate limits tell about the account, and what is not known may tell more.
KEPT_HEADERS = (
    "content-type",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
)

_ENDS = ("message_stop", "error")


class Tape:
    """The cassette of a recorder, saved whenever it grows."""

    def __init__(self, path: AnyPath, cassette: Cassette) -> None:
        self.cassette = cassette
        self._path = path
        # The responses of a sweep finish in several threads.
        self._lock = threading.Lock()

    @cached_property
    def _lines(self) -> list[str]:
        return [lines_of(episode, self._path) for episode in self.cassette.episodes]

    def add(self, episode: Episode, *, is_retry: bool) -> None:
        """Put an episode on the tape and save it.

        A client that plays the cassette does not retry, so what the SDK's own retry
        brought takes the place of the attempt that failed.
        """
        added = lines_of(episode, self._path)
        with self._lock:
            episodes, lines = list(self.cassette.episodes), self._lines
            failed = [n for n, e in enumerate(episodes) if _is_failed(e, episode)]
            if is_retry and failed:
                del episodes[failed[-1]], lines[failed[-1]]
            self.cassette = Cassette(source="recorded", episodes=(*episodes, episode))
            lines.append(added)
            write(self._path, "recorded", lines)


class Tee(httpx2.SyncByteStream):
    """The body of a response, handed on as it arrives and heard on the side.

    Args:
        response: The response to listen to.
        elapsed_s: Tells the seconds since the request was sent.
        keep: Takes the response when it has ended, however it ended.
    """

    def __init__(
        self,
        response: httpx2.Response,
        elapsed_s: Callable[[], float],
        keep: Callable[[StoredResponse], None],
    ) -> None:
        self._response = response
        self._heard = _Heard(response, elapsed_s)
        self._keep = keep
        self._is_kept = False

    def __iter__(self) -> Iterator[bytes]:
        # Decoded here, because events cannot be read out of a compressed body.
        for chunk in self._response.iter_bytes():
            self._heard.hear(chunk)
            yield chunk
        self._finish(is_complete=True)

    def close(self) -> None:
        """Close the response; one that has not ended by now is cut."""
        try:
            self._response.close()
        finally:
            self._finish(is_complete=False)

    def _finish(self, *, is_complete: bool) -> None:
        if not self._is_kept:
            self._is_kept = True
            self._keep(self._heard.stored(is_complete=is_complete))


class _Heard:
    """One response, as far as it has come."""

    def __init__(
        self, response: httpx2.Response, elapsed_s: Callable[[], float]
    ) -> None:
        self._status = response.status_code
        self._headers = {
            name: response.headers[name]
            for name in KEPT_HEADERS
            if name in response.headers
        }
        media_type = self._headers.get("content-type", "")
        self._is_stream = media_type.startswith("text/event-stream")
        self._elapsed_s = elapsed_s
        self._decoder = Decoder()
        self._events: list[Event] = []
        self._body = b""

    def hear(self, chunk: bytes) -> None:
        if not self._is_stream:
            self._body += chunk
            return
        at_s = round(self._elapsed_s(), 3)
        events = self._decoder.feed(chunk)
        self._events += [Event(at_s, name, data) for name, data in events]

    def stored(self, *, is_complete: bool) -> StoredResponse:
        if not self._is_stream:
            return StoredResponse(
                status=self._status,
                headers=self._headers,
                body=as_object(self._body.decode(errors="replace")),
                cut=not is_complete,
            )
        is_whole = any(event.name in _ENDS for event in self._events)
        return StoredResponse(
            status=self._status,
            headers=self._headers,
            events=tuple(self._events),
            cut=not (is_complete or is_whole),
        )


def _is_failed(earlier: Episode, retry: Episode) -> bool:
    response = earlier.response
    has_failed = response.cut or not httpx2.codes.is_success(response.status)
    return has_failed and earlier.request == retry.request
