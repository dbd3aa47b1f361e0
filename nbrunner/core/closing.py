"""How a run that is left in the middle is closed, so that it can go on.

Every open call gets a result that says it was interrupted; a reply half read is
shown and dropped. Pure: a transcript in, the missing events out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.core.events import (
    CallFinished,
    Event,
    Failure,
    RequestFailed,
    ResultsFinished,
    RunFinished,
)

if TYPE_CHECKING:
    from nbrunner.core.blocks import Block
    from nbrunner.core.transcript import Iteration, ToolCall, Transcript

NOT_RUN = "This call was not run: the person stopped the run before it began."
INTERRUPTED = "This call was interrupted by the person, and its result is lost."


def closing_events(transcript: Transcript) -> list[Event]:
    """The events that end a run where it stands, its conversation valid."""
    finished = RunFinished(stopped_by="person")
    iteration = transcript.last
    if iteration is None or iteration.has_failed:
        return [finished]
    if iteration.reply is None:
        failure = stopped_failure(iteration)
        return [RequestFailed(iteration=iteration.index, failure=failure), finished]
    if not _awaits_results(transcript, iteration):
        return [finished]
    interrupted = [
        CallFinished(
            iteration=iteration.index,
            call_id=call.id,
            outcome="interrupted",
            content=_why(call),
        )
        for call in iteration.tool_calls
        if not call.is_answered
    ]
    message = {"role": "user", "content": [_result(c) for c in iteration.tool_calls]}
    results = ResultsFinished(iteration=iteration.index, message=message)
    return [*interrupted, results, finished]


def stopped_failure(iteration: Iteration) -> Failure:
    """What is shown of a reply that a person stopped half way."""
    return Failure(
        kind="stopped",
        message="You stopped the run while this reply was coming.",
        advice="Going on sends the same request again; no tool runs twice.",
        retryable=True,
        partial=iteration.blocks,
    )


def _awaits_results(transcript: Transcript, iteration: Iteration) -> bool:
    """Whether the reply's calls are still without their user message."""
    return (
        iteration.stop_reason == "tool_use"
        and bool(iteration.tool_calls)
        and transcript.messages[-1]["role"] == "assistant"
    )


def _why(call: ToolCall) -> str:
    return INTERRUPTED if call.status == "running" else NOT_RUN


def _result(call: ToolCall) -> Block:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
    if not call.is_answered:
        return {**block, "content": _why(call), "is_error": True}
    block["content"] = call.result
    return {**block, "is_error": True} if call.is_error else block
