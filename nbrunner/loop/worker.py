"""The worker: the thread that a run is driven in, and how others wait for it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import math
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.loop.driver import Driver

logger = logging.getLogger(__name__)

_HEARTBEAT_S = 0.2
"""How soon a wait notices an interrupt, at the latest."""


class Worker:
    """Drives one run in a thread of its own, until the run's next end.

    Attributes:
        error: What broke the driver itself; None in every run that ended by an
            event, an API error included.
    """

    def __init__(self, driver: Driver) -> None:
        self.error: Exception | None = None
        self._driver = driver
        self._finished = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []

    @property
    def is_running(self) -> bool:
        """Whether the run has not come to its end."""
        return not self._finished.is_set()

    def start(self) -> None:
        """Begin, in a copy of the caller's context.

        The copy keeps what a kernel knows of the cell: what a tool displays or logs
        goes to the cell that started the run, and not to the latest one.
        """
        self._driver.begin()
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run, args=(self._work,), name="nbrunner-run", daemon=True
        )
        thread.start()

    def leave(self) -> None:
        """End the run now, without its thread: a tool in it may never return.

        After its end there is nothing to leave: another driver may be at work by then.
        """
        if not self.is_running:
            return
        self._driver.leave()
        self._finish()

    def wait(
        self,
        timeout_s: float | None = None,
        *,
        meanwhile: Callable[[float], object] | None = None,
    ) -> bool:
        """Block until the run ends; False if the time ran out first.

        Args:
            timeout_s: How long to wait, in seconds; None is for ever.
            meanwhile: Called again and again with how long it may take.
        """
        pause = meanwhile or self._finished.wait
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while not self._finished.is_set():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            # A signal that arrives just before a wait does not end it.
            pause(min(left_s, _HEARTBEAT_S))
        return True

    async def finished(self) -> None:
        """Wait for the end without blocking the event loop."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def tell() -> None:
            # The loop is closed by now if whoever waited was cancelled.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

        self.when_finished(tell)
        await ended.wait()

    def when_finished(self, callback: Callable[[], object]) -> None:
        """Call back once the run has ended, in the thread that ends it."""
        with self._lock:
            if self.is_running:
                self._callbacks.append(callback)
                return
        callback()

    def _work(self) -> None:
        try:
            self._driver.drive()
        except Exception as error:  # noqa: BLE001 - raised again by who waits
            self.error = error
        finally:
            self._finish()

    def _finish(self) -> None:
        with self._lock:
            self._finished.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:
                # The others wait for the end too, and would wait for ever.
                logger.exception("what was to follow the run failed")
