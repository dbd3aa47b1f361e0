"""Commands: what a person or their code can ask of a run, as values.

Anyone may ask at any time, from any thread; the loop takes the commands out of
its inbox at a safe point. Asking is itself an event, so the panel can show what
waits.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from nbrunner.core.blocks import JSON, Message, Value
from nbrunner.core.edits import Edit


class Inject(Value):
    """Send a message with the next request."""

    kind: Literal["inject"] = "inject"
    note_id: str
    text: str
    message: Message | None = None


class Withdraw(Value):
    """Take back a message that has not gone out yet."""

    kind: Literal["withdraw"] = "withdraw"
    note_id: str


class Submit(Value):
    """Make an edit to the next request.

    Attributes:
        edit_id: By which it is taken back while it waits.
    """

    kind: Literal["submit"] = "submit"
    edit: Edit
    edit_id: str = ""


class WithdrawEdit(Value):
    """Take back an edit that has not been made yet."""

    kind: Literal["withdraw_edit"] = "withdraw_edit"
    edit_id: str


class Pause(Value):
    """Halt before the next request."""

    kind: Literal["pause"] = "pause"


class Resume(Value):
    """Go on after a pause."""

    kind: Literal["resume"] = "resume"


class Step(Value):
    """Do one iteration, then halt again."""

    kind: Literal["step"] = "step"


class Stop(Value):
    """End here, in a state that can be continued."""

    kind: Literal["stop"] = "stop"


class Retry(Value):
    """Ask again: send a failed request again, or drop the last reply.

    Attributes:
        attempt: Which attempt is meant (`Iteration.attempt`); None is the newest. A
            click names it, so that a second one does not drop what the first brought.
    """

    kind: Literal["retry"] = "retry"
    attempt: str | None = None


class Decision(Value):
    """Base of what decides about a call.

    Attributes:
        call_id: The `tool_use` id.
        digest: Stands for the input that whoever decides has seen; None is whatever
            the call holds. Another input under the same id is not decided by it.
    """

    call_id: str
    digest: str | None = None


class Approve(Decision):
    """Let a call run.

    Attributes:
        input: The input it is to run with, where that is not the proposed one.
        is_modified: Whether `input` counts: null may be an input.
        for_rest: Let every later call of this tool run without asking.
    """

    kind: Literal["approve"] = "approve"
    input: Any = None
    is_modified: bool = False
    for_rest: bool = False


class Reject(Decision):
    """Do not let a call run; Claude reads the reason."""

    kind: Literal["reject"] = "reject"
    reason: str


class Answer(Decision):
    """Give a call its result by hand, in its tool's place."""

    kind: Literal["answer"] = "answer"
    content: JSON
    is_error: bool = False


Command: TypeAlias = Annotated[
    Inject
    | Withdraw
    | Submit
    | WithdrawEdit
    | Pause
    | Resume
    | Step
    | Stop
    | Retry
    | Approve
    | Reject
    | Answer,
    Field(discriminator="kind"),
]

By: TypeAlias = Literal["person", "code"]
"""Who asked: a click in the panel, or a line of Python."""
