"""Events: one fact of a run each, in the order in which they happened.

Log flat, view as a tree: all events of a run fold into its `Transcript`
(`core.transcript`), and nothing else changes one. Events are discriminated by
`kind` and are JSON in and out.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from nbrunner.core.blocks import Block, Message, Value
from nbrunner.core.commands import By, Command
from nbrunner.core.edits import Edit
from nbrunner.core.note import Note
from nbrunner.core.tool_call import Display, Outcome, ToolCall, Verdict

Source: TypeAlias = Literal["live", "recorded", "scripted"]
"""Where the replies come from."""

StoppedBy: TypeAlias = str
"""Why a run ended: a `stop_reason` of the API, `max_iterations`, `person`, `error`."""


class Failure(Value):
    """A request that brought no whole reply.

    Attributes:
        kind: What failed: the API said no (`api`), nobody answered
            (`connection`), the reply broke off (`stream`), a person stopped it
            (`stopped`) or asked for another (`dropped`), the replies at hand did not
            fit (`replay`), our own check before the send (`history`).
        message: What was seen, as one or two sentences.
        advice: What to do, as one sentence.
        status: The HTTP status, where there was one.
        retryable: Whether the same request may succeed when sent again.
        partial: The blocks of the broken reply; shown, never history.
        calls: Calls of the broken reply that ran while it came (`run_tools_eagerly`);
            shown, never history.
    """

    kind: Literal[
        "api", "connection", "stream", "stopped", "dropped", "replay", "history"
    ]
    message: str
    advice: str
    status: int | None = None
    request_id: str | None = None
    retryable: bool = False
    partial: tuple[Block, ...] = ()
    calls: tuple[ToolCall, ...] = ()


class RunStarted(Value):
    """The loop began, or went on after an end."""

    kind: Literal["run_started"] = "run_started"
    source: Source


class Asked(Value):
    """Someone asked something of the run; it is done at the next safe point."""

    kind: Literal["asked"] = "asked"
    command: Command
    by: By


class Halted(Value):
    """The loop waits for a person: paused, or after a failed request.

    Attributes:
        reason: What made it pause by itself, in a few words; None where someone
            asked for the pause.
    """

    kind: Literal["halted"] = "halted"
    why: Literal["paused", "failed"]
    reason: str | None = None


class Resumed(Value):
    """The loop goes on."""

    kind: Literal["resumed"] = "resumed"


class EditApplied(Value):
    """An edit was made to the next request."""

    kind: Literal["edit_applied"] = "edit_applied"
    edit: Edit
    by: By


class EditRefused(Value):
    """An edit was not made, and why."""

    kind: Literal["edit_refused"] = "edit_refused"
    edit: Edit
    reason: str


class CommandRefused(Value):
    """A command could not be obeyed where the run stands, and why."""

    kind: Literal["command_refused"] = "command_refused"
    command: Command
    reason: str


class IterationStarted(Value):
    """A request went out: its first attempt, or another.

    The request itself follows from what came before: `Transcript.next_request`. To
    hold it here too would write the whole conversation with every iteration.

    Attributes:
        iteration: Its index, from 0.
        notes: The person's messages that went out with it.
        marks: Paths of the cache marks that went out with it.
        dropped_marks: Paths of the cache marks left out to keep within four.
    """

    kind: Literal["iteration_started"] = "iteration_started"
    iteration: int
    notes: tuple[Note, ...] = ()
    marks: tuple[str, ...] = ()
    dropped_marks: tuple[str, ...] = ()


class BlockStarted(Value):
    """A block of the streamed reply began."""

    kind: Literal["block_started"] = "block_started"
    iteration: int
    block: int
    content: Block


class BlockGrew(Value):
    """A block of the streamed reply grew by a piece.

    Attributes:
        block: The block's index in the reply.
        part: Which of its texts grew; `input` is a call's JSON, still incomplete.
        text: The piece.
    """

    kind: Literal["block_grew"] = "block_grew"
    iteration: int
    block: int
    part: Literal["text", "thinking", "input"]
    text: str


class CallProposed(Value):
    """A call is whole while the rest of its reply still comes (`run_tools_eagerly`).

    Without that, `ReplyFinished` brings all calls at once.

    Attributes:
        name: The tool that it asks for.
        input: The input that Claude proposes.
    """

    kind: Literal["call_proposed"] = "call_proposed"
    iteration: int
    call_id: str
    name: str
    input: Any


class ReplyFinished(Value):
    """A whole reply arrived. It is kept as it is."""

    kind: Literal["reply_finished"] = "reply_finished"
    iteration: int
    message: dict[str, Any]
    elapsed_s: float


class RequestFailed(Value):
    """A request brought no whole reply."""

    kind: Literal["request_failed"] = "request_failed"
    iteration: int
    failure: Failure


class ReplyDropped(Value):
    """A whole reply was dropped, to ask for another. Calls that ran have run."""

    kind: Literal["reply_dropped"] = "reply_dropped"
    iteration: int
    by: By


class CallAsked(Value):
    """A call waits for someone to decide whether it may run.

    Attributes:
        digest: Stands for its input; a decision names it, and so is about this input.
    """

    kind: Literal["call_asked"] = "call_asked"
    iteration: int
    call_id: str
    digest: str


class CallDecided(Value):
    """It was decided whether a call may run.

    Attributes:
        by: A person, their code, the approver that the run was given, or what was
            approved before for the rest of the run (`trust`).
        reason: Why it was rejected, as Claude reads it.
        for_rest: Whether every later call of this tool is approved too.
    """

    kind: Literal["call_decided"] = "call_decided"
    iteration: int
    call_id: str
    verdict: Verdict
    by: By | Literal["approver", "trust"]
    reason: str | None = None
    for_rest: bool = False


class RequestResent(Value):
    """The SDK sent a request once more by itself (its client's `max_retries`).

    Attributes:
        seen: What came of it the time before: an HTTP status, or a sentence.
    """

    kind: Literal["request_resent"] = "request_resent"
    iteration: int
    seen: str


class CallStarted(Value):
    """A tool began to run."""

    kind: Literal["call_started"] = "call_started"
    iteration: int
    call_id: str
    executed_input: Any


class CallPrinted(Value):
    """A running tool printed."""

    kind: Literal["call_printed"] = "call_printed"
    iteration: int
    call_id: str
    text: str


class CallDisplayed(Value):
    """A running tool displayed something.

    Attributes:
        clears: Whether what the call displayed before is gone.
    """

    kind: Literal["call_displayed"] = "call_displayed"
    iteration: int
    call_id: str
    display: Display
    clears: bool = False


class CallFinished(Value):
    """A call has its result: what Claude reads, and what the person sees.

    Attributes:
        content: The `content` of the `tool_result` block.
        traceback: The whole traceback, for the person; Claude sees `content`.
        elapsed_s: How long the tool ran; None where it did not run.
        remark: One sentence for the person where we changed what the SDK sends.
    """

    kind: Literal["call_finished"] = "call_finished"
    iteration: int
    call_id: str
    outcome: Outcome
    content: Any
    traceback: str | None = None
    elapsed_s: float | None = None
    remark: str | None = None


class ResultsFinished(Value):
    """All calls of a reply are answered, in one user message."""

    kind: Literal["results_finished"] = "results_finished"
    iteration: int
    message: Message


class Remarked(Value):
    """Something about an iteration that a person ought to know, as a sentence."""

    kind: Literal["remarked"] = "remarked"
    iteration: int
    remark: str


class Forked(Value):
    """Another run was made of this one, which goes on unchanged.

    Attributes:
        name: What the new run is called.
        at: The index of the first iteration that is its own.
    """

    kind: Literal["forked"] = "forked"
    name: str
    at: int


class RunHeld(Value):
    """The run is at its end, and is held open for a follow-up until a person ends it.

    Attributes:
        stopped_by: Why it would have ended, and will have if nothing follows.
    """

    kind: Literal["run_held"] = "run_held"
    stopped_by: StoppedBy


class RunFinished(Value):
    """The loop ended; the conversation can go on."""

    kind: Literal["run_finished"] = "run_finished"
    stopped_by: StoppedBy


Event: TypeAlias = Annotated[
    RunStarted
    | Asked
    | Halted
    | Resumed
    | EditApplied
    | EditRefused
    | CommandRefused
    | IterationStarted
    | BlockStarted
    | BlockGrew
    | CallProposed
    | ReplyFinished
    | RequestFailed
    | ReplyDropped
    | CallAsked
    | CallDecided
    | RequestResent
    | CallStarted
    | CallPrinted
    | CallDisplayed
    | CallFinished
    | ResultsFinished
    | Remarked
    | Forked
    | RunHeld
    | RunFinished,
    Field(discriminator="kind"),
]
