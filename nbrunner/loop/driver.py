"""The driver: owns the conversation, and drives one SDK runner per iteration.

It asks its controls at safe points what people want, checks the request, sends it,
lets the gates run the calls, and writes every step into the ledger. It reads the
conversation back from there: the transcript is the only state a run has.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nbrunner.core.closing import closing_events, dropped_failure, stopped_failure
from nbrunner.core.events import (
    BlockGrew,
    BlockStarted,
    Event,
    Failure,
    IterationStarted,
    Remarked,
    ReplyDropped,
    ReplyFinished,
    RequestFailed,
    RequestResent,
    ResultsFinished,
    RunFinished,
    RunHeld,
    RunStarted,
    Source,
)
from nbrunner.core.history import survey
from nbrunner.core.tool_changes import offered
from nbrunner.core.validity import check
from nbrunner.errors import InvalidHistory
from nbrunner.loop._sdk import Exchange, Part, failure_of
from nbrunner.loop.controls import Controls
from nbrunner.loop.displays import Catcher, nothing_caught
from nbrunner.loop.exits import Left, StopAsked
from nbrunner.loop.failed_calls import FailedCalls, failure_words
from nbrunner.loop.ledger import Ledger, Pen
from nbrunner.loop.repeated_calls import repetition_words
from nbrunner.loop.resends import Resends
from nbrunner.loop.rulings import Rulings
from nbrunner.loop.side_by_side import SideBySide, begun_together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nbrunner.core.blocks import Block, Message
    from nbrunner.core.commands import Decision
    from nbrunner.core.history import Facts
    from nbrunner.core.request import Fitted
    from nbrunner.core.transcript import Iteration, Transcript
    from nbrunner.loop._tools import ToolBox
    from nbrunner.loop.approval import Approver
    from nbrunner.loop.inbox import Inbox
    from nbrunner.loop.places import Places
    from nbrunner.loop.tracebacks import FrameName


Break: TypeAlias = Literal["pause", "tell"]
"""What to do when there is a reason to look: pause, or say so if nobody is there."""


class Driver:
    """Drives a run from where its transcript stands to its next end.

    Attributes:
        iteration: The index of the iteration in hand, from 0.
        broken_by: What a tool raised that ended the loop: an interrupt, say.
        made_by_code: Asked for the results of the reply in hand before its calls are
            run for them: the user's own loop may have them already.
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
        error_break: Break | None,
        repeat_break: Break | None,
        sdk_texts: bool,
        frame_name: FrameName,
        places: Places,
        parallel_calls: bool = False,
        failed_calls: FailedCalls,
        caught_displays: Catcher = nothing_caught,
        approver: Approver | None = None,
        someone_answers: Callable[[], bool] = lambda: True,
        ask_here: Callable[[], bool] = lambda: False,
    ) -> None:
        self.iteration = 0
        self.failed_calls = failed_calls
        self.sdk_texts = sdk_texts
        self.frame_name = frame_name
        self.caught_displays = caught_displays
        self.places = places
        self.ahead = SideBySide({})
        self._parallel_calls = parallel_calls
        self._pen = Pen(ledger)
        self._controls = Controls(inbox, self._pen)
        self._client = client.with_middleware(Resends(self._on_resent))
        self._tools = tools
        self._source: Source = source
        self._stream, self._max_iterations = stream, max_iterations
        self._hold, self._hold_on_failure = hold, hold_on_failure
        self._rulings = Rulings(
            approver, someone_answers, self._controls.decisions, self._pen, tools
        )
        self._ask_here = ask_here
        self._error_break, self._repeat_break = error_break, repeat_break
        self._exchange: Exchange | None = None
        self._started = 0
        self._sent_at = 0.0
        self.broken_by: BaseException | None = None
        self.made_by_code: Callable[[], Message | None] = lambda: None
        self._valid: list[Facts] = []

    # -- the loop ------------------------------------------------------------

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

    # -- one iteration -------------------------------------------------------

    @property
    def in_hand(self) -> Exchange | None:
        """The exchange whose reply is not settled yet."""
        return self._exchange

    def send(self) -> Any:
        """Send the next request, or the last again.

        Returns:
            What the SDK's runner hands out: a message, or a stream not read yet.

        Raises:
            Exception: What became of it otherwise; it is told, and the request can be
                sent again.
        """
        fitted = self._begin_iteration()
        with self.telling_of_failure():
            check(fitted.body, self.iteration, fitted.known, self._valid)
            self._valid = fitted.known
            sent = offered(fitted.body.get("tools", ()), fitted.known)
            gates = self._tools.gated(self, sent)
            exchange = Exchange(self._client, fitted.body, gates, stream=self._stream)
            self._exchange = exchange
            self._sent_at = time.perf_counter()
            return exchange.send()

    def read(self) -> None:
        """Read what is left of the reply in hand.

        Raises:
            Exception: The reply broke off; it is told, and can be asked for again.
        """
        exchange = self._exchange
        if exchange is None or exchange.reply is not None:
            return
        with self.telling_of_failure():
            message = exchange.read(self.note_part)
            elapsed_s = time.perf_counter() - self._sent_at
            self._pen.write(
                ReplyFinished(
                    iteration=self.iteration, message=message, elapsed_s=elapsed_s
                )
            )

    def answer(self, by_hand: Mapping[str, Block] | None = None) -> Message | None:
        """Run the calls of the reply in hand, once; None if it asks for none.

        Args:
            by_hand: Results that were made elsewhere, by call id: their tools do not
                run.

        Returns:
            The user message with the results, not part of the conversation yet.
        """
        self.read()
        exchange, iteration = self._exchange, self._iteration
        asks = iteration.stop_reason == "tool_use" and iteration.tool_calls
        if exchange is None or not asks:
            return None
        self._controls.listen()
        self._controls.answer_by_hand(iteration, by_hand or {})
        at_hand = self._offered_now(iteration)
        if not self._rulings.made_on(iteration, at_hand):
            self.stop_now()
        # Not those of the request: tools may have been added and removed since.
        gates = {
            name: self._tools.answering(name, self, at_hand) for name in exchange.named
        }
        # The user's own loop runs this in the user's thread, on the notebook's loop.
        with self.places.loops.blocked():
            calls = exchange.calls if self._parallel_calls else ()
            self.ahead = begun_together(gates.values(), calls)
            message = exchange.answer_calls(gates)
        self._controls.decisions.forget()
        return message

    def _offered_now(self, iteration: Iteration) -> list[Block]:
        """The tools of a request, with what was added and removed since."""
        request, pending = iteration.request, self._transcript.tool_changes
        known = survey(request.messages, request.known)
        return offered(request.settings.tools, known, pending)

    @property
    def is_compacting(self) -> bool:
        """Whether the iteration in hand asks for a summary and not for a reply."""
        return self._iteration.is_compaction

    def settle(self) -> None:
        """Be done with the reply in hand: run its calls, and keep their results."""
        if self._exchange is None:
            return
        self.read()
        self._controls.listen()
        drops = self._controls.dropping
        message = None if drops else self.made_by_code() or self.answer()
        if self._controls.dropping:
            self._drop_if_asked()
        elif message is not None:
            self._pen.write(ResultsFinished(iteration=self.iteration, message=message))
            self._break(failure_words(self._iteration), self._error_break)
            if self._repeat_break:  # all that came before is looked at
                self._break(repetition_words(self._transcript), self._repeat_break)
        self._let_go()

    def _drop_if_asked(self) -> None:
        """Drop the newest reply, if someone asked for another in its place."""
        if not self._controls.dropping:
            return
        self._controls.dropping = False
        self._controls.decisions.forget()
        self._let_go()
        last = self._transcript.last
        if last is not None and last.reply is not None:
            by = self._controls.dropped_by
            self._pen.write(ReplyDropped(iteration=last.index, by=by))

    def close(self) -> None:
        """End for good where it stands: what is open is closed and told."""
        self.leave()
        self._let_go()

    def _let_go(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None

    def _begin_iteration(self) -> Fitted:
        """Write that the next request goes out, or the last again; what it is."""
        with self._pen.held():
            transcript = self._transcript
            again = transcript.last is not None and transcript.last.reply is None
            self.iteration = len(transcript.iterations) - again
            request = transcript.next_request(transcript.outgoing)
            self._started += not again and request.compaction is None
            fitted = request.fitted()
            self._pen.write(
                IterationStarted(
                    iteration=self.iteration,
                    notes=transcript.outgoing,
                    marks=tuple(placed.path for placed in fitted.marks),
                    dropped_marks=tuple(fitted.dropped),
                )
            )
        return fitted

    def _on_resent(self, seen: str) -> None:
        if self.must_stop():
            raise StopAsked
        self._pen.write(RequestResent(iteration=self.iteration, seen=seen))

    def note_part(self, part: Part) -> None:
        """Tell of a piece of the reply.

        Raises:
            StopAsked: Someone asked the run to stop, or to ask again.
        """
        if self.must_stop():
            raise StopAsked
        place = {"iteration": self.iteration, "block": part.block}
        if part.kind == "started":
            self._pen.write(BlockStarted(**place, content=part.value))
        elif part.value:
            self._pen.write(BlockGrew(**place, part=part.kind, text=part.value))

    # -- failing -------------------------------------------------------------

    @contextlib.contextmanager
    def telling_of_failure(self) -> Iterator[None]:
        """Tell of what breaks the request in hand; it stays to be sent again."""
        try:
            yield
        except InvalidHistory as error:
            advice = "Mend the conversation; nothing was sent."
            self._fail(Failure(kind="history", message=str(error), advice=advice))
            raise
        except Exception as error:
            self._fail(failure_of(error, self._iteration.blocks))
            raise
        except StopAsked:
            if not self._controls.dropping:
                self._fail(stopped_failure(self._iteration))
                raise
            self._controls.dropping = False
            self._fail(dropped_failure(self._iteration))
        except (KeyboardInterrupt, SystemExit):
            # What broke a read off has broken the stream: it is asked for again.
            self._fail(stopped_failure(self._iteration))
            raise

    def _break(self, reason: str | None, how: Break | None) -> None:
        """Pause before the results go out, if there is a reason and that was asked."""
        if reason is None or how is None:
            return
        if how == "pause":
            self._controls.break_for(reason)
            return
        remark = f"{reason}; the run did not pause, since nobody is here to look."
        self._pen.write(Remarked(iteration=self.iteration, remark=remark))

    def _fail(self, failure: Failure) -> None:
        self._let_go()
        self._pen.write(RequestFailed(iteration=self.iteration, failure=failure))

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

    # -- what the gates ask for ----------------------------------------------

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
