"""An errand: one call that another thread, or an event loop, makes for the run's.

The run's thread sends it and waits. What the tool prints and displays is caught by
context variables, so the call is made in a copy of the context that sent it.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from nbrunner.loop.exits import Left, NotBegun

if TYPE_CHECKING:
    import asyncio

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
        context: What the call is made in.
        task: The task that makes it, if an event loop does.
        was_interrupted: Whether an interrupt ended it.
    """

    def __init__(self, work: Callable[[], Any], must_stop: MustStop) -> None:
        self.work = work
        self.context = contextvars.copy_context()
        self.task: asyncio.Task[None] | None = None
        self.was_interrupted = False
        self._must_stop = must_stop
        self._lock = threading.Lock()
        self._is_taken = False
        self._begun, self._done = threading.Event(), threading.Event()
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

    def _take(self) -> bool:
        with self._lock:
            if self._is_taken:
                return False
            self._is_taken = True
        self._begun.set()
        return True

    def withdraw(self, why: BaseException) -> bool:
        """Take it back; False if it has begun."""
        if not self._take():
            return False
        self.fail(why)
        return True

    def cancel(self, why: BaseException) -> None:
        """Take it back, or end the task that makes it; a thread cannot be ended."""
        if not self.withdraw(why) and self.task is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.task.get_loop().call_soon_threadsafe(self.task.cancel)

    def make(self) -> None:
        """Make the call, in this thread."""
        try:
            value = self.context.run(self.work)
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            self.fail(error)
        else:
            self.succeed(value)

    async def attend(self) -> None:
        """Make the call, which is a coroutine function's, on this loop."""
        try:
            value = await self.work()
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            self.fail(error)
        else:
            self.succeed(value)

    def succeed(self, value: Any) -> None:
        """The call came back."""
        with self._lock:
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
        """
        try:
            while not self._begun.wait(_HEARTBEAT_S):
                self._is_too_late()
            self._done.wait()
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
