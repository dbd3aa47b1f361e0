"""The worker: the thread that a run is driven in, and how others wait for it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbrunner.loop.driver import Driver


class Worker:
    """Drives one run in a thread of its own, until the run's next end.

    Attributes:
        error: What broke the driver itself; None in every run that ended by an
            event, an API error included.
    """

    def __init__(self, driver: Driver) -> None:
        self.error: BaseException | None = None
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
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run, args=(self._work,), name="nbrunner-run", daemon=True
        )
        thread.start()

    def leave(self) -> None:
        """End the run now, without its thread: a tool in it may never return."""
        self._driver.leave()
        self._finish()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block until the run ends; False if the time ran out first."""
        return self._finished.wait(timeout_s)

    async def finished(self) -> None:
        """Wait for the end without blocking the event loop."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        self._when_finished(lambda: loop.call_soon_threadsafe(ended.set))
        await ended.wait()

    def _work(self) -> None:
        try:
            self._driver.drive()
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            self.error = error
        finally:
            self._finish()

    def _finish(self) -> None:
        with self._lock:
            self._finished.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def _when_finished(self, callback: Callable[[], object]) -> None:
        with self._lock:
            if self.is_running:
                self._callbacks.append(callback)
                return
        callback()


@contextlib.contextmanager
def on_interrupt(handler: Callable[[], object]) -> Iterator[None]:
    """Call `handler` for each SIGINT, in place of KeyboardInterrupt.

    ipykernel takes one SIGINT per async cell and drops the second, so a wait brings
    a handler of its own. Python lets only the main thread set one: elsewhere (a
    console of a subshell) interrupts are not heard.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def heard(_signal: int, _frame: Any) -> None:
        handler()

    previous = signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
