"""The places where the tools of a run run.

A plain tool runs in the run's own thread, a coroutine tool on an event loop, and a
tool that holds something of the notebook's thread (an open sqlite3 connection) on the
main thread. The gate asks the place of its tool to make the call.

The loop does not know the notebook: which event loop is the notebook's it is told
from above (`Run`).
"""

from __future__ import annotations

import contextlib
import signal
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from nbrunner.loop.affinity import affinity_of
from nbrunner.loop.errand import Errand, MustStop
from nbrunner.loop.event_loops import EventLoops
from nbrunner.loop.exits import Left

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator


Kind: TypeAlias = Literal["plain", "coroutine", "session"]
"""What a tool's function is; `session`: a coroutine of the notebook's loop only."""


class Place(Protocol):
    """Somewhere a call can be made."""

    @property
    def is_here(self) -> bool:
        """Whether the thread that asks is the only one that can make it."""

    def run(self, work: Callable[[], Any], must_stop: MustStop) -> Any:
        """Make the call there; returns what it returns, raises what it raises."""

    def advice(self, error: Exception, tool: str) -> str | None:
        """What to do about an error, if the place is what the tool did not bear."""


class Here:
    """The thread that asks, which is the run's own."""

    is_here = False

    def run(self, work: Callable[[], Any], _: MustStop) -> Any:
        """Make the call."""
        return work()

    def advice(self, error: Exception, tool: str) -> str | None:
        """Name the option that puts a tool on the main thread."""
        option = f'--main-thread {tool}, or Run(main_thread=["{tool}"])'
        match affinity_of(error):
            case "thread":
                return (
                    "It holds something of the notebook's own thread, and ran in the "
                    f"run's. Run it on the main thread: {option}."
                )
            case "loop":
                return (
                    "It needs the notebook's event loop, and ran in the run's thread. "
                    "Make it `async def` under @beta_async_tool, or run it on the main "
                    f"thread: {option}."
                )
            case _:
                return None


class MainThread:
    """The main thread, which makes calls on its event loop or while it waits."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: SimpleQueue[Errand | None] = SimpleQueue()

    @property
    def is_here(self) -> bool:
        """Whether this is the main thread: it drives the run, and serves nobody."""
        return threading.current_thread() is threading.main_thread()

    def follow(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Make calls on this loop from now on, those that wait already included."""
        self._loop = loop
        for _ in range(self._waiting.qsize()):
            self._call_soon()

    def run(self, work: Callable[[], Any], must_stop: MustStop) -> Any:
        """Make the call as soon as the main thread is free for it.

        Raises:
            NotBegun: The run was stopped before that.
        """
        if self.is_here:
            return work()
        errand = Errand(work, must_stop)
        self._waiting.put(errand)
        self._call_soon()
        return errand.result()

    def advice(self, _: Exception, __: str) -> str | None:
        """There is no better place than this."""
        return None

    def serve(self, timeout_s: float) -> None:
        """Make the next call, in a main thread that waits; come back in time if none.

        Raises:
            KeyboardInterrupt: The kernel was interrupted.
        """
        with contextlib.suppress(Empty):
            self._make(self._waiting.get(timeout=timeout_s))

    def stir(self) -> None:
        """End a `serve`: there may be nothing more to wait for."""
        self._waiting.put(None)

    def _call_soon(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it is closed
                self._loop.call_soon_threadsafe(self._serve_on_the_loop)

    def _serve_on_the_loop(self) -> None:
        # Past this callback an interrupt would end the kernel's loop.
        with contextlib.suppress(Empty, KeyboardInterrupt):
            while (errand := self._waiting.get_nowait()) is None:
                pass  # someone was stirred who no longer waits
            self._make(errand)

    def _make(self, errand: Errand | None) -> None:
        if errand is None or not errand.begin():
            return
        try:
            with _interruptible():
                errand.make()
        except KeyboardInterrupt as interrupt:
            errand.fail(interrupt)
            raise
        if errand.was_interrupted:
            raise KeyboardInterrupt


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let the kernel's interrupt reach the tool, besides whoever hears it now.

    While a cell awaits, a handler of ours hears it and does nothing but ask the event
    loop, which the tool keeps busy; between cells nobody hears it.
    """
    found: Any = signal.getsignal(signal.SIGINT)
    if found is None:  # not Python's, so it could not be put back
        yield
        return

    def interrupted(number: int, frame: Any) -> None:
        if callable(found):
            found(number, frame)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, found)


class OnALoop:
    """An event loop, which awaits the call."""

    is_here = False

    def __init__(self, loops: EventLoops, *, moves: bool) -> None:
        self._loops, self._moves = loops, moves

    def run(self, work: Callable[[], Any], must_stop: MustStop) -> Any:
        """Await the call, which is a coroutine function's."""
        return self._loops.run(work, must_stop, moves=self._moves)

    def advice(self, error: Exception, _: str) -> str | None:
        """Name the way to wait that leaves the notebook's loop free."""
        return self._loops.advice(error)


class Places:
    """Where each tool of a run runs.

    Args:
        on_main_thread: The names of the tools that run on the main thread.
    """

    def __init__(self, on_main_thread: frozenset[str] = frozenset()) -> None:
        self.main_thread = MainThread()
        self.loops = EventLoops()
        self._on_main_thread = on_main_thread

    def of(self, name: str, kind: Kind = "plain") -> Place:
        """The place of the tool of that name."""
        if kind != "plain":
            return OnALoop(self.loops, moves=kind == "coroutine")
        return self.main_thread if name in self._on_main_thread else Here()

    def follow(self, loop: asyncio.AbstractEventLoop | None, *, is_main: bool) -> None:
        """Take this for the notebook's event loop, and maybe for the main thread's."""
        self.loops.follow(loop)
        if is_main:
            self.main_thread.follow(loop)

    def leave(self) -> None:
        """Let go of the calls in hand: the run has been left."""
        self.loops.leave(Left())
