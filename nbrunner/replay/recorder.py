"""Recording: a transport that writes down what another one brings."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import httpx2

from nbrunner.errors import CassetteUnreadable, NotATransport, UnknownRecordMode
from nbrunner.replay.cassette import Cassette
from nbrunner.replay.episode import Episode, StoredResponse
from nbrunner.replay.playback import played
from nbrunner.replay.playlist import Playlist, body_of, request_of
from nbrunner.replay.tape import Tape, Tee

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.core.events import Source
    from nbrunner.replay.writing import AnyPath

RecordMode: TypeAlias = Literal["none", "once", "new_episodes", "rewrite"]

# The body is handed on decoded, so these no longer hold.
_OF_THE_RAW_BODY = ("content-encoding", "content-length", "transfer-encoding")

# The SDK counts its attempts there, from 0.
_RETRY_COUNT = "x-stainless-retry-count"

_BLANK = Cassette(source="recorded", episodes=())


class Recorder(httpx2.BaseTransport):
    """Plays what a cassette holds and records the rest; `record()` makes one.

    Whatever it records it saves at once, after each response.

    Args:
        path: Where the cassette is, or will be.
        mode: When to record and when to play.
        transport: What to record from; None is the network.
        clock: Tells the time in seconds.

    Raises:
        UnknownRecordMode: There is no such mode.
        NotATransport: The transport is not an `httpx2.BaseTransport`.
        CassetteUnreadable: The mode plays, and the path leads to no cassette.
    """

    requests: list[dict[str, Any]]
    """The body of every request for a message, of all sessions, in order."""

    def __init__(
        self,
        path: AnyPath,
        mode: RecordMode = "once",
        transport: httpx2.BaseTransport | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if mode not in get_args(RecordMode):
            raise UnknownRecordMode(mode, get_args(RecordMode))
        if not isinstance(transport, httpx2.BaseTransport | None):
            raise NotATransport(transport)
        stored = _stored(path, mode)
        self.requests = []
        self._clock = clock
        self._tape = Tape(path, stored or _BLANK)
        self._plays = stored is not None or mode == "new_episodes"
        # A recorder that only plays holds no transport: it cannot go live.
        self._upstream: httpx2.BaseTransport | None = None
        if stored is None or mode == "new_episodes":
            self._upstream = transport or httpx2.HTTPTransport()
        self.rewind()

    @property
    def source(self) -> Source:
        """Where the last reply came from; before the first, where it would."""
        return self._source

    @property
    def matched_by_order(self) -> bool:
        """Whether recorded replies are played without a look at the requests."""
        return self._plays and self._tape.cassette.matched_by == "order"

    def session(self) -> Recorder:
        """The same recorder, playing from the top; tape and requests are shared."""
        session = copy.copy(self)
        session.rewind()
        return session

    def rewind(self) -> None:
        """Play from the top again; what has been recorded stays."""
        cassette = self._tape.cassette if self._plays else _BLANK
        self._playlist = Playlist(cassette)
        self._source: Source = "live" if self._upstream else cassette.source

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request from the cassette, or pass it on and listen.

        Raises:
            ReplayError: Nothing fits, and the mode is not to record. The SDK wraps
                it in an `APIConnectionError`.
        """
        body = body_of(request)
        self.requests.append(body)
        if self._upstream is None:
            return self._answer(self._playlist.take(body), body)
        episode = self._playlist.find(body)
        if episode is not None:
            return self._answer(episode, body)
        self._source = "live"
        return self._listen(self._upstream, request, request_of(body))

    def _answer(self, episode: Episode, body: dict[str, Any]) -> httpx2.Response:
        self._source = self._tape.cassette.source
        return played(episode.response, body, pace=0.0, sleep=time.sleep)

    def _listen(
        self,
        upstream: httpx2.BaseTransport,
        request: httpx2.Request,
        recorded: dict[str, Any],
    ) -> httpx2.Response:
        is_retry = request.headers.get(_RETRY_COUNT, "0") != "0"

        def keep(stored: StoredResponse) -> None:
            episode = Episode(request=recorded, response=stored)
            self._tape.add(episode, is_retry=is_retry)

        sent_s = self._clock()
        response = upstream.handle_request(request)
        headers = response.headers.copy()
        for name in _OF_THE_RAW_BODY:
            headers.pop(name, None)
        return httpx2.Response(
            response.status_code,
            headers=headers,
            stream=Tee(response, lambda: self._clock() - sent_s, keep),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close the transport that is recorded from."""
        if self._upstream is not None:
            self._upstream.close()


def record(
    path: AnyPath,
    mode: RecordMode = "once",
    transport: httpx2.BaseTransport | None = None,
) -> Recorder:
    """A transport that records replies to a cassette, and plays those it holds.

    Args:
        path: Where the cassette is, or will be.
        mode: `once` records if there is no cassette yet and only plays if there is;
            `none` only plays; `new_episodes` plays what is there and records the
            rest; `rewrite` records everything again.
        transport: What to record from; by default the network.

    Returns:
        A transport for `connect()`.

    Raises:
        UnknownRecordMode: There is no such mode.
        NotATransport: The transport is not an `httpx2.BaseTransport`.
        CassetteUnreadable: The mode plays, and the path leads to no cassette.
    """
    return Recorder(path, mode, transport)


def _stored(path: AnyPath, mode: RecordMode) -> Cassette | None:
    """The cassette that the mode plays from, if there is one."""
    if mode == "rewrite" or (mode != "none" and not Path(path).exists()):
        return None
    cassette = Cassette.load(path)
    if mode == "new_episodes" and cassette.source == "scripted":
        raise CassetteUnreadable.script_cannot_grow(path)
    if mode == "new_episodes" and cassette.matched_by == "order":
        raise CassetteUnreadable.import_cannot_grow(path)
    return cassette
