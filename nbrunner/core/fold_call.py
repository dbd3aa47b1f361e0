"""How the events of a call change it, from its proposal to its end and its edits."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, TypeAlias

from nbrunner.core import commands, edits, events
from nbrunner.core.changed import changed, with_iteration
from nbrunner.core.tool_call import ToolCall
from nbrunner.core.transcript import Transcript

if TYPE_CHECKING:
    from nbrunner.core.tool_call import Display

MOST_DISPLAYS = 20
"""A tool that displays in a loop keeps the newest: a transcript is no film."""

CallEvent: TypeAlias = (
    events.CallProposed
    | events.CallAsked
    | events.CallDecided
    | events.CallStarted
    | events.CallPrinted
    | events.CallDisplayed
    | events.CallFinished
)


@singledispatch
def fold_call(event: Any, transcript: Transcript) -> Transcript:  # noqa: ARG001
    """The transcript after one more event of a call."""
    message = f"{type(event).__name__} is no event of a call"
    raise TypeError(message)


@fold_call.register
def _(event: events.CallProposed, transcript: Transcript) -> Transcript:
    call = ToolCall(id=event.call_id, name=event.name, input=event.input)
    calls = (*transcript.iterations[event.iteration].tool_calls, call)
    return with_iteration(transcript, event.iteration, tool_calls=calls)


@fold_call.register
def _(event: events.CallAsked, transcript: Transcript) -> Transcript:
    asking = changed(transcript, status="asking")
    return _with_call(asking, event, status="asked", digest=event.digest)


@fold_call.register
def _(event: events.CallDecided, transcript: Transcript) -> Transcript:
    decided = _with_call(
        transcript,
        event,
        status="proposed",
        verdict=event.verdict,
        decided_by=event.by,
        reason=event.reason,
    )
    asked = tuple(
        c
        for c in transcript.asked
        if not (isinstance(c, commands.Decision) and c.call_id == event.call_id)
    )
    return changed(
        decided,
        status="asking" if _is_asked(decided) else "running",
        asked=asked,
        trusted=_trusted(transcript, event),
    )


@fold_call.register
def _(event: events.CallStarted, transcript: Transcript) -> Transcript:
    return _with_call(
        transcript, event, status="running", executed_input=event.executed_input
    )


@fold_call.register
def _(event: events.CallPrinted, transcript: Transcript) -> Transcript:
    call = transcript.iterations[event.iteration].call(event.call_id)
    printed = (call.stdout if call else "") + event.text
    return _with_call(transcript, event, stdout=printed)


@fold_call.register
def _(event: events.CallDisplayed, transcript: Transcript) -> Transcript:
    call = transcript.iterations[event.iteration].call(event.call_id)
    before = call.displays if call and not event.clears else ()
    return _with_call(transcript, event, displays=_displayed(before, event.display))


@fold_call.register
def _(event: events.CallFinished, transcript: Transcript) -> Transcript:
    return _with_call(
        transcript,
        event,
        status=event.outcome,
        result=event.content,
        traceback=event.traceback,
        elapsed_s=event.elapsed_s,
        remark=event.remark,
    )


def with_edited_call(
    transcript: Transcript, edit: edits.EditResult, by: commands.By
) -> Transcript:
    """The transcript with a call whose result someone edited."""
    found = transcript.find_call(edit.call_id)
    if found is None:
        return transcript
    iteration, call = found
    changes = {"result": edit.content, "is_edited": True, "edited_by": by}
    if not call.is_edited:
        changes["returned"] = call.result
    if edit.is_error is not None:
        changes["reads_as_error"] = edit.is_error
    edited = call.model_copy(update=changes)
    calls = tuple(edited if c is call else c for c in iteration.tool_calls)
    return with_iteration(transcript, iteration.index, tool_calls=calls)


def _with_call(
    transcript: Transcript,
    event: CallEvent,
    **changes: Any,
) -> Transcript:
    calls = tuple(
        call.model_copy(update=changes) if call.id == event.call_id else call
        for call in transcript.iterations[event.iteration].tool_calls
    )
    return with_iteration(transcript, event.iteration, tool_calls=calls)


def _is_asked(transcript: Transcript) -> bool:
    last = transcript.last
    return last is not None and any(c.status == "asked" for c in last.tool_calls)


def _trusted(transcript: Transcript, event: events.CallDecided) -> tuple[str, ...]:
    call = transcript.iterations[event.iteration].call(event.call_id)
    if not event.for_rest or call is None or call.name in transcript.trusted:
        return transcript.trusted
    return (*transcript.trusted, call.name)


def _displayed(before: tuple[Display, ...], display: Display) -> tuple[Display, ...]:
    """The displays of a call after one more; a name stands for one display."""
    name = display.display_id
    if name is not None and any(shown.display_id == name for shown in before):
        return tuple(display if it.display_id == name else it for it in before)
    return (*before, display)[-MOST_DISPLAYS:]
