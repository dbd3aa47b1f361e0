"""`fold(transcript, event) -> transcript`: how each event changes the picture.

Pure, and the only way a transcript changes. `model_copy` skips validation on
purpose: every part here is a value already, and a long run folds often.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from nbrunner.core import commands, edits, events
from nbrunner.core.apply import (
    marks_after,
    settings_after,
    tool_changes_of,
    with_messages_set,
    with_result_edited,
)
from nbrunner.core.blocks import Block, tool_results, tool_uses
from nbrunner.core.compaction import is_summary
from nbrunner.core.given import given_too
from nbrunner.core.history import facts_of, survey
from nbrunner.core.note import Note
from nbrunner.core.tool_call import Display, ToolCall
from nbrunner.core.transcript import (
    DroppedReply,
    Iteration,
    RunStatus,
    Transcript,
)

if TYPE_CHECKING:
    from nbrunner.core.edits import Edit

MOST_DISPLAYS = 20
"""A tool that displays in a loop keeps the newest: a transcript is no film."""


def fold(transcript: Transcript, event: events.Event) -> Transcript:
    """The transcript after one more event."""
    return _fold(event, transcript)


@singledispatch
def _fold(event: Any, transcript: Transcript) -> Transcript:  # noqa: ARG001
    message = f"no fold for {type(event).__name__}"
    raise TypeError(message)


@_fold.register
def _(event: events.RunStarted, transcript: Transcript) -> Transcript:
    return _with(transcript, status="running", source=event.source, stopped_by=None)


@_fold.register
def _(event: events.Asked, transcript: Transcript) -> Transcript:
    command = event.command
    if isinstance(command, commands.Inject):
        note = Note(id=command.note_id, text=command.text, message=command.message)
        return _with(transcript, waiting=(*transcript.waiting, note), refused=None)
    if isinstance(command, commands.Withdraw):
        waiting = tuple(n for n in transcript.waiting if n.id != command.note_id)
        return _with(transcript, waiting=waiting, refused=None)
    if isinstance(command, commands.WithdrawEdit):
        left = tuple(
            c
            for c in transcript.asked
            if not (isinstance(c, commands.Submit) and c.edit_id == command.edit_id)
        )
        return _with(transcript, asked=left, refused=None)
    return _with(transcript, asked=_with_asked(transcript, command), refused=None)


@_fold.register
def _(event: events.Halted, transcript: Transcript) -> Transcript:
    asked = _still_asked(transcript)
    return _with(transcript, status=event.why, asked=asked, paused_for=event.reason)


@_fold.register
def _(event: events.RunHeld, transcript: Transcript) -> Transcript:
    asked = _still_asked(transcript)
    return _with(transcript, status="held", stopped_by=event.stopped_by, asked=asked)


@_fold.register
def _(_: events.Resumed, transcript: Transcript) -> Transcript:
    asked = _still_asked(transcript)
    return _with(
        transcript, status="running", stopped_by=None, asked=asked, paused_for=None
    )


@_fold.register
def _(event: events.EditApplied, transcript: Transcript) -> Transcript:
    edit = event.edit
    done = _with(transcript, asked=_without_edit(transcript, edit))
    match edit:
        case edits.ToggleCache():
            return _with(done, marks=marks_after(transcript.marks, edit))
        case edits.EditResult():
            messages = with_result_edited(transcript.messages, edit, transcript.sent)
            done = _with_messages(done, messages)
            return _with_edited_call(done, edit, event.by)
        case edits.SetMessages():
            messages = with_messages_set(transcript.messages, edit, transcript.sent)
            return _with_messages(done, messages, sent=len(edit.messages))
        case edits.ChangeTools():
            changes = (*transcript.tool_changes, *tool_changes_of(edit))
            return _with(done, tool_changes=changes)
        case edits.Compact():
            return _with(done, compaction=edit.compaction)
        case _:
            return _with(done, settings=settings_after(transcript.settings, edit))


@_fold.register
def _(event: events.EditRefused, transcript: Transcript) -> Transcript:
    asked = _without_edit(transcript, event.edit)
    return _with(transcript, asked=asked, refused=(event.edit, event.reason))


@_fold.register
def _(event: events.CommandRefused, transcript: Transcript) -> Transcript:
    asked = _removed_once(transcript.asked, event.command)
    return _with(transcript, asked=asked, refused=(event.command, event.reason))


@_fold.register
def _(event: events.IterationStarted, transcript: Transcript) -> Transcript:
    sent = {note.id for note in event.notes}
    request = transcript.next_request(event.notes)
    known = transcript.iterations[event.iteration : event.iteration + 1]
    iteration = Iteration(
        index=event.iteration,
        request=request,
        notes=(*(known[0].notes if known else ()), *event.notes),
        marks=event.marks,
        attempts=known[0].attempts + 1 if known else 1,
        failures=known[0].failures if known else (),
        dropped=known[0].dropped if known else (),
        resent=known[0].resent if known else (),
        dropped_marks=event.dropped_marks,
    )
    return _with(
        transcript,
        messages=request.messages,
        known=request.known,
        sent=len(request.messages),
        iterations=(*transcript.iterations[: event.iteration], iteration),
        waiting=tuple(n for n in transcript.waiting if n.id not in sent),
        tool_changes=transcript.tool_changes if transcript.is_sent_back else (),
        asked=tuple(c for c in transcript.asked if c.kind not in ("retry", "resume")),
    )


@_fold.register
def _(event: events.BlockStarted, transcript: Transcript) -> Transcript:
    iteration = transcript.iterations[event.iteration]
    blocks = (*iteration.blocks[: event.block], event.content)
    return _with_iteration(transcript, event.iteration, blocks=blocks)


@_fold.register
def _(event: events.BlockGrew, transcript: Transcript) -> Transcript:
    iteration = transcript.iterations[event.iteration]
    key = "partial_json" if event.part == "input" else event.part
    block: Block = iteration.blocks[event.block]
    grown = {**block, key: (block.get(key) or "") + event.text}
    blocks = (
        *iteration.blocks[: event.block],
        grown,
        *iteration.blocks[event.block + 1 :],
    )
    return _with_iteration(transcript, event.iteration, blocks=blocks)


@_fold.register
def _(event: events.CallProposed, transcript: Transcript) -> Transcript:
    call = ToolCall(id=event.call_id, name=event.name, input=event.input)
    calls = (*transcript.iterations[event.iteration].tool_calls, call)
    return _with_iteration(transcript, event.iteration, tool_calls=calls)


@_fold.register
def _(event: events.ReplyFinished, transcript: Transcript) -> Transcript:
    content = event.message["content"]
    # Some may have run already, while the reply was coming.
    known = {
        call.id: call for call in transcript.iterations[event.iteration].tool_calls
    }
    calls = tuple(
        known.get(use["id"])
        or ToolCall(id=use["id"], name=use["name"], input=use["input"])
        for use in tool_uses(content)
    )
    finished = _with_iteration(
        transcript,
        event.iteration,
        reply=event.message,
        blocks=tuple(content),
        tool_calls=calls,
        elapsed_s=event.elapsed_s,
    )
    if finished.iterations[event.iteration].is_compaction:
        return _compacted(finished, event.message)
    container = (event.message.get("container") or {}).get("id")
    message = {"role": "assistant", "content": content}
    return _with(
        finished,
        messages=(*transcript.messages, message),
        known=(*transcript.known, facts_of(message)),
        # The SDK's runner stays in the first container too.
        container=transcript.container or container,
    )


@_fold.register
def _(event: events.RequestFailed, transcript: Transcript) -> Transcript:
    failures = (*transcript.iterations[event.iteration].failures, event.failure)
    failed = _with_iteration(
        transcript,
        event.iteration,
        blocks=(),
        tool_calls=(),
        given=None,
        failures=failures,
        has_failed=True,
    )
    return _with(failed, status=_no_longer_asking(transcript))


@_fold.register
def _(event: events.ReplyDropped, transcript: Transcript) -> Transcript:
    iteration = transcript.iterations[event.iteration]
    if iteration.reply is None:
        return transcript
    dropped = DroppedReply(
        reply=iteration.reply,
        tool_calls=iteration.tool_calls,
        request=iteration.request,
    )
    without = _with_iteration(
        transcript,
        event.iteration,
        reply=None,
        blocks=(),
        tool_calls=(),
        given=None,
        elapsed_s=None,
        dropped=(*iteration.dropped, dropped),
    )
    asked = _still_asked(transcript)
    again = _with(without, asked=asked, stopped_by=None, status="running")
    if iteration.is_compaction:
        request = iteration.request
        before, sent = request.messages, len(request.messages)
        again = _with(again, sent=sent, compaction=request.compaction)
        return _with_messages(again, before)
    return _with_messages(again, transcript.messages[: transcript.sent])


@_fold.register
def _(event: events.CallAsked, transcript: Transcript) -> Transcript:
    asking = _with(transcript, status="asking")
    return _with_call(asking, event, status="asked", digest=event.digest)


@_fold.register
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
    return _with(
        decided,
        status="asking" if _is_asked(decided) else "running",
        asked=asked,
        trusted=_trusted(transcript, event),
    )


@_fold.register
def _(event: events.RequestResent, transcript: Transcript) -> Transcript:
    resent = (*transcript.iterations[event.iteration].resent, event.seen)
    return _with_iteration(transcript, event.iteration, resent=resent)


@_fold.register
def _(event: events.CallStarted, transcript: Transcript) -> Transcript:
    return _with_call(
        transcript, event, status="running", executed_input=event.executed_input
    )


@_fold.register
def _(event: events.CallPrinted, transcript: Transcript) -> Transcript:
    call = transcript.iterations[event.iteration].call(event.call_id)
    printed = (call.stdout if call else "") + event.text
    return _with_call(transcript, event, stdout=printed)


@_fold.register
def _(event: events.CallDisplayed, transcript: Transcript) -> Transcript:
    call = transcript.iterations[event.iteration].call(event.call_id)
    before = call.displays if call and not event.clears else ()
    return _with_call(transcript, event, displays=_displayed(before, event.display))


@_fold.register
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


@_fold.register
def _(event: events.ResultsGiven, transcript: Transcript) -> Transcript:
    given = given_too(transcript.iterations[event.iteration].given, event.message)
    return _with_iteration(transcript, event.iteration, given=given)


@_fold.register
def _(event: events.ResultsFinished, transcript: Transcript) -> Transcript:
    # The blocks are what Claude reads: the SDK mends broken unicode in them, and
    # answers the members of a toolset that follow one which failed.
    sent = {block["tool_use_id"]: block for block in tool_results(event.message)}
    calls = tuple(
        call.as_sent(sent.get(call.id))
        for call in transcript.iterations[event.iteration].tool_calls
    )
    answered = _with_iteration(
        transcript, event.iteration, tool_calls=calls, given=None
    )
    return _with(
        answered,
        # A toolset's later members are not run once one failed, asked about or not.
        status=_no_longer_asking(transcript),
        messages=(*transcript.messages, event.message),
        known=(*transcript.known, facts_of(event.message)),
    )


@_fold.register
def _(event: events.Remarked, transcript: Transcript) -> Transcript:
    remarks = (*transcript.iterations[event.iteration].remarks, event.remark)
    return _with_iteration(transcript, event.iteration, remarks=remarks)


@_fold.register
def _(event: events.Forked, transcript: Transcript) -> Transcript:
    return _with(transcript, branches=(*transcript.branches, event))


@_fold.register
def _(event: events.RunFinished, transcript: Transcript) -> Transcript:
    reason = event.stopped_by
    asked = _still_asked(transcript)  # where the user's own loop is left for now
    return _with(
        transcript, status="finished", stopped_by=reason, asked=asked, paused_for=None
    )


def _compacted(transcript: Transcript, reply: dict[str, Any]) -> Transcript:
    """The transcript with the summary, if there is one, for its conversation."""
    done = _with(transcript, compaction=None)
    if not is_summary(reply):
        return done
    summary = {"role": "assistant", "content": reply["content"]}
    return _with_messages(done, (summary,), sent=0)


def _no_longer_asking(transcript: Transcript) -> RunStatus:
    return "running" if transcript.status == "asking" else transcript.status


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


def _with(transcript: Transcript, **changes: Any) -> Transcript:
    return transcript.model_copy(update=changes)


def _with_messages(
    transcript: Transcript, messages: tuple[Any, ...], **changes: Any
) -> Transcript:
    known = survey(messages, transcript.known)
    return _with(transcript, messages=messages, known=known, **changes)


def _with_edited_call(
    transcript: Transcript, edit: edits.EditResult, by: commands.By
) -> Transcript:
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
    return _with_iteration(transcript, iteration.index, tool_calls=calls)


def _with_iteration(transcript: Transcript, index: int, **changes: Any) -> Transcript:
    iterations = list(transcript.iterations)
    iterations[index] = iterations[index].model_copy(update=changes)
    return _with(transcript, iterations=tuple(iterations))


def _with_call(
    transcript: Transcript,
    event: events.CallAsked
    | events.CallDecided
    | events.CallStarted
    | events.CallPrinted
    | events.CallDisplayed
    | events.CallFinished,
    **changes: Any,
) -> Transcript:
    calls = tuple(
        call.model_copy(update=changes) if call.id == event.call_id else call
        for call in transcript.iterations[event.iteration].tool_calls
    )
    return _with_iteration(transcript, event.iteration, tool_calls=calls)


def _with_asked(
    transcript: Transcript, command: commands.Command
) -> tuple[commands.Command, ...]:
    """What waits, with one more command: of pause, go on and step the last counts."""
    if not isinstance(command, _PACE):
        return (*transcript.asked, command)
    others = tuple(c for c in transcript.asked if not isinstance(c, _PACE))
    goes_on_anyway = isinstance(command, commands.Resume) and (
        transcript.status == "running"
    )
    return others if goes_on_anyway else (*others, command)


_PACE = (commands.Pause, commands.Resume, commands.Step)


def _still_asked(transcript: Transcript) -> tuple[commands.Command, ...]:
    """What still waits once the loop has halted or gone on: edits only."""
    return tuple(c for c in transcript.asked if isinstance(c, commands.Submit))


def _without_edit(transcript: Transcript, edit: Edit) -> tuple[commands.Command, ...]:
    made = (
        c for c in transcript.asked if isinstance(c, commands.Submit) and c.edit == edit
    )
    # Of two that are equal the older one is made first.
    return _removed_once(transcript.asked, next(made, commands.Submit(edit=edit)))


def _removed_once(
    asked: tuple[commands.Command, ...], command: commands.Command
) -> tuple[commands.Command, ...]:
    if command not in asked:
        return asked
    place = asked.index(command)
    return (*asked[:place], *asked[place + 1 :])
