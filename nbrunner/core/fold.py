"""`fold(transcript, event) -> transcript`: how each event changes the picture.

Pure, and the only way a transcript changes.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from nbrunner.core import commands, edits, events
from nbrunner.core.apply import (
    marks_after,
    settings_after,
    tool_changes_of,
    with_messages_set,
    with_result_edited,
)
from nbrunner.core.asked import (
    asked_too,
    asked_without,
    asked_without_edit,
    still_asked,
)
from nbrunner.core.blocks import Block, tool_results, tool_uses
from nbrunner.core.changed import changed, with_iteration, with_messages
from nbrunner.core.compaction import is_summary
from nbrunner.core.fold_call import CallEvent, fold_call, with_edited_call
from nbrunner.core.given import given_too
from nbrunner.core.history import facts_of
from nbrunner.core.note import Note
from nbrunner.core.tool_call import ToolCall
from nbrunner.core.transcript import (
    DroppedReply,
    Iteration,
    RunStatus,
    Transcript,
)


def fold(transcript: Transcript, event: events.Event) -> Transcript:
    """The transcript after one more event."""
    return _fold(event, transcript)


@singledispatch
def _fold(event: Any, transcript: Transcript) -> Transcript:  # noqa: ARG001
    message = f"no fold for {type(event).__name__}"
    raise TypeError(message)


@_fold.register
def _(event: events.RunStarted, transcript: Transcript) -> Transcript:
    return changed(transcript, status="running", source=event.source, stopped_by=None)


@_fold.register
def _(event: events.Asked, transcript: Transcript) -> Transcript:
    command = event.command
    if isinstance(command, commands.Inject):
        note = Note(id=command.note_id, text=command.text, message=command.message)
        return changed(transcript, waiting=(*transcript.waiting, note), refused=None)
    if isinstance(command, commands.Withdraw):
        waiting = tuple(n for n in transcript.waiting if n.id != command.note_id)
        return changed(transcript, waiting=waiting, refused=None)
    if isinstance(command, commands.WithdrawEdit):
        left = tuple(
            c
            for c in transcript.asked
            if not (isinstance(c, commands.Submit) and c.edit_id == command.edit_id)
        )
        return changed(transcript, asked=left, refused=None)
    return changed(transcript, asked=asked_too(transcript, command), refused=None)


@_fold.register
def _(event: events.Halted, transcript: Transcript) -> Transcript:
    asked = still_asked(transcript)
    return changed(transcript, status=event.why, asked=asked, paused_for=event.reason)


@_fold.register
def _(event: events.RunHeld, transcript: Transcript) -> Transcript:
    asked = still_asked(transcript)
    return changed(transcript, status="held", stopped_by=event.stopped_by, asked=asked)


@_fold.register
def _(_: events.Resumed, transcript: Transcript) -> Transcript:
    asked = still_asked(transcript)
    return changed(
        transcript, status="running", stopped_by=None, asked=asked, paused_for=None
    )


@_fold.register
def _(event: events.EditApplied, transcript: Transcript) -> Transcript:
    edit = event.edit
    done = changed(transcript, asked=asked_without_edit(transcript, edit))
    match edit:
        case edits.ToggleCache():
            return changed(done, marks=marks_after(transcript.marks, edit))
        case edits.EditResult():
            messages = with_result_edited(transcript.messages, edit, transcript.sent)
            done = with_messages(done, messages)
            return with_edited_call(done, edit, event.by)
        case edits.SetMessages():
            messages = with_messages_set(transcript.messages, edit, transcript.sent)
            return with_messages(done, messages, sent=len(edit.messages))
        case edits.ChangeTools():
            changes = (*transcript.tool_changes, *tool_changes_of(edit))
            return changed(done, tool_changes=changes)
        case edits.Compact():
            return changed(done, compaction=edit.compaction)
        case _:
            return changed(done, settings=settings_after(transcript.settings, edit))


@_fold.register
def _(event: events.EditRefused, transcript: Transcript) -> Transcript:
    asked = asked_without_edit(transcript, event.edit)
    return changed(transcript, asked=asked, refused=(event.edit, event.reason))


@_fold.register
def _(event: events.CommandRefused, transcript: Transcript) -> Transcript:
    asked = asked_without(transcript.asked, event.command)
    return changed(transcript, asked=asked, refused=(event.command, event.reason))


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
    return changed(
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
    return with_iteration(transcript, event.iteration, blocks=blocks)


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
    return with_iteration(transcript, event.iteration, blocks=blocks)


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
    finished = with_iteration(
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
    return changed(
        finished,
        messages=(*transcript.messages, message),
        known=(*transcript.known, facts_of(message)),
        # The SDK's runner stays in the first container too.
        container=transcript.container or container,
    )


@_fold.register
def _(event: events.RequestFailed, transcript: Transcript) -> Transcript:
    failures = (*transcript.iterations[event.iteration].failures, event.failure)
    failed = with_iteration(
        transcript,
        event.iteration,
        blocks=(),
        tool_calls=(),
        given=None,
        failures=failures,
        has_failed=True,
    )
    return changed(failed, status=_no_longer_asking(transcript))


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
    without = with_iteration(
        transcript,
        event.iteration,
        reply=None,
        blocks=(),
        tool_calls=(),
        given=None,
        elapsed_s=None,
        dropped=(*iteration.dropped, dropped),
    )
    asked = still_asked(transcript)
    again = changed(without, asked=asked, stopped_by=None, status="running")
    if iteration.is_compaction:
        request = iteration.request
        before, sent = request.messages, len(request.messages)
        again = changed(again, sent=sent, compaction=request.compaction)
        return with_messages(again, before)
    return with_messages(again, transcript.messages[: transcript.sent])


_fold.register(CallEvent, fold_call)


@_fold.register
def _(event: events.RequestResent, transcript: Transcript) -> Transcript:
    resent = (*transcript.iterations[event.iteration].resent, event.seen)
    return with_iteration(transcript, event.iteration, resent=resent)


@_fold.register
def _(event: events.ResultsGiven, transcript: Transcript) -> Transcript:
    given = given_too(transcript.iterations[event.iteration].given, event.message)
    return with_iteration(transcript, event.iteration, given=given)


@_fold.register
def _(event: events.ResultsFinished, transcript: Transcript) -> Transcript:
    # The blocks are what Claude reads: the SDK mends broken unicode in them, and
    # answers the members of a toolset that follow one which failed.
    sent = {block["tool_use_id"]: block for block in tool_results(event.message)}
    calls = tuple(
        call.as_sent(sent.get(call.id))
        for call in transcript.iterations[event.iteration].tool_calls
    )
    answered = with_iteration(transcript, event.iteration, tool_calls=calls, given=None)
    return changed(
        answered,
        # A toolset's later members are not run once one failed, asked about or not.
        status=_no_longer_asking(transcript),
        messages=(*transcript.messages, event.message),
        known=(*transcript.known, facts_of(event.message)),
    )


@_fold.register
def _(event: events.Remarked, transcript: Transcript) -> Transcript:
    remarks = (*transcript.iterations[event.iteration].remarks, event.remark)
    return with_iteration(transcript, event.iteration, remarks=remarks)


@_fold.register
def _(event: events.Forked, transcript: Transcript) -> Transcript:
    return changed(transcript, branches=(*transcript.branches, event))


@_fold.register
def _(event: events.RunFinished, transcript: Transcript) -> Transcript:
    reason = event.stopped_by
    asked = still_asked(transcript)  # where the user's own loop is left for now
    return changed(
        transcript, status="finished", stopped_by=reason, asked=asked, paused_for=None
    )


def _compacted(transcript: Transcript, reply: dict[str, Any]) -> Transcript:
    """The transcript with the summary, if there is one, for its conversation."""
    done = changed(transcript, compaction=None)
    if not is_summary(reply):
        return done
    summary = {"role": "assistant", "content": reply["content"]}
    return with_messages(done, (summary,), sent=0)


def _no_longer_asking(transcript: Transcript) -> RunStatus:
    return "running" if transcript.status == "asking" else transcript.status
