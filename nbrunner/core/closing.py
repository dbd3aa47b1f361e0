"""How a run that is left in the middle is closed, so that it can go on.

Every open call gets a result that says it was interrupted, unless one was given by
hand; a reply half read is shown and dropped. Pure: a transcript in, the missing events
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.blocks import tool_uses
from nbrunner.core.events import (
    CallFinished,
    Event,
    Failure,
    RequestFailed,
    ResultsFinished,
    RunFinished,
)
from nbrunner.core.given import given_by_id, with_given
from nbrunner.core.request import result_of

if TYPE_CHECKING:
    from nbrunner.core.blocks import Block
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Iteration, Transcript

NOT_RUN = "This call was not run: the run was stopped before it began."
INTERRUPTED = "This call was interrupted, and its result is lost."


def closing_events(transcript: Transcript, stopped_by: str = "person") -> list[Event]:
    """The events that end a run where it stands, its conversation valid."""
    finished = RunFinished(stopped_by=stopped_by)
    iteration = transcript.last
    if iteration is None:
        return [finished]
    if iteration.is_awaited:
        failure = stopped_failure(iteration)
        return [RequestFailed(iteration=iteration.index, failure=failure), finished]
    if not awaits_results(transcript):
        return [finished]
    calls = list(zip(tool_uses(iteration.blocks), iteration.tool_calls, strict=True))
    given = given_by_id(iteration.given)
    ended = [
        _end(iteration, call, given.get(call.id))
        for _, call in calls
        if not call.is_answered
    ]
    content = [_result(use, call) for use, call in calls]
    made = {"role": "user", "content": content}
    message = with_given(made, iteration.given)
    results = ResultsFinished(iteration=iteration.index, message=message)
    return [*ended, results, finished]


def stopped_failure(iteration: Iteration) -> Failure:
    """What is shown of a reply that a person stopped half way."""
    return Failure(
        kind="stopped",
        message="The run was stopped while this reply was coming.",
        advice=again_advice("Going on", iteration),
        retryable=True,
        partial=iteration.blocks,
        calls=calls_that_ran(iteration),
    )


def dropped_failure(iteration: Iteration) -> Failure:
    """What is shown of a reply that a person dropped while it was coming."""
    return Failure(
        kind="dropped",
        message="This reply was dropped while it was coming.",
        advice="The same request was sent again.",
        retryable=True,
        partial=iteration.blocks,
        calls=calls_that_ran(iteration),
    )


def again_advice(how: str, iteration: Iteration) -> str:
    """What sending a request again means, where its reply did not come whole.

    Args:
        how: What sends it again.
        iteration: Whose request.
    """
    ran = ", ".join(dict.fromkeys(call.name for call in calls_that_ran(iteration)))
    if not ran:
        return f"{how} sends the same request again; no tool runs twice."
    again = f"What ran already ({ran}) may run a second time."
    return f"{how} sends the same request again. {again}"


def calls_that_ran(iteration: Iteration) -> tuple[ToolCall, ...]:
    """The calls of a reply that were begun; one at work counts as interrupted."""
    return tuple(
        call
        if call.is_answered
        else call.model_copy(update={"status": "interrupted", "result": INTERRUPTED})
        for call in iteration.tool_calls
        if call.has_begun
    )


def awaits_results(transcript: Transcript) -> bool:
    """Whether the last reply's calls are still without their user message."""
    last = transcript.last
    return (
        last is not None
        and last.stop_reason == "tool_use"
        and bool(last.tool_calls)
        and transcript.messages[-1]["role"] == "assistant"
    )


def _end(iteration: Iteration, call: ToolCall, given: Block | None) -> CallFinished:
    """How a call ends that is open: it has what was given for it, or nothing."""
    place = {"iteration": iteration.index, "call_id": call.id}
    if given is not None:
        return CallFinished(**place, outcome="answered", content=given.get("content"))
    return CallFinished(**place, outcome="interrupted", content=_why(call))


def _why(call: ToolCall) -> str:
    return INTERRUPTED if call.status == "running" else NOT_RUN


def _result(use: Block, call: ToolCall) -> Block:
    if not call.is_answered:
        return result_of(use, _why(call), is_error=True)
    return result_of(use, call.result, is_error=call.is_error)
