"""The event loops that coroutine tools run on: the notebook's while it is free.

What a notebook opens with `await` (an MCP session, an HTTP client) belongs to the
notebook's loop. A wait that blocks that loop (`run.wait()`, a nested magic) would never
end if the tool were to run there, so it runs on nbrunner's own then.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any

from nbrunner.errors import LoopBlocked
from nbrunner.loop.affinity import affinity_of
from nbrunner.loop.daemon_loop import daemon_loop
from nbrunner.loop.errand import Errand, MustStop
from nbrunner.loop.exits import Moved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class EventLoops:
    """Where the coroutine tools of a run run."""

    def __init__(self) -> None:
        self._home: asyncio.AbstractEventLoop | None = None
        self._blocks = 0
        self._lock = threading.Lock()
        self._at_home: set[Errand] = set()
        self._open: set[Errand] = set()

    def follow(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Take this for the notebook's loop from now on."""
        self._home = loop

    @contextlib.contextmanager
    def blocked(self) -> Iterator[None]:
        """Tell that this thread waits, and with it the loop that runs in it."""
        if _loop_of_this_thread() is not self._home or self._home is None:
            yield
            return
        with self._lock:
            self._blocks += 1
            at_home = list(self._at_home)
        for errand in at_home:
            if not errand.withdraw(Moved()):
                errand.fail(LoopBlocked())
                errand.cancel(LoopBlocked())
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1

    def run(self, work: Callable[[], Any], must_stop: MustStop, *, moves: bool) -> Any:
        """Await the call on the notebook's loop, or on ours where that is not free.

        Args:
            work: A coroutine function.
            must_stop: Whether the run is to stop.
            moves: Whether ours will do.

        Raises:
            LoopBlocked: It would not, or the loop was blocked during the call.
        """
        errand = Errand(work, must_stop)
        with self._lock:
            home = self._free_home()
            if home is not None:
                self._at_home.add(errand)
        if home is not None:
            try:
                return self._awaited(errand, home)
            except Moved:
                errand = Errand(work, must_stop)
            finally:
                self._at_home.discard(errand)
        if not moves:
            raise LoopBlocked
        return self._awaited(errand, daemon_loop())

    def leave(self, why: BaseException) -> None:
        """Cancel the calls in hand: nobody waits for them any more."""
        for errand in list(self._open):
            errand.cancel(why)

    def advice(self, error: BaseException) -> str | None:
        """What to do about an error of a tool that belongs to another loop."""
        if affinity_of(error) != "loop":
            return None
        home = self._home
        if home is not None and home.is_running() and self._free_home() is None:
            return (
                "It holds something of the notebook's event loop, which the wait for "
                "the run blocks, so it ran on another. Wait with `await run`."
            )
        return (
            "It holds something of another event loop than the one it ran on. Open it "
            "inside the tool, or wait with `await run` on the loop it belongs to."
        )

    def _awaited(self, errand: Errand, loop: asyncio.AbstractEventLoop) -> Any:
        self._open.add(errand)
        try:
            errand.send_to(loop)
            return errand.result()
        finally:
            self._open.discard(errand)

    def _free_home(self) -> asyncio.AbstractEventLoop | None:
        home = self._home
        if home is None or self._blocks or not home.is_running():
            return None
        # The user's own `for message in run` runs the tools in the user's thread.
        return None if _loop_of_this_thread() is home else home


def _loop_of_this_thread() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
