"""Which episode answers which request."""

from __future__ import annotations

import json
import threading
from bisect import insort
from typing import TYPE_CHECKING, Any

from nbrunner.core.redact import redact_json
from nbrunner.errors import RepliesExhausted, ReplyMismatch, Unplayable
from nbrunner.replay.mismatch import excerpt, first_difference

if TYPE_CHECKING:
    import httpx2

    from nbrunner.replay.cassette import Cassette
    from nbrunner.replay.episode import Episode


class Playlist:
    """The episodes of a cassette, each of which is played once.

    Scripted episodes are played in order, and so are those of a cassette that says so
    (`matched_by`). Any other answers only the request that was recorded with it; of
    equal requests the earliest comes first. A request holds its whole conversation,
    so the recorded order comes about by itself, and a notebook with several runs can
    be replayed one run at a time.
    """

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._unplayed = list(range(len(cassette.episodes)))
        # Redacted again: by now more may be recognised than when it was recorded.
        self._recorded = [
            request_of(e.request)
            if e.request and cassette.matched_by == "request"
            else None
            for e in cassette.episodes
        ]
        self._asked = 0
        self._next = 0
        # A sweep may ask from several threads.
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        """How many episodes have not been played."""
        return len(self._unplayed)

    def find(self, body: dict[str, Any]) -> Episode | None:
        """The episode that answers the request, now played; None if none does."""
        with self._lock:
            self._asked += 1
            request = request_of(body)
            for index in self._unplayed:
                recorded = self._recorded[index]
                if recorded is None or recorded == request:
                    self._unplayed.remove(index)
                    self._next = index + 1
                    return self._cassette.episodes[index]
        return None

    def put_back(self, episode: Episode) -> None:
        """Play an episode again: who asked for it hung up before its end."""
        with self._lock:
            episodes = enumerate(self._cassette.episodes)
            index = next(i for i, known in episodes if known is episode)
            if index not in self._unplayed:
                insort(self._unplayed, index)
                self._next = index

    def take(self, body: dict[str, Any]) -> Episode:
        """The episode that answers the request, now played.

        Raises:
            RepliesExhausted: Every episode up to the last has been played.
            ReplyMismatch: The next episode was recorded for another request.
        """
        episode = self.find(body)
        if episode is not None:
            return episode
        expected = next((i for i in self._unplayed if i >= self._next), None)
        if expected is None:
            asked = _gist(request_of(body))
            count = len(self._cassette.episodes)
            raise RepliesExhausted(count, self._cassette.source, asked)
        where = first_difference(self._recorded[expected], request_of(body))
        raise ReplyMismatch(self._asked, where.path, where.recorded, where.asked)


def body_of(request: httpx2.Request) -> dict[str, Any]:
    """The body of a request for a message.

    Raises:
        Unplayable: It is a request of another kind.
    """
    if request.method != "POST" or not request.url.path.endswith("/v1/messages"):
        raise Unplayable.other_path(request.method, request.url.path)
    body: dict[str, Any] = json.loads(request.read())
    if "thread" in body:
        raise Unplayable.thread()
    return body


def request_of(body: dict[str, Any]) -> dict[str, Any]:
    """The body as a cassette holds it: without `stream`, and without secrets."""
    request: dict[str, Any] = redact_json(
        {key: value for key, value in body.items() if key != "stream"}
    )
    return request


def _gist(body: dict[str, Any]) -> str:
    """The last message of a request, in a few words."""
    message = body["messages"][-1] if body.get("messages") else {"role": "missing"}
    text = json.dumps(message.get("content", ""), ensure_ascii=False)
    return f"the {message.get('role', 'missing')} message {excerpt(text)}"
