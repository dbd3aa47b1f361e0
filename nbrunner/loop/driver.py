"""The driver: owns the conversation, and drives one SDK runner per iteration.

It takes commands out of the inbox at safe points, checks the request, sends it,
lets the gates run the calls, and writes every step into the ledger. It reads the
conversation back from there: the transcript is the only state a run has.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from nbrunner.core.closing import closing_events, stopped_failure
from nbrunner.core.commands import By, Command, Pause, Resume, Retry, Step, Stop, Submit
from nbrunner.core.edits import apply
from nbrunner.core.events import (
    BlockGrew,
    BlockStarted,
    CommandRefused,
    EditApplied,
    EditRefused,
    Event,
    Failure,
    Halted,
    IterationStarted,
    ReplyFinished,
    RequestFailed,
    ResultsFinished,
    Resumed,
    RunFinished,
    RunStarted,
    Source,
)
from nbrunner.core.request import with_notes, with_open_calls_closed
from nbrunner.core.validity import check
from nbrunner.errors import EditRefused as EditRefusal
from nbrunner.errors import InvalidHistory
from nbrunner.loop._sdk import REPLY_ERRORS, Exchange, Part, failure_of
from nbrunner.loop._tools import MissingTool, ToolBox
from nbrunner.loop.exits import Left, StopAsked

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.core.blocks import Message
    from nbrunner.core.transcript import Iteration, Transcript
    from nbrunner.loop.inbox import Inbox
    from nbrunner.loop.ledger import Ledger
    from nbrunner.loop.tracebacks import FrameName

_GOES_ON = ("tool_use", "pause_turn", "compaction")
"""The stop reasons after which the SDK's runner sends another request."""

_RESUMED_AS_IT_IS = ("pause_turn", "compaction")
"""The stop reasons after which nothing may be appended to the conversation."""

_CUT_OFF = "This call was cut off and not run: the reply ended with {reason}."


class Driver:
    """Drives a run from where its transcript stands to its next end.

    Attributes:
        iteration: The index of the iteration in hand, from 0.
    """

    def __init__(  # noqa: PLR0913 - the composition root of a loop
        self,
        *,
        ledger: Ledger,
        inbox: Inbox,
        client: Any,
        tools: ToolBox,
        source: Source,
        stream: bool,
        max_iterations: int | None,
        hold_on_failure: bool,
        sdk_texts: bool,
        frame_name: FrameName,
        paused: bool = False,
    ) -> None:
        self.iteration = 0
        self.sdk_texts = sdk_texts
        self.frame_name = frame_name
        self._ledger, self._inbox = ledger, inbox
        self._client, self._tools = client, tools
        self._source: Source = source
        self._stream, self._max_iterations = stream, max_iterations
        self._hold_on_failure = hold_on_failure
        self._paused, self._stepping, self._stopping = paused, False, False
        self._exchange: Exchange | None = None
        self._started = 0
        self._left = False
        self._gates = tools.gated(self)

    # -- the loop ------------------------------------------------------------

    def drive(self) -> None:
        """Run to the next end: Claude is done, a limit, a person, an error."""
        try:
            self._listen()
            self._stopping = False  # a stop that came after the last end is stale
            self.write(RunStarted(source=self._source))
            self.write(RunFinished(stopped_by=self._until_end()))
        except StopAsked:
            self.write(RunFinished(stopped_by="person"))
        except Left:
            return

    def _until_end(self) -> str:
        while True:
            self._safe_point()
            if (reason := self._end(self._transcript)) is not None:
                return reason
            self._iterate(self._transcript)
            if self._stepping:
                self._stepping, self._paused = False, True
            if self._iteration.has_failed and not self._may_go_on():
                return "error"

    def _end(self, transcript: Transcript) -> str | None:
        """Why the run is over where it stands, or None while there is more to do."""
        last = transcript.last
        if last is not None and last.reply is not None:
            goes_on = last.stop_reason in _GOES_ON and (
                last.stop_reason != "tool_use" or last.tool_calls
            )
            if not goes_on and not transcript.waiting:
                return last.stop_reason or "end_turn"
        if self._max_iterations is not None and self._started >= self._max_iterations:
            return "max_iterations"
        return None

    def _iterate(self, transcript: Transcript) -> None:
        last = transcript.last
        again = last is not None and last.reply is None
        self.iteration = len(transcript.iterations) - (1 if again else 0)
        body = self._begin()
        if not again:
            self._started += 1
        try:
            check(body, self.iteration)
            reply = self._read(body)
        except InvalidHistory as error:
            advice = "Mend the conversation; nothing was sent."
            self._fail(Failure(kind="history", message=str(error), advice=advice))
        except REPLY_ERRORS as error:
            self._fail(failure_of(error, self._iteration.blocks))
        except StopAsked:
            self._fail(stopped_failure(self._iteration))
            raise
        else:
            if reply["stop_reason"] == "tool_use":
                self._answer_calls()
        finally:
            if self._exchange is not None:
                self._exchange.close()

    def _begin(self) -> dict[str, Any]:
        """Put the request together and write that it goes out; returns its body."""
        with self._ledger.lock:
            transcript = self._transcript
            last = transcript.last
            messages = transcript.messages
            notes = transcript.waiting
            if last is not None and last.stop_reason in _RESUMED_AS_IT_IS:
                notes = ()
            elif last is not None:
                why = _CUT_OFF.format(reason=last.stop_reason)
                messages = with_open_calls_closed(messages, why)
            messages = with_notes(messages, [note.text for note in notes])
            request = transcript.next_request(messages)
            body, dropped = request.fitted()
            self.write(
                IterationStarted(
                    iteration=self.iteration,
                    request=request,
                    notes=notes,
                    dropped_marks=tuple(dropped),
                )
            )
        return body

    def _read(self, body: dict[str, Any]) -> Message:
        started = time.perf_counter()
        self._exchange = Exchange(self._client, body, self._gates, stream=self._stream)
        message = self._exchange.read(self._on_part)
        elapsed_s = time.perf_counter() - started
        self.write(
            ReplyFinished(
                iteration=self.iteration, message=message, elapsed_s=elapsed_s
            )
        )
        return message

    def _on_part(self, part: Part) -> None:
        self._listen()
        if self._stopping:
            raise StopAsked
        place = {"iteration": self.iteration, "block": part.block}
        if part.kind == "started":
            self.write(BlockStarted(**place, content=part.value))
        elif part.value:
            self.write(BlockGrew(**place, part=part.kind, text=part.value))

    def _answer_calls(self) -> None:
        if not self._iteration.tool_calls:
            return
        exchange = self._exchange
        assert exchange is not None  # noqa: S101 - a reply was read from it
        names = self._tools.names
        message = exchange.answer_calls(
            lambda name: MissingTool(name, names, self), set(names)
        )
        self.write(ResultsFinished(iteration=self.iteration, message=message))
        if self._stopping:
            raise StopAsked

    # -- failing and stopping ------------------------------------------------

    def _fail(self, failure: Failure) -> None:
        self.write(RequestFailed(iteration=self.iteration, failure=failure))

    def _may_go_on(self) -> bool:
        """After a failure: wait for a person, where one is there and it can help."""
        failure = self._iteration.failures[-1]
        if not (self._hold_on_failure and failure.retryable):
            return False
        self.write(Halted(why="failed"))
        try:
            self._wait(until=lambda command: isinstance(command, Retry | Resume | Step))
        except StopAsked:
            return False
        return True

    def leave(self) -> None:
        """Give up on a tool that does not return: close what is open, and end.

        Called from another thread. The worker may still be inside the tool; what
        it does from now on is not told.
        """
        with self._ledger.lock:
            if self._left:
                return
            for event in closing_events(self._transcript):
                self.write(event)
            self._left = True

    # -- commands ------------------------------------------------------------

    def _safe_point(self) -> None:
        """Obey what was asked; wait here while the run is paused."""
        self._listen()
        if self._stopping:
            raise StopAsked
        if self._paused:
            self.write(Halted(why="paused"))
            self._wait(until=lambda _: not self._paused)

    def _listen(self) -> None:
        for command, by in self._inbox.take():
            self._obey(command, by)

    def _wait(self, until: Callable[[Command], bool]) -> None:
        """Obey commands until one of them lets the run go on."""
        while True:
            for command, by in self._inbox.wait():
                self._obey(command, by)
                if self._stopping:
                    raise StopAsked
                if until(command):
                    self.write(Resumed())
                    return

    def _obey(self, command: Command, by: By) -> None:
        match command:
            case Pause():
                self._paused = True
            case Resume():
                self._paused = self._stepping = False
            case Retry():
                self._retry(command)
            case Step():
                self._paused, self._stepping = False, True
            case Stop():
                self._stopping = True
            case Submit():
                self._edit(command, by)
            case _:
                # A message waits in the transcript, where it can be withdrawn.
                return

    def _retry(self, command: Retry) -> None:
        last = self._transcript.last
        if last is None or not last.has_failed:
            reason = "Nothing failed: only a failed request can be retried."
            self.write(CommandRefused(command=command, reason=reason))
        self._paused = False

    def _edit(self, command: Submit, by: By) -> None:
        with self._ledger.lock:
            try:
                request = apply(self._transcript.next_request(), command.edit, by=by)
            except EditRefusal as error:
                self.write(EditRefused(edit=command.edit, reason=str(error)))
            else:
                self.write(EditApplied(edit=command.edit, by=by, marks=request.marks))

    # -- what the gates ask for ----------------------------------------------

    def write(self, event: Event) -> Transcript:
        """Write an event, unless nobody waits for this driver any more."""
        with self._ledger.lock:
            if self._left:
                raise Left
            return self._ledger.write(event)

    def call_id(self, call_input: object) -> str:
        """The id of the call whose input this is."""
        assert self._exchange is not None  # noqa: S101 - its reply made the call
        return self._exchange.call_id(call_input)

    def must_stop(self) -> bool:
        """Whether the calls that have not begun are to be left out."""
        self._listen()
        return self._stopping

    def stop_now(self) -> None:
        """Stop after the call in hand: a tool was interrupted."""
        self._stopping = True

    @property
    def _transcript(self) -> Transcript:
        return self._ledger.transcript

    @property
    def _iteration(self) -> Iteration:
        return self._transcript.iterations[self.iteration]
