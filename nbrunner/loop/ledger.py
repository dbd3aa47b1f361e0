"""The ledger: the one place where events become the transcript.

Events come from the worker thread (what happened) and from any other (what a
person asked for); the ledger puts them in one order and tells the listeners.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from nbrunner.core.events import Event
from nbrunner.core.fold import fold
from nbrunner.core.transcript import Transcript
from nbrunner.loop.exits import Left

logger = logging.getLogger(__name__)

Listener: TypeAlias = Callable[[Event, Transcript], None]


class Ledger:
    """The transcript of a run, and those who follow it.

    Attributes:
        lock: Held while an event is folded and told; hold it to read the
            transcript and write an event that depends on it as one act.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.lock = threading.RLock()
        self._transcript = transcript
        self._listeners: list[Listener] = []
        self._untold: deque[tuple[Event, Transcript]] = deque()
        self._is_telling = False

    @property
    def transcript(self) -> Transcript:
        """The transcript as of the last event."""
        return self._transcript

    def write(self, event: Event) -> None:
        """Fold an event in and tell the listeners, in the order of events."""
        with self.lock:
            self._transcript = fold(self._transcript, event)
            self._untold.append((event, self._transcript))
            # A listener may write too: its event is told after the one it heard.
            if not self._is_telling:
                self._tell()

    def _tell(self) -> None:
        self._is_telling = True
        try:
            while self._untold:
                event, transcript = self._untold.popleft()
                for listener in tuple(self._listeners):
                    try:
                        listener(event, transcript)
                    except Exception:
                        # A view that breaks must not break the run it looks at.
                        logger.exception("a listener failed at %s", event.kind)
        finally:
            self._is_telling = False

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(event, transcript)` from now on; returns the way out.

        The listener is called in the thread of the event, under the lock: it
        notes what it needs and returns at once.
        """
        with self.lock:
            self._listeners.append(listener)

        def unsubscribe() -> None:
            with self.lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return unsubscribe


class Pen:
    """A driver's right to write into the ledger, until it is taken away.

    A tool cannot be killed. A driver that is left behind in one loses its pen: it can
    neither write nor take what is meant for the next driver.

    Attributes:
        is_taken: Whether it was taken away.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.is_taken = False

    @property
    def transcript(self) -> Transcript:
        """The transcript as of the last event."""
        return self._ledger.transcript

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Read and write as one act.

        Raises:
            Left: The pen was taken away.
        """
        with self._ledger.lock:
            if self.is_taken:
                raise Left
            yield

    def write(self, event: Event) -> None:
        """Write an event.

        Raises:
            Left: The pen was taken away.
        """
        with self.held():
            self._ledger.write(event)

    def take(self, last_words: Callable[[], Iterable[Event]]) -> None:
        """Take the pen away, after some last events; nothing if it was before."""
        with self._ledger.lock:
            if not self.is_taken:
                for event in last_words():
                    self._ledger.write(event)
                self.is_taken = True
