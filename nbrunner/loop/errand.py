"""An errand: one call that another thread, or an event loop, makes for the run's.

The run's thread sends it and waits. What the tool prints and displays is caught by
context variables, so the call is made in a copy of the context that sent it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from nbrunner.loop.exits import Left, Moved, NotBegun

MustStop: TypeAlias = Callable[[], bool]
"""Whether what has not begun is to be left out."""

_HEARTBEAT_S = 0.1
"""How soon a call that waits for its turn notices that the run is to stop."""


class Errand:
    """A call on its way, in hand, or done.

    Args:
        work: The call.
        must_stop: Whether the run is to stop: then the call does not begin.

    Attributes:
        was_interrupted: Whether an interrupt ended it.
    """

    def __init__(self, work: Callable[[], Any], must_stop: MustStop) -> None:
        self.was_interrupted = False
        self._work = work
        self._context = contextvars.copy_context()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._must_stop = must_stop
        self._lock = threading.Lock()
        self._is_taken = False
        self._done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def begin(self) -> bool:
        """Whether whoever asks is to make the call, now."""
        return not self._is_too_late() and self._take()

    def _is_too_late(self) -> bool:
        try:
            if not self._must_stop():
                return False
            self.withdraw(NotBegun())
        except Left as left:
            self.withdraw(left)
        return True

    def _look_around(self) -> None:
        if not self._is_taken:
            self._is_too_late()
        if self._loop is not None and self._loop.is_closed():
            self.withdraw(Moved())
            self.fail(RuntimeError("The event loop was closed during the call."))

    def _take(self) -> bool:
        with self._lock:
            if self._is_taken:
                return False
            self._is_taken = True
        return True

    def withdraw(self, why: BaseException) -> bool:
        """Take it back; False if it has begun."""
        if not self._take():
            return False
        self.fail(why)
        return True

    def cancel(self, why: BaseException) -> None:
        """Take it back, or end the task that makes it; a thread cannot be ended."""
        if not self.withdraw(why) and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._cancel)

    def make(self) -> None:
        """Make the call, in this thread."""
        try:
            value = self._context.run(self._work)
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            self.fail(error)
        else:
            self.succeed(value)

    def send_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let an event loop make the call, which is a coroutine function's."""
        self._loop = loop
        with contextlib.suppress(RuntimeError):  # it is closed, which `result` sees
            loop.call_soon_threadsafe(self._attend_soon)

    def _attend_soon(self) -> None:
        assert self._loop is not None  # noqa: S101 - this runs on it
        if self.begin():
            attending = self._attend()
            self._task = self._loop.create_task(attending, context=self._context)
            self._task.add_done_callback(self._attended)

    def _attended(self, _: object) -> None:
        # A task that is cancelled before its first step does not take one.
        self.fail(asyncio.CancelledError())

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _attend(self) -> None:
        try:
            value = await self._work()
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            self.fail(error)
        else:
            self.succeed(value)

    def succeed(self, value: Any) -> None:
        """The call came back."""
        with self._lock:
            if not self._done.is_set():
                self._value = value
                self._done.set()

    def fail(self, error: BaseException) -> None:
        """The call raised, or nobody will make it; the first word counts."""
        with self._lock:
            if not self._done.is_set():
                self.was_interrupted = isinstance(error, KeyboardInterrupt)
                self._error = error
                self._done.set()

    def result(self) -> Any:
        """Wait for what the call returns or raises.

        Raises:
            NotBegun: The run is to stop, and the call never began.
            Moved: Its event loop ended before that.
        """
        try:
            while not self._done.wait(_HEARTBEAT_S):
                self._look_around()
        except BaseException as error:
            # Whoever waits was interrupted, or left: nobody hears the result.
            self.cancel(error)
            raise
        if self._error is None:
            return self._value
        try:
            raise self._error
        finally:
            # The traceback holds this frame, and the frame the error.
            self._error = None
