"""The driver: owns the conversation, and drives one SDK runner per iteration.

It asks its controls at safe points what people want, and takes one iteration after the
other through its phases until the run ends.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from nbrunner.core.closing import closing_events
from nbrunner.core.events import Event, RunFinished, RunHeld, RunStarted, Source
from nbrunner.loop.exits import Left, StopAsked
from nbrunner.loop.phases import Phases

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.core.transcript import Transcript


class Driver(Phases):
    """Drives a run from where its transcript stands to its next end.

    Args:
        source: Where the replies come from.
        max_iterations: How many replies one start asks for at most.
        hold: Whether the run stays open at its end.
        hold_on_failure: Whether it waits for a person after a request that failed.
        **of_an_iteration: What `Phases` takes.
    """

    def __init__(
        self,
        *,
        source: Source,
        max_iterations: int | None,
        hold: bool,
        hold_on_failure: bool,
        **of_an_iteration: Any,
    ) -> None:
        super().__init__(**of_an_iteration)
        self._source: Source = source
        self._max_iterations = max_iterations
        self._hold, self._hold_on_failure = hold, hold_on_failure

    def begin(self) -> None:
        """Write that the run goes on: from now on it can be stopped."""
        self._pen.write(RunStarted(source=self._source))

    def drive(self) -> None:
        """Run to the next end: Claude is done, a limit, a person, an error."""
        try:
            if self._exchange is not None and not self._goes_on_after(self.settle):
                return  # what the user's own loop left in hand
            while not self.has_ended():
                if not self._goes_on_after(self._iterate):
                    return
        except StopAsked:
            # Between the two someone may have left the run already.
            with contextlib.suppress(Left):
                self.finish("person")
        except Left:
            return
        except Exception:
            self.leave("error")
            raise
        except BaseException:  # noqa: BLE001 - a toolset was interrupted
            self.leave()
        finally:
            self._let_go()

    def _iterate(self) -> None:
        try:
            self.send()
            self.settle()
        finally:
            self._controls.step_done()

    def _goes_on_after(self, phase: Callable[[], None]) -> bool:
        """Go through a phase; False if it failed and that ended the run."""
        try:
            phase()
        except Exception:
            # A failed request is told, and waits for a person; all else is a bug.
            if not self._iteration.has_failed:
                raise
        if self._waits_after_failure() and not self._may_go_on():
            self.finish("error")
            return False
        return True

    def leave(self, stopped_by: str = "person") -> None:
        """Close what is open, and end: now, and from any thread.

        The driver's own thread may still be inside a tool that never returns; what
        it does from now on is not told.
        """

        def last_words() -> list[Event]:
            self._controls.close()
            # A run that is held open has its reason already.
            reason = self._transcript.stopped_by or stopped_by
            return closing_events(self._transcript, reason)

        self._pen.take(last_words)
        self._controls.wake()
        self.places.leave()

    def suspend(self, stopped_by: str) -> None:
        """End for now, with what is in hand: `begin()` goes on from there."""
        with self._pen.held():
            self._controls.listen()
            self.calm_down()
            self._pen.write(RunFinished(stopped_by=stopped_by))

    def calm_down(self) -> BaseException | None:
        """Forget that the run was to stop; returns what a tool raised, if one did."""
        broken_by, self.broken_by = self.broken_by, None
        self._controls.stopping = False
        return broken_by

    def listen(self) -> None:
        """Obey what was asked, without waiting for a safe point."""
        self._controls.listen()

    @property
    def has_left(self) -> bool:
        """Whether the run has ended for good, for this driver."""
        return self._pen.is_taken

    def step_done(self) -> None:
        """An iteration is over: halt before the next, if one step was asked for."""
        self._controls.step_done()

    def finish(self, stopped_by: str) -> None:
        """End the run, with nothing in hand."""
        with self._pen.held():
            self._controls.close()
            self._pen.take(lambda: [RunFinished(stopped_by=stopped_by)])

    def has_ended(self) -> bool:
        """Wait while paused; end the run if there is nothing more to do.

        Raises:
            StopAsked: Someone asked the run to stop.
        """
        while True:
            self._controls.safe_point()
            self._drop_if_asked()
            # One act: a message is either seen here, or asked of a run that has ended.
            with self._pen.held():
                reason = self._reason_to_end(self._transcript)
                if reason is None:
                    return False
                if not self._hold:
                    self.finish(reason)
                    return True
                self._pen.write(RunHeld(stopped_by=reason))
            if not self._is_taken_further():
                self.finish(reason)
                return True

    def _is_taken_further(self) -> bool:
        """Whether someone takes the run further that is held open at its end."""
        try:
            self._controls.hold()
        except StopAsked:
            return False
        self._started = 0  # what follows has the limit of a new start
        return True

    def _reason_to_end(self, transcript: Transcript) -> str | None:
        last = transcript.last
        if last is not None and not transcript.is_due:
            if transcript.compacts_next:
                return None
            return transcript.stop_reason or "end_turn"
        retries = last is not None and last.reply is None
        limit = self._max_iterations
        if limit is not None and self._started >= limit and not retries:
            return "max_iterations"
        return None

    def close(self) -> None:
        """End for good where it stands: what is open is closed and told."""
        self.leave()
        self._let_go()

    # -- after a failure ------------------------------------------------------

    def _waits_after_failure(self) -> bool:
        iteration = self._iteration
        return iteration.has_failed and iteration.failures[-1].kind != "dropped"

    def _may_go_on(self) -> bool:
        """After a failure: wait for a person, where one is there and it can help."""
        failure = self._iteration.failures[-1]
        if not (self._hold_on_failure and failure.retryable):
            return False
        try:
            self._controls.halt("failed")
        except StopAsked:
            return False
        return True
