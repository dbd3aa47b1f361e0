"""`async for message in run`: the user's own loop, with the event loop left free."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from nbrunner.errors import RunInterrupted
from nbrunner.loop.interrupts import Interrupts

if TYPE_CHECKING:
    from collections.abc import Generator

    from nbrunner.run.as_runner import AsRunner

_END = object()


class AsyncItems:
    """The items of a run's own loop; requests and tools are waited for in a thread.

    Once nobody holds it, after `break` say, the loop is left as by `break`.
    """

    def __init__(self, run: AsRunner) -> None:
        self._run = run
        self._items: Generator[Any] | None = None

    def __del__(self) -> None:
        # The thread that worked for it may hold the items for a moment longer.
        # Where it still works for us the loop is left once it has, since nobody else
        # holds the items.
        if self._items is not None:
            with contextlib.suppress(ValueError):
                self._items.close()

    def __aiter__(self) -> AsyncItems:
        return self

    async def __anext__(self) -> Any:
        """The next message, or stream.

        Raises:
            StopAsyncIteration: The run has ended.
            RunInterrupted: The kernel was interrupted.
        """
        if self._items is None:
            self._items = iter(self._run)
        run, loop, interrupts = self._run, asyncio.get_running_loop(), 0

        def interrupted() -> None:
            nonlocal interrupts
            interrupts += 1
            run.stop()

        with Interrupts(lambda: loop.call_soon_threadsafe(interrupted)):
            try:
                item = await asyncio.to_thread(next, self._items, _END)
            except asyncio.CancelledError:
                run.stop()
                raise
        if interrupts:
            raise RunInterrupted(run.name)
        if item is _END:
            raise StopAsyncIteration
        return item
