"""What a tool prints, caught for its call.

`contextlib.redirect_stdout` swaps the stream of the whole process, so two tools
that run side by side would print into each other's call, and a cell that prints
meanwhile into both. One proxy stands in for `sys.stdout` instead and asks a context
variable where the text of this context goes.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_sink: ContextVar[Callable[[str], None] | None] = ContextVar(
    "nbrunner_sink", default=None
)
_installed = threading.Lock()
_users = 0

_FLUSH_S = 0.05
"""How long printed text may wait to be told: a loop that prints is one event, not
thousands."""


class _Proxy:
    """Stands in for a stream; text of a context with a sink goes to the sink."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        sink = _sink.get()
        # What is no text the stream itself refuses.
        if sink is None or not isinstance(text, str):
            return self.stream.write(text)
        sink(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def caught_prints(tell: Callable[[str], None]) -> Iterator[None]:
    """Send what this context prints to `tell`, in pieces of a moment each."""
    buffer = _Buffer(tell)
    token = _sink.set(buffer.write)
    try:
        with _proxied():
            yield
    finally:
        # Whoever is told may print too, and that is no print of the tool.
        _sink.reset(token)
        buffer.flush()


class _Buffer:
    """Gathers small writes and tells them as one, a moment later at most."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._pieces: list[str] = []
        self._lock = threading.Lock()
        self._telling = threading.Lock()
        self._timer: threading.Timer | None = None

    def write(self, text: str) -> None:
        with self._lock:
            self._pieces.append(text)
            if self._timer is None:
                self._timer = threading.Timer(_FLUSH_S, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        # Telling has a lock of its own: the order of the pieces is the order of the
        # prints, and after the last flush nothing is left that could be told late.
        # A print waits for neither: it may come from under the ledger's lock, which
        # the telling needs.
        with self._telling:
            if text := self._taken():
                self._tell(text)

    def _taken(self) -> str:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            text, self._pieces = "".join(self._pieces), []
            return text


@contextlib.contextmanager
def _proxied() -> Iterator[None]:
    """Keep the proxy in place of `sys.stdout` while any call needs it."""
    global _users  # noqa: PLW0603 - the stream it stands in for is a global too
    with _installed:
        _users += 1
        if not isinstance(sys.stdout, _Proxy):
            sys.stdout = _Proxy(sys.stdout)
    try:
        yield
    finally:
        with _installed:
            _users -= 1
            if _users == 0 and isinstance(sys.stdout, _Proxy):
                sys.stdout = sys.stdout.stream
