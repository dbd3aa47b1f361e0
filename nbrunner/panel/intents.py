"""What the front end may ask: a message from it becomes a value, or a refusal.

The panel's JavaScript is not trusted: a message may be malformed, forged, or about
something that is no longer so. Each is validated here, and an unknown or stale one
is refused in place with a sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from nbrunner.core.blocks import Value
from nbrunner.core.caching import Ttl, block_address
from nbrunner.core.commands import Approve
from nbrunner.core.edits import EditResult, ToggleCache
from nbrunner.core.schema import schema_of
from nbrunner.loop.decisions import why_not
from nbrunner.panel.limits import (
    LONGEST_KEY,
    LONGEST_MESSAGE,
    FieldName,
    FieldText,
)
from nbrunner.panel.next_request import (
    ChangeRequest,
    ChangeTool,
    Summarize,
    WithdrawAsked,
    change_next,
)
from nbrunner.panel.steered import IntentRefused
from nbrunner.views.form import NotAnInput, read_form
from nbrunner.views.result_form import read_result, why_not_edited

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript
    from nbrunner.panel.steered import Steered


class Control(Value):
    """A button of the bar."""

    intent: Literal["pause", "resume", "step", "stop", "stop_now"]


class AskAgain(Value):
    """Retry: of a failed request, or of a reply that is to be dropped."""

    intent: Literal["retry"]
    attempt: str = Field(max_length=40)


class Send(Value):
    """A message for Claude."""

    intent: Literal["send"]
    text: str = Field(min_length=1, max_length=LONGEST_MESSAGE, pattern=r"\S")


class WithdrawNote(Value):
    """Take back a message that waits."""

    intent: Literal["withdraw"]
    note: str


class ToggleCacheMark(Value):
    """The cache toggle of a place: a tool result by its call's id, or another."""

    intent: Literal["toggle_cache"]
    place: str = Field(max_length=LONGEST_KEY)
    ttl: Ttl = "5m"


class Decide(Value):
    """A decision about a call that waits; the digest says of which input."""

    intent: Literal["approve", "approve_rest", "approve_edited", "reject", "answer"]
    call: str = Field(max_length=LONGEST_KEY)
    digest: str = Field(max_length=64)
    fields: dict[FieldName, FieldText] = Field(default={}, max_length=50)


class ChangeResult(Value):
    """Another result than the tool's, for Claude to read."""

    intent: Literal["edit_result"]
    call: str = Field(max_length=LONGEST_KEY)
    fields: dict[FieldName, FieldText] = Field(default={}, max_length=50)


class ForkHere(Value):
    """Another branch, from an iteration on: a run of its own, asked of the panel."""

    intent: Literal["fork"]
    at: int = Field(ge=0, le=1_000_000)


class SeeBranch(Value):
    """A run beside the shown one that is to be shown, or compared with it."""

    intent: Literal["open", "compare"]
    branch: str = Field(pattern=r"^(parent|(sibling\.)?\d{1,6})$")


class ShowAll(Value):
    """A long text to show whole, or a level of JSON: asked of the panel alone."""

    intent: Literal["more"]
    part: str = Field(max_length=LONGEST_KEY)


Intent: TypeAlias = Annotated[
    Control
    | AskAgain
    | Send
    | WithdrawNote
    | ToggleCacheMark
    | Decide
    | ChangeResult
    | ChangeRequest
    | ChangeTool
    | Summarize
    | WithdrawAsked
    | ForkHere
    | SeeBranch
    | ShowAll,
    Field(discriminator="intent"),
]

_adapter: TypeAdapter[Intent] = TypeAdapter(Intent)


def read_intent(message: Any) -> Intent:
    """The intent that a front-end message states.

    Raises:
        IntentRefused: It states none that the panel knows.
    """
    try:
        return _adapter.validate_python(message, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        what = " ".join([*map(str, first["loc"]), first["msg"]])
        raise IntentRefused(
            f"The panel sent something it should not: {what}. Nothing was done."
        ) from error


def obey(intent: Intent, run: Steered) -> None:
    """Ask the run for what the person clicked.

    Raises:
        IntentRefused: It is stale: the run has moved on since the person saw it.
    """
    match intent:
        case Send():
            _send(intent, run)
        case WithdrawNote():
            if not run.withdraw(intent.note, by="person"):
                raise IntentRefused("That message has gone out already.")
        case ToggleCacheMark():
            _toggle(intent, run)
        case AskAgain():
            run.retry(attempt=intent.attempt, by="person")
        case Decide() | ChangeResult():
            _fill_in(intent, run)
        case ChangeRequest() | ChangeTool() | Summarize() | WithdrawAsked():
            change_next(intent, run)
        case Control():
            _control(intent.intent, run)


def _send(intent: Send, run: Steered) -> None:
    if run.transcript.status == "finished":
        raise IntentRefused(
            f"The run has ended. In a cell, {run.name}.inject(...) and then "
            f"{run.name}.start() go on with it."
        )
    run.inject(intent.text, by="person")


def _fill_in(form: Decide | ChangeResult, run: Steered) -> None:
    match form:
        case Decide():
            _decide(form, run)
        case ChangeResult():
            _change_result(form, run)


def _toggle(intent: ToggleCacheMark, run: Steered) -> None:
    # Whether a block takes a mark is the loop's to say, where it stands then.
    is_place = intent.place in _PLACES or block_address(intent.place)
    if not is_place and run.transcript.find_call(intent.place) is None:
        raise IntentRefused(_NO_SUCH_CALL)
    run.submit(ToggleCache(intent.place, intent.ttl), by="person")


def _decide(intent: Decide, run: Steered) -> None:
    call_id, transcript = intent.call, run.transcript
    place: dict[str, Any] = {"digest": intent.digest, "by": "person"}
    changed: dict[str, Any] = {}
    decision = Approve(call_id=call_id, digest=intent.digest)
    if (reason := why_not(decision, transcript)) is not None:
        raise IntentRefused(reason)
    if intent.intent == "approve_edited":
        changed["input"] = _edited_input(intent, transcript)
        edited = Approve(call_id=call_id, is_modified=True, **changed)
        if (reason := why_not(edited, transcript)) is not None:
            raise IntentRefused(reason)
    match intent.intent:
        case "reject":
            run.reject(call_id, intent.fields.get("reason", ""), **place)
        case "answer":
            run.answer(call_id, intent.fields.get("result", ""), **place)
        case "approve_rest":
            run.approve(call_id, for_rest=True, **place)
        case _:
            run.approve(call_id, **changed, **place)


def _change_result(intent: ChangeResult, run: Steered) -> None:
    found = run.transcript.find_call(intent.call)
    if found is None:
        raise IntentRefused(_NO_SUCH_CALL)
    try:
        content = read_result(found[1], intent.fields)
    except NotAnInput as error:
        raise IntentRefused(f"{error} The result stays as it is.") from error
    reason = why_not_edited(run.transcript, intent.call, content)
    if reason is not None:
        raise IntentRefused(reason)
    run.submit(EditResult(intent.call, content), by="person")


def _edited_input(intent: Decide, transcript: Transcript) -> Any:
    last = transcript.last
    call = last.call(intent.call) if last else None
    if last is None or call is None:
        raise IntentRefused(_NO_SUCH_CALL)
    schema = schema_of(call.name, last.request.settings.tools)
    try:
        return read_form(schema, call.input, intent.fields)
    except NotAnInput as error:
        raise IntentRefused(f"{error} The call still waits.") from error


_NO_SUCH_CALL = "That call is no longer part of the conversation."

_PLACES = ("system", "tools", "request")
"""Where a mark can stand that is no block of the conversation."""


_OPEN_TO = {
    "resume": ("running", "asking", "paused", "failed"),
    "pause": ("running", "asking"),
    "step": ("running", "asking", "paused", "ready"),
    "stop": ("running", "asking", "paused", "failed", "held"),
    "stop_now": ("running", "asking", "paused", "failed", "held"),
}


_NOW = {
    "ready": "not started",
    "failed": "waiting for you after a failure",
    "held": "done and held open for you",
}
_ASKED = {"stop_now": "stop"}


def _control(name: str, run: Steered) -> None:
    status = run.transcript.status
    goes_on = name == "resume" and run.transcript.stopped_by == "person"
    if status not in _OPEN_TO.get(name, (status,)) and not goes_on:
        now, asked = _NOW.get(status, status), _ASKED.get(name, name)
        raise IntentRefused(f"The run is {now}: it cannot {asked}.")
    if name == "stop_now":
        run.stop(now=True, by="person")
    else:
        getattr(run, name)(by="person")
