"""Running a branch: in a thread of its own, and the ways to wait for its end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from nbrunner.core.commands import By, Command, Stop
from nbrunner.core.events import Asked
from nbrunner.errors import RunInterrupted, UsageError, WaitInterrupted
from nbrunner.loop.driver import Driver
from nbrunner.loop.interrupts import Interrupts
from nbrunner.loop.worker import Worker
from nbrunner.presence import cell_name, is_headless
from nbrunner.publisher import caught_displays
from nbrunner.run.branch import Branch

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from nbrunner.core.transcript import Transcript


class Running(Branch):
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
            if then is not None:
                self._worker.when_finished(then)
            self._worker.start()
        return self

    def wait(self, timeout_s: float | None = None) -> Transcript:
        """Block until the run ends; starts it if nobody did.

        A call that waits for a decision is asked about by `input()`, in this cell or
        terminal: no click arrives while the thread is blocked.

        Args:
            timeout_s: How long to wait, in seconds; None is for ever.

        Raises:
            TimeoutError: The time ran out; the run goes on.
            WaitInterrupted: The kernel was interrupted. The first interrupt stops the
                run at the next safe point, the second leaves at once. It is a
                KeyboardInterrupt.
        """
        worker = self._started()
        interrupts = 0
        ended = False
        while not ended:
            try:
                # In here, since the next interrupt may come while it is obeyed.
                if interrupts:
                    self.stop(now=interrupts > 1)
                ended = worker.wait(timeout_s, self._ask_person)
                if not ended:
                    message = f"{self.name} still runs after {timeout_s} s."
                    raise TimeoutError(message)
            except KeyboardInterrupt:
                interrupts += 1
        if interrupts:
            raise WaitInterrupted(self.name)
        return self._outcome(worker)

    def __await__(self) -> Generator[Any, None, Transcript]:
        """Wait for the end and leave the event loop free: clicks arrive meanwhile."""
        return self._joined().__await__()

    async def _joined(self) -> Transcript:
        worker = self._started()
        loop = asyncio.get_running_loop()
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
            raise UsageError(
                f"{self.name} is running already. Wait for it with "
                f"{self.name}.wait() or `await {self.name}`, or stop it with "
                f"{self.name}.stop()."
            )

    def _new_driver(self, *, hold: bool = False) -> Driver:
        return Driver(
            ledger=self._ledger,
            inbox=self._inbox,
            client=self._client,
            tools=self._tools,
            source=self.source,
            frame_name=cell_name,
            caught_displays=caught_displays,
            hold=hold,
            someone_answers=lambda: not is_headless(),
            ask_here=self._ask_person,
            **self._driving,
        )

    def _ask_person(self) -> bool:
        """Ask about a call in this thread, which waits; False where that cannot be."""
        return False

    def _left_driver(self) -> Driver | None:
        """A driver that was left with a reply in hand; there is none here."""
        return None

    def _ask(self, command: Command, by: By) -> None:
        # One act: what is asked before a run's end is not left over for the next.
        with self._ledger.lock:
            self._ledger.write(Asked(command=command, by=by))
            self._inbox.put(command, by)
