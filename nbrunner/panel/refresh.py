"""The panel's threads: one that refreshes the views, one that pushes to unheard ones.

Neither outlives its use. A notebook has many panels, most of them on runs that are
over, and ipywidgets holds each widget until it is closed.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from itertools import chain, repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

_REFRESH_S = 0.05
"""At most 20 patches a second: smooth to the eye, far from the server's limit."""

_PUSH_AFTER_S = (0.3, 0.7, 2.0, 4.0, 8.0, 16.0)
"""How long to wait before each snapshot that nobody asked for."""

_PUSH_ON_AFTER_S = 30.0
"""The same from then on: a view may have lost a patch, and cannot say so."""

_PUSHES = 3
"""How many snapshots a panel pushes whose run is not at work."""


class Refresher:
    """Calls `flush` on a clock while there is news, and `push` to unheard views.

    Args:
        changed: Set by who has news; cleared by `flush`.
        flush: Tells the news.
        push: Sends everything; called until `is_heard`.
        is_heard: Whether a view has been heard: then it asks for what it lacks.
        is_at_work: Whether more news can be expected.
        rested: Called when the refreshing ends, since no news is to be expected.
    """

    def __init__(  # noqa: PLR0913 - the panel's own pieces, by name
        self,
        *,
        changed: threading.Event,
        flush: Callable[[], object],
        push: Callable[[], object],
        is_heard: Callable[[], bool],
        is_at_work: Callable[[], bool],
        rested: Callable[[], object],
    ) -> None:
        self._changed, self._flush, self._push = changed, flush, push
        self._is_heard, self._is_at_work = is_heard, is_at_work
        self._rested = rested
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._is_refreshing = False
        # A plain thread has no cell to send from on ipykernel 7.0; a copy of this
        # context has.
        self._context = contextvars.copy_context()

    def start(self) -> None:
        """Begin to push; what `push` needs is there by now."""
        self._start(self._push_on)

    def wake(self) -> None:
        """Have the news told that were noted; called after `changed` is set."""
        with self._lock:
            if self._is_refreshing or self._closing.is_set():
                return
            self._is_refreshing = True
        self._start(self._refresh)

    def close(self) -> bool:
        """End the threads; False if that was done before."""
        with self._lock:
            was_open = not self._closing.is_set()
            self._closing.set()
        self._changed.set()
        return was_open

    @property
    def is_closed(self) -> bool:
        """Whether nothing is told any longer."""
        return self._closing.is_set()

    def flush(self) -> None:
        """Tell the news now."""
        self._tell(self._flush)

    def _tell(self, what: Callable[[], object]) -> None:
        try:
            what()
        except Exception:
            # The message lost leaves a gap, at which a view asks for a snapshot.
            logger.exception("the panel could not be refreshed")

    def _start(self, work: Callable[[], None]) -> None:
        threading.Thread(
            target=self._context.copy().run,
            args=[work],
            name="nbrunner-panel",
            daemon=True,
        ).start()

    def _refresh(self) -> None:
        while True:
            self._changed.wait()
            if self._closing.wait(_REFRESH_S):
                return
            self.flush()
            with self._lock:
                # Under the lock: who sets `changed` now finds no refreshing and wakes.
                if not (self._is_at_work() or self._changed.is_set()):
                    self._is_refreshing = False
                    break
        self._rested()

    def _push_on(self) -> None:
        waits_s = chain(_PUSH_AFTER_S, repeat(_PUSH_ON_AFTER_S))
        for number, wait_s in enumerate(waits_s):
            if number >= _PUSHES and not self._is_at_work():
                return
            if self._closing.wait(wait_s) or self._is_heard():
                return
            self._tell(self._push)
