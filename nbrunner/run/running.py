"""Running a branch: in a thread of its own, and the ways to wait for its end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any, Self

from nbrunner.cell_output import shown_while_blocking
from nbrunner.core.commands import By, Command, Stop
from nbrunner.core.events import Asked
from nbrunner.errors import RunInterrupted, UsageError, WaitInterrupted
from nbrunner.loop.driver import Driver
from nbrunner.loop.interrupts import Interrupts
from nbrunner.loop.worker import Worker
from nbrunner.presence import cell_name, is_headless, main_loop
from nbrunner.publisher import caught_displays
from nbrunner.run.showing import Showing

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from nbrunner.core.transcript import Transcript
    from nbrunner.loop.phases import Break


class Running(Showing):
    """A branch that can be started, waited for, and stopped."""

    def _set_out(self, transcript: Transcript) -> None:
        super()._set_out(transcript)
        self._worker: Worker | None = None
        self._is_iterated = self._is_closed = False

    @property
    def is_running(self) -> bool:
        """Whether the loop is at work, or waits for a person."""
        worker = self._worker
        at_work = self._is_iterated or (worker is not None and worker.is_running)
        return at_work and self.transcript.status != "finished"

    def start(self, *, then: Callable[[], object] | None = None) -> Self:
        """Run the loop in a thread of its own, or go on where it ended.

        Args:
            then: Called once when the run has ended, in the thread that ended it.

        Raises:
            UsageError: The run is at work already, or closed.
        """
        with self._ledger.lock:
            self._check_can_go_on()
            hold = self._hold and not is_headless()
            self._worker = Worker(self._left_driver() or self._new_driver(hold=hold))
            self._places.follow(main_loop(), is_main=True)
            self._worker.when_finished(self._places.main_thread.stir)
            if then is not None:
                self._worker.when_finished(then)
            self._worker.start()
        return self

    def when_finished(self, then: Callable[[], object]) -> None:
        """Call `then` at the run's next end, in the thread that ends it.

        It is called at once where the run is not at work.
        """
        if self._worker is None:
            then()
        else:
            self._worker.when_finished(then)

    def wait(self, timeout_s: float | None = None) -> Transcript:
        """Block until the run ends; starts it if nobody did.

        In a notebook's cell the run is shown below the cell meanwhile. A call that
        waits for a decision is asked about by `input()`: no click arrives while the
        thread is blocked.

        Args:
            timeout_s: How long to wait, in seconds; None is for ever. With a time
                limit nothing is shown: who waits in pieces would get many pages.

        Raises:
            TimeoutError: The time ran out; the run goes on.
            WaitInterrupted: The kernel was interrupted. The first interrupt stops the
                run at the next safe point, the second leaves at once. It is a
                KeyboardInterrupt.
        """
        worker = self._started()
        is_shown = timeout_s is None and worker.is_running
        shown = shown_while_blocking(self) if is_shown else contextlib.nullcontext()
        with shown, self._places.loops.blocked():
            self._block(worker, timeout_s)
        return self._outcome(worker)

    def _block(self, worker: Worker, timeout_s: float | None) -> None:
        meanwhile = self._serve_or_ask if _in_main_thread() else None
        interrupts = 0
        ended = False
        while not ended:
            try:
                # In here, since the next interrupt may come while it is obeyed.
                if interrupts:
                    self.stop(now=interrupts > 1)
                ended = worker.wait(timeout_s, meanwhile=meanwhile)
                if not ended:
                    message = f"{self.name} still runs after {timeout_s} s."
                    raise TimeoutError(message)
            except KeyboardInterrupt:
                interrupts += 1
        if interrupts:
            raise WaitInterrupted(self.name)

    def _serve_or_ask(self, at_most_s: float) -> None:
        if not self._ask_person():
            self._places.main_thread.serve(at_most_s)

    def __await__(self) -> Generator[Any, None, Transcript]:
        """Wait for the end and leave the event loop free: clicks arrive meanwhile."""
        return self._joined().__await__()

    async def _joined(self) -> Transcript:
        worker = self._started()
        loop = asyncio.get_running_loop()
        self._places.follow(loop, is_main=_in_main_thread())
        interrupts = 0

        def interrupted() -> None:
            nonlocal interrupts
            interrupts += 1
            self.stop(now=interrupts > 1)

        # From inside the handler itself a lock could be taken that the interrupted
        # code holds half way.
        with Interrupts(lambda: loop.call_soon_threadsafe(interrupted)):
            try:
                await worker.finished()
            except asyncio.CancelledError:
                self.stop()
                raise
        if interrupts:
            raise RunInterrupted(self.name)
        return self._outcome(worker)

    def _started(self) -> Worker:
        follows_up = bool(self.transcript.waiting) and not self.is_running
        if self._worker is None or follows_up:
            self.start()
        assert self._worker is not None  # noqa: S101 - start() made it
        return self._worker

    def _outcome(self, worker: Worker) -> Transcript:
        if worker.error is not None:
            raise worker.error
        return self.transcript

    def stop(self, *, now: bool = False, by: By = "code") -> None:
        """End at the next safe point, in a state that can go on.

        A tool that runs is not killed: Python cannot. Its result is awaited, unless
        `now` is true: then the run ends at once, the call is marked as interrupted,
        and its thread is left behind.
        """
        with self._ledger.lock:
            if not self.is_running:
                return
            self._ask(Stop(), by)
            if now and self._worker is not None:
                self._worker.leave()

    def close(self) -> None:
        """End the run for good, as the SDK's runner does; `stop()` ends it for now."""
        self.stop(now=True)
        self._is_closed = True

    def _check_can_go_on(self) -> None:
        if self._is_closed:
            raise UsageError(
                f"{self.name} is closed, and that is final. {self.name}.fork() makes a "
                "new run of its conversation."
            )
        if self.is_running:
            raise self._at_work()

    def _at_work(self) -> UsageError:
        return UsageError(
            f"{self.name} is running already. Wait for it with {self.name}.wait() or "
            f"`await {self.name}`, or stop it with {self.name}.stop()."
        )

    def _new_driver(self, *, hold: bool = False) -> Driver:
        self._places.follow(main_loop(), is_main=True)
        return Driver(
            ledger=self._ledger,
            inbox=self._inbox,
            client=self._client,
            tools=self._tools,
            source=self.source,
            frame_name=cell_name,
            failed_calls=self._failed_calls,
            caught_displays=caught_displays,
            places=self._places,
            error_break=self._break(asked=self._break_on_error),
            repeat_break=self._break(asked=self._break_on_repeats),
            hold=hold,
            someone_answers=lambda: not is_headless(),
            ask_here=self._ask_person,
            **self._driving,
        )

    def _ask_person(self) -> bool:
        """Ask about a call in this thread, which waits; False where that cannot be."""
        return False

    def _break(self, *, asked: bool) -> Break | None:
        if not asked:
            return None
        return "tell" if is_headless() else "pause"

    def _left_driver(self) -> Driver | None:
        """A driver that was left with a reply in hand; there is none here."""
        return None

    def _ask(self, command: Command, by: By) -> None:
        # One act: what is asked before a run's end is not left over for the next.
        with self._ledger.lock:
            self._ledger.write(Asked(command=command, by=by))
            self._inbox.put(command, by)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
