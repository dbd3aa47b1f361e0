"""What people asked of the loop: paused, stepping, stopping, and their edits.

The driver asks here at its safe points what to do. Commands come from any thread,
through the inbox, and are obeyed in the driver's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from nbrunner.core.apply import try_on
from nbrunner.core.closing import awaits_results
from nbrunner.core.commands import (
    Answer,
    By,
    Command,
    Decision,
    Pause,
    Resume,
    Retry,
    Step,
    Stop,
    Submit,
)
from nbrunner.core.edits import EditResult, ToggleCache
from nbrunner.core.events import (
    CommandRefused,
    EditApplied,
    EditRefused,
    Halted,
    Resumed,
)
from nbrunner.errors import EditRefused as EditRefusal
from nbrunner.loop.decisions import Decisions
from nbrunner.loop.exits import StopAsked

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.core.blocks import Message
    from nbrunner.core.transcript import Iteration, Transcript
    from nbrunner.loop.inbox import Inbox
    from nbrunner.loop.ledger import Pen


class Controls:
    """Takes commands out of the inbox, obeys them, and knows what follows.

    Attributes:
        stopping: Whether the run is to end at its next safe point.
        dropping: Whether the reply in hand is to be dropped, to ask for another.
        dropped_by: Who asked for that.
        is_paused: Whether it is to wait there.
        decisions: What was decided about the calls in hand.
    """

    def __init__(self, inbox: Inbox, pen: Pen) -> None:
        self.stopping = self.dropping = self.is_paused = False
        self.dropped_by: By = "code"
        self.decisions = Decisions(pen)
        self._stepping = False
        self._early: list[tuple[Submit, By]] = []
        self._reason: str | None = None
        self._inbox, self._pen = inbox, pen

    def listen(self) -> None:
        """Obey what was asked since the last time."""
        with self._pen.held():
            commands = self._inbox.take()
            for command, by in commands:
                self._obey(command, by)
        if commands:
            # Of calls side by side another may wait for just what was decided.
            self._inbox.stir()

    def safe_point(self) -> None:
        """Obey what was asked; wait here while the run is paused.

        Raises:
            StopAsked: Someone asked the run to stop.
        """
        self.listen()
        self._edit_what_was_early()
        if self.stopping:
            raise StopAsked
        if self.is_paused:
            self.halt("paused")

    def halt(self, why: Literal["paused", "failed"]) -> None:
        """Wait until someone lets the run go on.

        Raises:
            StopAsked: Someone asked the run to stop.
        """
        self.is_paused = True
        reason, self._reason = self._reason, None
        self._pen.write(Halted(why=why, reason=reason))
        while self.is_paused:
            self._inbox.wait(unless=lambda: self._pen.is_taken)
            self.listen()
            if self.stopping:
                raise StopAsked
            asked = self._pen.transcript.asked
            if self.is_paused and any(isinstance(it, Pause) for it in asked):
                # Someone let it go on, and paused it again before it did: it waits on.
                self._pen.write(Halted(why=why, reason=reason))
        self._pen.write(Resumed())

    def break_for(self, reason: str) -> None:
        """Pause at the next safe point, for a reason that is shown."""
        self.listen()  # a "go on" from before this happened is not about it
        self.is_paused, self._reason = True, reason

    def hold(self) -> None:
        """Wait at the end of a run until a message or a command takes it further.

        Raises:
            StopAsked: Someone has finished it.
        """
        goes_on = False
        while not goes_on:
            self._inbox.wait(unless=lambda: self._pen.is_taken)
            with self._pen.held():
                commands = self._inbox.take()
                for command, by in commands:
                    self._obey(command, by)
                resumed = any(isinstance(it, Resume | Step) for it, _ in commands)
                resumed = resumed or self.dropping  # a retry asks for another reply
                goes_on = resumed or bool(self._pen.transcript.outgoing)
            if self.stopping:
                raise StopAsked
        self._pen.write(Resumed())

    def hand_in(self, iteration: Iteration, message: Message) -> None:
        """Keep results that code made: they stand for those of the tools."""
        with self._pen.held():
            self.decisions.hand_in(iteration, message)
        self._inbox.stir()  # a gate may wait for just that

    def wait_for_decision(
        self, call_id: str, ask_here: Callable[[], bool]
    ) -> Decision | None:
        """What was decided about a call that a person is asked about.

        None where the run is to stop, or to drop the reply, before anyone decided.

        Args:
            call_id: Which call.
            ask_here: Asks the person in this thread, in which nothing else can; False
                where they are asked otherwise.
        """
        while True:
            self.listen()
            made = self.decisions.of(call_id)
            if made is not None or self.stopping or self.dropping:
                return made
            if not ask_here():
                self._inbox.wait(unless=lambda: self._waits_in_vain(call_id))

    def _waits_in_vain(self, call_id: str) -> bool:
        is_decided = self.decisions.of(call_id) is not None
        return is_decided or self.stopping or self.dropping or self._pen.is_taken

    def step_done(self) -> None:
        """An iteration is over: halt before the next, if one step was asked for."""
        if self._stepping:
            self._stepping, self.is_paused = False, True

    def close(self) -> None:
        """The run ends: keep the edits and results that wait, and nothing else."""
        for command, by in self._inbox.take():
            if isinstance(command, Submit):
                self._edit(command, by)
            elif isinstance(command, Answer):
                self.decisions.obey(command, by)
        for command, _ in self._early:
            if command not in self._pen.transcript.asked:
                continue
            self._pen.write(EditRefused(edit=command.edit, reason=NO_RESULT_YET))

    def wake(self) -> None:
        """End a wait whose driver has been left."""
        self._inbox.stir()

    def _obey(self, command: Command, by: By) -> None:
        match command:
            case Pause():
                self.is_paused = True
            case Resume():
                self.is_paused = self._stepping = False
            case Retry():
                self._retry(command, by)
            case Step():
                self.is_paused, self._stepping = False, True
            case Stop():
                self.stopping = True
            case Submit():
                self._edit(command, by)
            case Decision():
                self.decisions.obey(command, by)
            case _:
                # A message waits in the transcript, where it can be withdrawn.
                return

    def _retry(self, command: Retry, by: By) -> None:
        transcript = self._pen.transcript
        if (reason := why_not_again(transcript, command.attempt)) is not None:
            self._pen.write(CommandRefused(command=command, reason=reason))
            return
        assert transcript.last is not None  # noqa: S101 - there is something to retry
        # A failed request is sent again anyway, once the run goes on.
        self.dropping, self.dropped_by = not transcript.last.has_failed, by
        self.is_paused = False

    def _edit_what_was_early(self) -> None:
        early, self._early = self._early, []
        for command, by in early:
            self._edit(command, by)

    def _edit(self, command: Submit, by: By) -> None:
        if command not in self._pen.transcript.asked:
            return  # it was taken back
        if self._is_early(command):
            self._early.append((command, by))
            return
        # Calls that still run have their place in it: theirs can be marked already.
        try:
            try_on(self._pen.transcript, command.edit, by=by)
        except EditRefusal as error:
            self._pen.write(EditRefused(edit=command.edit, reason=str(error)))
        else:
            self._pen.write(EditApplied(edit=command.edit, by=by))

    def _is_early(self, command: Submit) -> bool:
        """Whether the message that an edit changes is still in the making."""
        transcript, edit = self._pen.transcript, command.edit
        match edit:
            case EditResult(call_id=call_id):
                return awaits_results(transcript) or _is_coming(call_id, transcript)
            case ToggleCache(place=place):
                return _is_coming(place, transcript)
            case _:
                return False


def _is_coming(call_id: str, transcript: Transcript) -> bool:
    """Whether a call is one of a reply that still streams."""
    last = transcript.last
    return last is not None and last.is_awaited and last.call(call_id) is not None


def why_not_again(transcript: Transcript, attempt: str | None) -> str | None:
    """Why nothing can be asked again; None if there is a reply or a failure.

    Args:
        transcript: The run as it stands.
        attempt: Which attempt is meant; None is the newest.
    """
    if not transcript.own_iterations:
        return NOTHING_TO_RETRY
    is_newest = attempt in (None, transcript.own_iterations[-1].attempt)
    return None if is_newest else ASKED_AGAIN_ALREADY


NO_RESULT_YET = "The run ended before the result was there: edit it once more."
ASKED_AGAIN_ALREADY = "The run has moved on: that reply is not the newest any more."
NOTHING_TO_RETRY = "Nothing has been asked yet: there is no reply to ask for again."
