"""The SDK's stream as the user's own loop gets it: what they read is told too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from nbrunner.errors import ReplyStopped
from nbrunner.loop.exits import StopAsked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.loop.driver import Driver

_END = object()


class WatchedStream:
    """A stream of the SDK; everything but its iteration is the stream's own.

    One that a person stops ends early, and then has no final message.
    """

    def __init__(self, stream: Any, driver: Driver) -> None:
        self._stream, self._driver = stream, driver
        self._is_stopped = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next event.

        Raises:
            StopIteration: The reply is whole, or was stopped.
            Exception: What the SDK raises; the run can send the request again.
        """
        if self._is_stopped:
            raise StopIteration
        try:
            event = self._next_event()
        except StopAsked:
            self._is_stopped, event = True, _END
        if event is _END:
            raise StopIteration
        return event

    def _next_event(self) -> Any:
        with self._driver.telling_of_failure():
            event = next(self._stream, _END)
            if event is not _END:
                self._driver.hear(event)
            return event
        # A person asked for another reply in place of this one.
        self._is_stopped = True
        return _END

    @property
    def text_stream(self) -> Iterator[str]:
        """The pieces of text, as they come."""
        for event in self:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                yield event.delta.text

    def until_done(self) -> None:
        """Read to the end."""
        for _ in self:
            pass

    def get_final_message(self) -> Any:
        """The whole reply.

        Raises:
            ReplyStopped: Someone stopped it while it was coming.
        """
        self.until_done()
        if self._is_stopped:
            raise ReplyStopped
        self._driver.read()
        return self._stream.get_final_message()

    def get_final_text(self) -> str:
        """The text of the whole reply.

        Raises:
            ReplyStopped: Someone stopped it while it was coming.
        """
        self.get_final_message()
        text: str = self._stream.get_final_text()
        return text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # The runner reads on from here; only it may close the stream.
        return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
