"""The phases of one iteration: send, read, answer, settle.

Each writes what happens into the ledger, and reads the conversation back from there:
the transcript is the only state a run has.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nbrunner.core.closing import dropped_failure, stopped_failure
from nbrunner.core.events import (
    BlockGrew,
    BlockStarted,
    CallProposed,
    Failure,
    IterationStarted,
    Remarked,
    ReplyDropped,
    ReplyFinished,
    RequestFailed,
    RequestResent,
    ResultsFinished,
)
from nbrunner.core.given import with_given
from nbrunner.core.history import survey
from nbrunner.core.tool_changes import offered
from nbrunner.core.validity import check
from nbrunner.errors import InvalidHistory
from nbrunner.loop._failures import failure_of
from nbrunner.loop._sdk import Exchange, Part
from nbrunner.loop.desk import RunDesk
from nbrunner.loop.exits import StopAsked
from nbrunner.loop.failed_calls import failure_words
from nbrunner.loop.repeated_calls import repetition_words
from nbrunner.loop.resends import Resends
from nbrunner.loop.rulings import Rulings
from nbrunner.loop.side_by_side import begun_together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbrunner.core.blocks import Block, Message
    from nbrunner.core.history import Facts
    from nbrunner.core.request import Fitted
    from nbrunner.core.transcript import Iteration
    from nbrunner.loop._tools import ToolBox
    from nbrunner.loop.approval import Approver


Break: TypeAlias = Literal["pause", "tell"]
"""What to do when there is a reason to look: pause, or say so if nobody is there."""


class Phases(RunDesk):
    """Takes an iteration through its phases.

    Args:
        client: The SDK's client.
        tools: What can run.
        stream: Whether replies are streamed.
        eager: Whether calls run while their reply streams.
        error_break: What to do when a call failed.
        repeat_break: What to do when replies make the same call again and again.
        parallel_calls: Whether the calls of a reply are made side by side.
        approver: Who rules on calls; None lets all run.
        someone_answers: Whether a person can be asked.
        **of_the_desk: What `RunDesk` takes.

    Attributes:
        made_by_code: Asked for the results of the reply in hand before its calls are
            run for them: the user's own loop may have them already.
    """

    def __init__(  # noqa: PLR0913 - what an iteration needs of a run
        self,
        *,
        client: Any,
        tools: ToolBox,
        stream: bool,
        eager: bool,
        error_break: Break | None,
        repeat_break: Break | None,
        parallel_calls: bool = False,
        approver: Approver | None = None,
        someone_answers: Callable[[], bool] = lambda: True,
        **of_the_desk: Any,
    ) -> None:
        super().__init__(**of_the_desk)
        self._client = client.with_middleware(Resends(self._on_resent))
        self._tools, self._stream, self._eager = tools, stream, eager
        self._parallel_calls = parallel_calls
        self._rulings = Rulings(
            approver, someone_answers, self._controls.decisions, self._pen, tools
        )
        self._error_break, self._repeat_break = error_break, repeat_break
        self._started = 0
        self._sent_at = 0.0
        self._holds_rest = False
        self.made_by_code: Callable[[], Message | None] = lambda: None
        self._valid: list[Facts] = []

    @property
    def in_hand(self) -> Exchange | None:
        """The exchange whose reply is not settled yet."""
        # What was left is closed, though its thread may still be inside a tool.
        return None if self._pen.is_taken else self._exchange

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
            how = {"stream": self._stream, "eager": self._eager}
            exchange = Exchange(self._client, fitted.body, gates, **how)
            self._exchange, self._holds_rest = exchange, False
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
            message = exchange.read(self._note_part)
            elapsed_s = time.perf_counter() - self._sent_at
            self._pen.write(
                ReplyFinished(
                    iteration=self.iteration, message=message, elapsed_s=elapsed_s
                )
            )

    def hand_in(self, message: Message) -> None:
        """Keep results of the reply in hand that were made elsewhere."""
        self._controls.hand_in(self._iteration, message)

    def answer(self) -> Message | None:
        """Run the calls of the reply in hand, once; None if it asks for none.

        Returns:
            The user message with the results, not part of the conversation yet.
        """
        self.read()
        exchange, iteration = self._exchange, self._iteration
        asks = iteration.stop_reason == "tool_use" and iteration.tool_calls
        if exchange is None or not asks:
            return None
        self._controls.listen()
        at_hand = self._offered_now(iteration)
        if self._holds_rest or not self._rulings.made_on(iteration, at_hand):
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
        return with_given(message, self._iteration.given)

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

    def hear(self, event: Any) -> None:
        """Tell of a stream event that the user's own loop has read.

        Raises:
            StopAsked: Someone asked the run to stop, or to ask again.
        """
        exchange = self._exchange
        if exchange is not None and (part := exchange.part_of(event)) is not None:
            self._note_part(part)

    def _note_part(self, part: Part) -> None:
        if self.must_stop():
            raise StopAsked
        place = {"iteration": self.iteration, "block": part.block}
        if part.kind == "started":
            self._pen.write(BlockStarted(**place, content=part.value))
        elif part.kind == "call":
            self._propose(part.value)
        elif part.value:
            self._pen.write(BlockGrew(**place, part=part.kind, text=part.value))

    def _propose(self, use: Block) -> None:
        """Let a call run that is whole while its reply still streams, or hold it.

        Whom a person is asked about, and what follows once the approver has said
        stop, waits until the reply is whole.
        """
        iteration, call_id, name = self.iteration, use["id"], use["name"]
        self._pen.write(
            CallProposed(
                iteration=iteration, call_id=call_id, name=name, input=use["input"]
            )
        )
        exchange = self._exchange
        assert exchange is not None  # noqa: S101 - its reply made the call
        at_hand = self._offered_now(self._iteration)
        gate = self._tools.answering(name, self, at_hand)
        if not use.get("toolset_name") and gate is not None:
            exchange.take_gate(gate)
        goes_on = not self._holds_rest and self._rulings.made_on(
            self._iteration, at_hand
        )
        self._holds_rest = not goes_on
        call = self._iteration.call(call_id)
        if self._holds_rest or (call is not None and call.status == "asked"):
            exchange.hold(call_id)

    # -- failing ------------------------------------------------------------

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
            self._fail(failure_of(error, self._iteration))
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
        self._controls.decisions.forget()
        self._pen.write(RequestFailed(iteration=self.iteration, failure=failure))
