"""The ledger: the one place where events become the transcript.

Events come from the worker thread (what happened) and from any other (what a
person asked for); the ledger puts them in one order and tells the listeners.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeAlias

from nbrunner.core.events import Event
from nbrunner.core.fold import fold
from nbrunner.core.transcript import Transcript

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

    @property
    def transcript(self) -> Transcript:
        """The transcript as of the last event."""
        return self._transcript

    def write(self, event: Event) -> Transcript:
        """Fold an event in and tell the listeners, in the order of events."""
        with self.lock:
            self._transcript = fold(self._transcript, event)
            for listener in tuple(self._listeners):
                try:
                    listener(event, self._transcript)
                except Exception:
                    # A view that breaks must not break the run it looks at.
                    logger.exception("a listener failed at %s", event.kind)
            return self._transcript

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
