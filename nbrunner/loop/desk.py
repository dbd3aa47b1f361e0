"""The desk of a run: what its gates ask for, and where they tell what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.loop.controls import Controls
from nbrunner.loop.displays import Catcher, nothing_caught
from nbrunner.loop.ledger import Ledger, Pen
from nbrunner.loop.side_by_side import SideBySide

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.core.commands import Decision
    from nbrunner.core.events import Event
    from nbrunner.core.transcript import Iteration, Transcript
    from nbrunner.loop._sdk import Exchange
    from nbrunner.loop.failed_calls import FailedCalls
    from nbrunner.loop.inbox import Inbox
    from nbrunner.loop.places import Places
    from nbrunner.loop.tracebacks import FrameName


class RunDesk:
    """Where the gates of a run's tools ask and tell (`Desk` is what they know of it).

    Attributes:
        iteration: The index of the iteration in hand, from 0.
        broken_by: What a tool raised that ended the loop: an interrupt, say.
        ahead: The calls that were begun side by side.
    """

    def __init__(  # noqa: PLR0913 - what the gates need of a run
        self,
        *,
        ledger: Ledger,
        inbox: Inbox,
        sdk_texts: bool,
        frame_name: FrameName,
        places: Places,
        failed_calls: FailedCalls,
        caught_displays: Catcher = nothing_caught,
        ask_here: Callable[[], bool] = lambda: False,
    ) -> None:
        self.iteration = 0
        self.failed_calls = failed_calls
        self.sdk_texts = sdk_texts
        self.frame_name = frame_name
        self.caught_displays = caught_displays
        self.places = places
        self.ahead = SideBySide({})
        self.broken_by: BaseException | None = None
        self._ask_here = ask_here
        self._pen = Pen(ledger)
        self._controls = Controls(inbox, self._pen)
        self._exchange: Exchange | None = None

    def write(self, event: Event) -> None:
        """Write an event, unless nobody waits for this driver any more."""
        self._pen.write(event)

    def call_id(self, call_input: object) -> str:
        """The id of the call whose input this is."""
        assert self._exchange is not None  # noqa: S101 - its reply made the call
        return self._exchange.call_id(call_input)

    def decision(self, call_id: str) -> Decision | None:
        """What was decided about a call; waits while a person is asked."""
        call = self._iteration.call(call_id)
        if call is not None and call.status == "asked":
            try:
                return self._controls.wait_for_decision(call_id, self._ask_here)
            except KeyboardInterrupt as error:
                # Past the SDK it would lose the results of calls that have run.
                self.stop_now(error)
                return None
        return self._controls.decisions.of(call_id)

    def must_stop(self) -> bool:
        """Whether what has not begun is to be left out."""
        self._controls.listen()
        return self._controls.stopping or self._controls.dropping

    def stop_now(self, because: BaseException | None = None) -> None:
        """Stop after the call in hand: a tool was interrupted, or the approver said so.

        Args:
            because: What a tool raised that no loop goes on after.
        """
        self.broken_by = because
        self._controls.stopping = True

    @property
    def _transcript(self) -> Transcript:
        return self._pen.transcript

    @property
    def _iteration(self) -> Iteration:
        return self._transcript.iterations[self.iteration]
