"""The driver: owns the conversation, and drives one SDK runner per iteration.

It asks its controls at safe points what people want, checks the request, sends it,
lets the gates run the calls, and writes every step into the ledger. It reads the
conversation back from there: the transcript is the only state a run has.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from nbrunner.core.closing import closing_events, stopped_failure
from nbrunner.core.events import (
    BlockGrew,
    BlockStarted,
    Event,
    Failure,
    IterationStarted,
    ReplyFinished,
    RequestFailed,
    ResultsFinished,
    RunFinished,
    RunHeld,
    RunStarted,
    Source,
)
from nbrunner.core.transcript import SENT_BACK
from nbrunner.core.validity import check
from nbrunner.errors import InvalidHistory
from nbrunner.loop._sdk import Exchange, Part, failure_of
from nbrunner.loop._tools import MissingTool, ToolBox
from nbrunner.loop.controls import Controls
from nbrunner.loop.displays import Catcher, nothing_caught
from nbrunner.loop.exits import Left, StopAsked
from nbrunner.loop.ledger import Ledger, Pen

if TYPE_CHECKING:
    from nbrunner.core.blocks import Message
    from nbrunner.core.history import Facts
    from nbrunner.core.request import Fitted
    from nbrunner.core.transcript import Iteration, Transcript
    from nbrunner.loop.inbox import Inbox
    from nbrunner.loop.tracebacks import FrameName


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
        hold: bool,
        hold_on_failure: bool,
        sdk_texts: bool,
        frame_name: FrameName,
        caught_displays: Catcher = nothing_caught,
    ) -> None:
        self.iteration = 0
        self.sdk_texts = sdk_texts
        self.frame_name = frame_name
        self.caught_displays = caught_displays
        self._pen = Pen(ledger)
        self._controls = Controls(inbox, self._pen)
        self._client, self._tools = client, tools
        self._source: Source = source
        self._stream, self._max_iterations = stream, max_iterations
        self._hold, self._hold_on_failure = hold, hold_on_failure
        self._exchange: Exchange | None = None
        self._started = 0
        self._valid: list[Facts] = []
        self._gates = tools.gated(self)

    # -- the loop ------------------------------------------------------------

    def begin(self) -> None:
        """Write that the run goes on: from now on it can be stopped."""
        self._pen.write(RunStarted(source=self._source))

    def drive(self) -> None:
        """Run to the next end: Claude is done, a limit, a person, an error."""
        try:
            while not self._has_ended():
                self._iterate()
                self._controls.step_done()
                if self._iteration.has_failed and not self._may_go_on():
                    self._finish("error")
                    return
        except StopAsked:
            # Between the two someone may have left the run already.
            with contextlib.suppress(Left):
                self._finish("person")
        except Left:
            return
        except Exception:
            self.leave("error")
            raise
        except BaseException:  # noqa: BLE001 - a toolset was interrupted
            self.leave()

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

    def _finish(self, stopped_by: str) -> None:
        with self._pen.held():
            self._controls.close()
            self._pen.take(lambda: [RunFinished(stopped_by=stopped_by)])

    def _has_ended(self) -> bool:
        """Wait while paused; end the run if there is nothing more to do."""
        while True:
            self._controls.safe_point()
            # One act: a message is either seen here, or asked of a run that has ended.
            with self._pen.held():
                reason = self._reason_to_end(self._transcript)
                if reason is None:
                    return False
                if not self._hold:
                    self._finish(reason)
                    return True
                self._pen.write(RunHeld(stopped_by=reason))
            if not self._is_taken_further():
                self._finish(reason)
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
        if last is not None and last.reply is not None:
            reason = last.stop_reason
            calls_answered = reason == "tool_use" and bool(last.tool_calls)
            goes_on = calls_answered or reason in SENT_BACK
            if not goes_on and not transcript.waiting:
                return reason or "end_turn"
        retries = last is not None and last.reply is None
        limit = self._max_iterations
        if limit is not None and self._started >= limit and not retries:
            return "max_iterations"
        return None

    def _iterate(self) -> None:
        fitted = self._begin_iteration()
        try:
            check(fitted.body, self.iteration, fitted.known, self._valid)
            self._valid = fitted.known
            reply = self._read(fitted.body)
        except InvalidHistory as error:
            advice = "Mend the conversation; nothing was sent."
            self._fail(Failure(kind="history", message=str(error), advice=advice))
        except Exception as error:  # noqa: BLE001 - told as the failure it is
            self._fail(failure_of(error, self._iteration.blocks))
        except StopAsked:
            self._fail(stopped_failure(self._iteration))
            raise
        else:
            if reply.get("stop_reason") == "tool_use":
                self._answer_calls()
        finally:
            if self._exchange is not None:
                self._exchange.close()

    def _begin_iteration(self) -> Fitted:
        """Write that the next request goes out, or the last again; what it is."""
        with self._pen.held():
            transcript = self._transcript
            again = transcript.last is not None and transcript.last.reply is None
            self.iteration = len(transcript.iterations) - again
            self._started += not again
            fitted = transcript.next_request(transcript.outgoing).fitted()
            self._pen.write(
                IterationStarted(
                    iteration=self.iteration,
                    notes=transcript.outgoing,
                    marks=tuple(placed.path for placed in fitted.marks),
                    dropped_marks=tuple(fitted.dropped),
                )
            )
        return fitted

    def _read(self, body: dict[str, Any]) -> Message:
        started = time.perf_counter()
        self._exchange = Exchange(self._client, body, self._gates, stream=self._stream)
        message = self._exchange.read(self._on_part)
        elapsed_s = time.perf_counter() - started
        self._pen.write(
            ReplyFinished(
                iteration=self.iteration, message=message, elapsed_s=elapsed_s
            )
        )
        return message

    def _on_part(self, part: Part) -> None:
        if self.must_stop():
            raise StopAsked
        place = {"iteration": self.iteration, "block": part.block}
        if part.kind == "started":
            self._pen.write(BlockStarted(**place, content=part.value))
        elif part.value:
            self._pen.write(BlockGrew(**place, part=part.kind, text=part.value))

    def _answer_calls(self) -> None:
        if not self._iteration.tool_calls:
            return
        exchange = self._exchange
        assert exchange is not None  # noqa: S101 - a reply was read from it
        message = exchange.answer_calls(
            lambda name: MissingTool(name, self._tools, self), self._tools.answered
        )
        self._pen.write(ResultsFinished(iteration=self.iteration, message=message))

    # -- failing -------------------------------------------------------------

    def _fail(self, failure: Failure) -> None:
        self._pen.write(RequestFailed(iteration=self.iteration, failure=failure))

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

    # -- what the gates ask for ----------------------------------------------

    def write(self, event: Event) -> None:
        """Write an event, unless nobody waits for this driver any more."""
        self._pen.write(event)

    def call_id(self, call_input: object) -> str:
        """The id of the call whose input this is."""
        assert self._exchange is not None  # noqa: S101 - its reply made the call
        return self._exchange.call_id(call_input)

    def must_stop(self) -> bool:
        """Whether what has not begun is to be left out."""
        self._controls.listen()
        return self._controls.stopping

    def stop_now(self) -> None:
        """Stop after the call in hand: a tool was interrupted."""
        self._controls.stopping = True

    @property
    def _transcript(self) -> Transcript:
        return self._pen.transcript

    @property
    def _iteration(self) -> Iteration:
        return self._transcript.iterations[self.iteration]
