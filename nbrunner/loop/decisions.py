"""What was decided about the calls of a reply, kept by call id until a gate asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from nbrunner.core.approval import digest
from nbrunner.core.commands import Answer, Approve, By, Decision, Reject
from nbrunner.core.events import CallAsked, CallDecided, CommandRefused
from nbrunner.core.schema import schema_of, why_unfit

if TYPE_CHECKING:
    from nbrunner.core.approval import Ruling
    from nbrunner.core.tool_call import ToolCall, Verdict
    from nbrunner.core.transcript import Iteration, Transcript
    from nbrunner.loop.ledger import Pen

NO_SUCH_CALL = "The newest reply has no call {call_id} that waits to run."
OTHER_INPUT = (
    "The input of {call_id} is not the one that this decision was about. Look at the "
    "call again, and decide about what it holds now."
)
UNFIT = "That input does not fit {name}: {why} The call still waits."
Decider: TypeAlias = By | Literal["approver", "trust"]


class Decisions:
    """Decisions about calls that have not begun, bound to the id and the input."""

    def __init__(self, pen: Pen) -> None:
        self._pen = pen
        self._made: dict[str, Decision] = {}

    def of(self, call_id: str) -> Decision | None:
        """What was decided about a call; None if nothing was."""
        return self._made.get(call_id)

    def forget(self) -> None:
        """The reply is done with: an id of it may come again for another call."""
        self._made.clear()

    def obey(self, command: Decision, by: By) -> None:
        """Keep a decision for its gate, or refuse it with the reason."""
        reason = why_not(command, self._pen.transcript)
        last = self._pen.transcript.last
        if reason is not None or last is None:
            reason = reason or NO_SUCH_CALL.format(call_id=command.call_id)
            self._pen.write(CommandRefused(command=command, reason=reason))
            return
        self.make(last, command, by)
        if isinstance(command, Approve) and command.for_rest:
            self._approve_rest(last, command.call_id, by)

    def _approve_rest(self, iteration: Iteration, call_id: str, by: By) -> None:
        """What else of that tool is asked about is approved with it."""
        name = next(c.name for c in iteration.tool_calls if c.id == call_id)
        for call in iteration.tool_calls:
            if call.name == name and call.status == "asked" and call.id != call_id:
                self.make(iteration, Approve(call_id=call.id), by)

    def rule(self, iteration: Iteration, call: ToolCall, ruling: Ruling) -> None:
        """Keep what the approver says; where it asks, a person is asked."""
        if ruling.says == "ask":
            asked = CallAsked(
                iteration=iteration.index, call_id=call.id, digest=digest(call.input)
            )
            self._pen.write(asked)
        elif ruling.says == "reject":
            decision = Reject(call_id=call.id, reason=ruling.reason)
            self.make(iteration, decision, "approver")
        elif ruling.says == "modify":
            decision_ = Approve(call_id=call.id, input=ruling.input, is_modified=True)
            self.make(iteration, decision_, "approver")
        else:
            self.make(iteration, Approve(call_id=call.id), "approver")

    def make(self, iteration: Iteration, decision: Decision, by: Decider) -> None:
        """Keep a decision for its gate, and tell of it."""
        self._made[decision.call_id] = decision
        self._pen.write(
            CallDecided(
                iteration=iteration.index,
                call_id=decision.call_id,
                verdict=_verdict(decision),
                by=by,
                reason=decision.reason if isinstance(decision, Reject) else None,
                for_rest=isinstance(decision, Approve) and decision.for_rest,
            )
        )


def why_not(decision: Decision, transcript: Transcript) -> str | None:
    """Why a decision cannot be made; None if it can.

    Args:
        decision: What was decided.
        transcript: The run as it stands.
    """
    last = transcript.last
    call = last.call(decision.call_id) if last else None
    if last is None or call is None or call.status not in ("proposed", "asked"):
        return NO_SUCH_CALL.format(call_id=decision.call_id)
    if decision.digest not in (None, digest(call.input)):
        return OTHER_INPUT.format(call_id=decision.call_id)
    if isinstance(decision, Approve) and decision.is_modified:
        tools = last.request.settings.tools
        unfit = why_unfit(decision.input, schema_of(call.name, tools))
        return UNFIT.format(name=call.name, why=unfit) if unfit else None
    return None


def _verdict(decision: Decision) -> Verdict:
    if isinstance(decision, Answer):
        return "answered"
    if isinstance(decision, Reject):
        return "rejected"
    modified = isinstance(decision, Approve) and decision.is_modified
    return "modified" if modified else "approved"
