"""What people asked of the loop: paused, stepping, stopping, and their edits.

The driver asks here at its safe points what to do. Commands come from any thread,
through the inbox, and are obeyed in the driver's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from nbrunner.core.commands import By, Command, Pause, Resume, Retry, Step, Stop, Submit
from nbrunner.core.edits import apply
from nbrunner.core.events import (
    CommandRefused,
    EditApplied,
    EditRefused,
    Halted,
    Resumed,
)
from nbrunner.errors import EditRefused as EditRefusal
from nbrunner.loop.exits import StopAsked

if TYPE_CHECKING:
    from nbrunner.loop.inbox import Inbox
    from nbrunner.loop.ledger import Pen


class Controls:
    """Takes commands out of the inbox, obeys them, and knows what follows.

    Attributes:
        stopping: Whether the run is to end at its next safe point.
        is_paused: Whether it is to wait there.
    """

    def __init__(self, inbox: Inbox, pen: Pen) -> None:
        self.stopping = self.is_paused = False
        self._stepping = False
        self._reason: str | None = None
        self._inbox, self._pen = inbox, pen

    def listen(self) -> None:
        """Obey what was asked since the last time."""
        with self._pen.held():
            for command, by in self._inbox.take():
                self._obey(command, by)

    def safe_point(self) -> None:
        """Obey what was asked; wait here while the run is paused.

        Raises:
            StopAsked: Someone asked the run to stop.
        """
        self.listen()
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
        self._pen.write(Resumed())

    def break_for(self, reason: str) -> None:
        """Pause at the next safe point, for a reason that is shown."""
        self.listen()  # a "go on" from before this happened is not about it
        self.is_paused, self._reason = True, reason

    def hold(self) -> None:
        """Wait at the end of a run until a message or `resume()` takes it further.

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
                goes_on = resumed or bool(self._pen.transcript.outgoing)
            if self.stopping:
                raise StopAsked
        self._pen.write(Resumed())

    def step_done(self) -> None:
        """An iteration is over: halt before the next, if one step was asked for."""
        if self._stepping:
            self._stepping, self.is_paused = False, True

    def close(self) -> None:
        """The run ends: make the edits that wait, and forget the other commands."""
        for command, by in self._inbox.take():
            if isinstance(command, Submit):
                self._edit(command, by)

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
                self._retry(command)
            case Step():
                self.is_paused, self._stepping = False, True
            case Stop():
                self.stopping = True
            case Submit():
                self._edit(command, by)
            case _:
                # A message waits in the transcript, where it can be withdrawn.
                return

    def _retry(self, command: Retry) -> None:
        last = self._pen.transcript.last
        if last is None or not last.has_failed:
            self._pen.write(CommandRefused(command=command, reason=NOTHING_FAILED))
            return
        self.is_paused = False

    def _edit(self, command: Submit, by: By) -> None:
        # Calls that still run have their place in it: theirs can be marked already.
        request = self._pen.transcript.next_request()
        try:
            edited = apply(request, command.edit, by=by)
        except EditRefusal as error:
            self._pen.write(EditRefused(edit=command.edit, reason=str(error)))
        else:
            self._pen.write(EditApplied(edit=command.edit, by=by, marks=edited.marks))


NOTHING_FAILED = "Nothing failed: only a failed request can be retried."
