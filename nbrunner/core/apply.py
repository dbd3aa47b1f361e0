"""`apply(request, edit) -> request`: how each edit changes the next request.

Pure. An edit that the API's rules forbid is refused with the reason, so that a click
can say in place why nothing happened.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, TypeAlias

from nbrunner.core import edits
from nbrunner.core.blocks import Block, Message, content_of, is_empty_text, text_of
from nbrunner.core.caching import MAX_MARKS, UNMARKABLE, Mark, too_late
from nbrunner.core.compaction import has_compaction_edit
from nbrunner.core.history import survey
from nbrunner.core.request import NAMED_SETTINGS, Request, Settings, address_of
from nbrunner.core.tool_changes import addition_of, removal_of, with_tool_changes
from nbrunner.errors import EditRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbrunner.core.history import Facts
    from nbrunner.core.transcript import Transcript


SettingsEdit: TypeAlias = edits.SetSystem | edits.SetTools | edits.SetParams


def apply(request: Request, edit: edits.Edit, *, by: str = "person") -> Request:
    """The request with the edit made.

    Args:
        request: The next request.
        edit: What to change.
        by: "person" for a click, which never pushes a cache mark out; "code" for a
            line of Python, whose fifth mark makes the oldest give way at send.

    Raises:
        EditRefused: What it names is not there or has gone out already, or the API
            would refuse what would come of it.
    """
    return _apply(edit, request, by)


def try_on(transcript: Transcript, edit: edits.Edit, *, by: str) -> None:
    """See whether a run as it stands takes the edit.

    Raises:
        EditRefused: It does not; as `apply` says.
    """
    if isinstance(edit, edits.EditResult):
        # Not of the next request: what answers a call that was cut off is made at
        # send, and is no result yet.
        with_result_edited(transcript.messages, edit, transcript.sent, transcript.known)
    else:
        apply(transcript.next_request(), edit, by=by)


@singledispatch
def _apply(edit: Any, request: Request, by: str) -> Request:  # noqa: ARG001
    message = f"no way to apply {type(edit).__name__}"
    raise TypeError(message)


@_apply.register(edits.SetSystem | edits.SetTools | edits.SetParams)
def _(edit: SettingsEdit, request: Request, by: str) -> Request:  # noqa: ARG001
    if isinstance(edit, edits.SetParams):
        for name in NAMED_SETTINGS:
            if name in edit.params and edit.params[name] is None:
                raise EditRefused.cannot_be_off(name)
    settings = settings_after(request.settings, edit)
    return request.model_copy(update={"settings": settings})


@_apply.register
def _(edit: edits.EditResult, request: Request, by: str) -> Request:  # noqa: ARG001
    messages = with_result_edited(request.messages, edit, request.sent, request.known)
    return request.model_copy(update={"messages": messages})


@_apply.register
def _(edit: edits.SetMessages, request: Request, by: str) -> Request:  # noqa: ARG001
    messages = with_messages_set(request.messages, edit, request.sent)
    return request.model_copy(
        update={"messages": messages, "sent": len(edit.messages)},
    )


@_apply.register
def _(edit: edits.ChangeTools, request: Request, by: str) -> Request:  # noqa: ARG001
    messages = with_tool_changes(request.messages, tool_changes_of(edit))
    return request.model_copy(update={"messages": messages})


@_apply.register
def _(edit: edits.Compact, request: Request, by: str) -> Request:  # noqa: ARG001
    if edit.compaction is not None and has_compaction_edit(request.settings.params):
        raise EditRefused.compacts_already()
    return request.model_copy(update={"compaction": edit.compaction})


@_apply.register
def _(edit: edits.ToggleCache, request: Request, by: str) -> Request:
    edited = request.model_copy(update={"marks": marks_after(request.marks, edit)})
    if len(edited.marks) < len(request.marks):
        return edited
    _check_place(request, edit.place)
    before, fitted = request.fitted(), edited.fitted()
    is_new = len(edited.marks) > len(request.marks)
    pushes_out = by == "person" and is_new and bool(fitted.dropped)
    # Only marks on messages give way: too many before them would be refused.
    if pushes_out or len(fitted.marks) > max(MAX_MARKS, len(before.marks)):
        raise EditRefused.no_mark_left([placed.path for placed in before.marks])
    if (late := too_late(fitted.marks)) is not None:
        raise EditRefused.longer_behind_shorter(late.path)
    return edited


def tool_changes_of(edit: edits.ChangeTools) -> list[Block]:
    """The blocks that tell Claude of tools added and removed."""
    added = [addition_of(definition) for definition in edit.added]
    return [*added, *map(removal_of, edit.removed)]


def marks_after(marks: tuple[Mark, ...], edit: edits.ToggleCache) -> tuple[Mark, ...]:
    """The marks once one is set, changed or taken off."""
    others = tuple(mark for mark in marks if mark.place != edit.place)
    wanted = Mark(edit.place, edit.ttl)
    return others if wanted in marks else (*others, wanted)


def settings_after(settings: Settings, edit: SettingsEdit) -> Settings:
    """The settings once the system prompt, the tools or parameters are changed."""
    match edit:
        case edits.SetSystem():
            changes: dict[str, Any] = {"system": edit.system}
        case edits.SetTools():
            changes = {"tools": edit.tools}
        case edits.SetParams():
            changes = {k: edit.params[k] for k in NAMED_SETTINGS if k in edit.params}
            others = {k: v for k, v in edit.params.items() if k not in NAMED_SETTINGS}
            params = {**settings.params, **others}
            changes["params"] = {
                k: v for k, v in params.items() if others.get(k, v) is not None
            }
    # Through validation, since what is set came from outside.
    return Settings(**{**dict(settings), **changes})


def with_messages_set(
    messages: Sequence[Message], edit: edits.SetMessages, sent: int
) -> tuple[Message, ...]:
    """The conversation with all before the reply in hand replaced.

    Args:
        messages: The conversation.
        edit: What comes in its place.
        sent: How many messages the reply in hand answers; 0 if there is none yet.
    """
    in_hand = messages[sent:] if sent else ()
    return (*edit.messages, *in_hand)


def with_result_edited(
    messages: Sequence[Message],
    edit: edits.EditResult,
    sent: int,
    known: Sequence[Facts] = (),
) -> tuple[Message, ...]:
    """The conversation with the result of a call changed.

    Args:
        messages: The conversation.
        edit: What Claude is to read.
        sent: How many of the messages have gone out, and stay as they are.
        known: What is known of the conversation already.

    Raises:
        EditRefused: The call has no result there, it has gone out, or it would be an
            error without a word, which the API refuses.
    """
    address = address_of(edit.call_id, survey(messages, known))
    if address is None:
        raise EditRefused.no_result_to_edit(edit.call_id)
    index, number = address
    if index < sent:
        raise EditRefused.gone_out(edit.call_id)
    message = messages[index]
    content = content_of(message)
    content[number] = block = _edited(content[number], edit)
    said = text_of(content_of(block)) if block.get("content") else ""
    if block.get("is_error") and not said:
        raise EditRefused.error_without_text(edit.call_id)
    edited = {**message, "content": content}
    return (*messages[:index], edited, *messages[index + 1 :])


def _edited(block: Block, edit: edits.EditResult) -> Block:
    edited = {**block, "content": edit.content}
    if edit.is_error is not None:
        edited.pop("is_error", None)
    return {**edited, "is_error": True} if edit.is_error else edited


def _check_place(request: Request, place: str) -> None:
    """Refuse a place that is not there, or that takes no mark."""
    if place in ("request", "results"):
        return
    if place == "tools":
        if not request.settings.tools:
            raise EditRefused.nothing_there(place, "the request has no tools")
        return
    if place == "system":
        system = request.settings.system
        blocks = content_of({"content": system or []})
        if not blocks or is_empty_text(blocks[-1]):
            raise EditRefused.nothing_there(place, "there is no system prompt")
        return
    address = address_of(place, survey(request.messages, request.known))
    if address is None and "[" in place:
        raise EditRefused.nothing_there(place, "the conversation has no such block")
    if address is None:
        raise EditRefused.no_such_result(place)
    index, number = address
    block = content_of(request.messages[index])[number]
    if block.get("type") in UNMARKABLE or is_empty_text(block):
        kind = "an empty text" if is_empty_text(block) else "a thinking block"
        raise EditRefused.unmarkable(place, kind)
