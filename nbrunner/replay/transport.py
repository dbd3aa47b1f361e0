"""Replies from a cassette, as a transport with no network in it."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2

from nbrunner.errors import NotACassette, PaceOutOfRange
from nbrunner.replay.cassette import Cassette
from nbrunner.replay.playback import played
from nbrunner.replay.playlist import Playlist, body_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.replay.writing import AnyPath


class Replies(httpx2.BaseTransport):
    """Plays the episodes of a cassette; `play()` makes one.

    Args:
        cassette: What to play.
        pace: How much of the time between two stream events to keep, from 0 to 1.
        sleep: Waits that long.

    Raises:
        PaceOutOfRange: The pace is not a number from 0 to 1.
    """

    requests: list[dict[str, Any]]
    """The body of every request for a message, of all sessions, in order."""

    def __init__(
        self,
        cassette: Cassette,
        pace: float = 0.0,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        is_number = isinstance(pace, int | float) and not isinstance(pace, bool)
        if not (is_number and 0 <= pace <= 1):
            raise PaceOutOfRange(pace)
        self.requests = []
        self._cassette = cassette
        self._pace = pace
        self._sleep = sleep
        self._playlist = Playlist(cassette)

    @property
    def source(self) -> Any:  # a Literal here breaks the tab completion of Jedi
        """Where the replies come from: `scripted` or `recorded`."""
        return self._cassette.source

    @property
    def matched_by_order(self) -> bool:
        """Whether recorded replies are played without a look at the requests."""
        return self._cassette.matched_by == "order"

    @property
    def left(self) -> int:
        """How many episodes this session has not played yet."""
        return self._playlist.left

    def session(self) -> Replies:
        """The same replies from the top; the list of requests is shared."""
        session = Replies(self._cassette, self._pace, sleep=self._sleep)
        session.requests = self.requests
        return session

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request with the episode that fits it.

        Raises:
            ReplayError: None fits. The SDK wraps it in an `APIConnectionError`.
        """
        body = body_of(request)
        self.requests.append(body)
        episode = self._playlist.take(body)
        # A reply that was not read to its end was not had: it is the next again.
        unread = partial(self._playlist.put_back, episode)
        return played(episode.response, body, self._pace, self._sleep, unread)


def play(cassette: Cassette | AnyPath, pace: float = 0.0) -> Replies:
    """Replies from a cassette, with no network in them.

    Args:
        cassette: A cassette, or the path of one.
        pace: How much of the time between two stream events to keep: 0 plays at
            once, 1 takes as long as the recording did.

    Returns:
        A transport for `connect()`.

    Raises:
        CassetteUnreadable: There is no cassette at the path.
        NotACassette: It is neither a cassette nor a path.
        PaceOutOfRange: The pace is not a number from 0 to 1.
    """
    if isinstance(cassette, str | os.PathLike):
        cassette = Cassette.load(cassette)
    if not isinstance(cassette, Cassette):
        raise NotACassette(cassette)
    return Replies(cassette, pace)
