"""What the front end may ask about the next request: settings, tools, a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field

from nbrunner.core.apply import try_on
from nbrunner.core.blocks import Value
from nbrunner.core.compaction import SUMMARY_BETA
from nbrunner.core.edits import ChangeTools, Compact
from nbrunner.core.offers import beta_edit, offer_named, settings_to_come
from nbrunner.errors import NbrunnerError
from nbrunner.panel.limits import LONGEST_KEY, FieldName, FieldText
from nbrunner.panel.steered import IntentRefused
from nbrunner.views.form import NotAnInput
from nbrunner.views.request_form import read_request

if TYPE_CHECKING:
    from nbrunner.panel.steered import Steered


class ChangeRequest(Value):
    """Other settings of the next request."""

    intent: Literal["change_request"]
    fields: dict[FieldName, FieldText] = Field(max_length=10)


class ChangeTool(Value):
    """A tool of the run that Claude is not to have any longer, or again."""

    intent: Literal["remove_tool", "add_tool"]
    tool: str = Field(max_length=LONGEST_KEY)


class Summarize(Value):
    """Have the conversation summarized before the next reply, or not after all."""

    intent: Literal["summarize", "keep"]


class WithdrawAsked(Value):
    """Take back an edit that waits."""

    intent: Literal["withdraw_edit"]
    edit: str = Field(max_length=40)


NextIntent: TypeAlias = ChangeRequest | ChangeTool | Summarize | WithdrawAsked


def change_next(intent: NextIntent, run: Steered) -> None:
    """Ask the run for what a person changed of its next request.

    Raises:
        IntentRefused: It is stale, or the run does not take it.
    """
    match intent:
        case ChangeRequest():
            _change_settings(intent, run)
        case ChangeTool():
            _change_tool(intent, run)
        case Summarize():
            _summarize(intent, run)
        case WithdrawAsked():
            if not run.withdraw(intent.edit, by="person"):
                raise IntentRefused("That change is made already, or was refused.")


def _change_settings(intent: ChangeRequest, run: Steered) -> None:
    try:
        edits = read_request(settings_to_come(run.transcript), intent.fields)
        for edit in edits:
            try_on(run.transcript, edit, by="person")
        for edit in edits:
            run.submit(edit, by="person")
    except (NotAnInput, NbrunnerError) as error:
        # Of two edits the parameters come first, and alone can be refused by the run.
        raise IntentRefused(str(error)) from error


def _change_tool(intent: ChangeTool, run: Steered) -> None:
    offer = offer_named(run.transcript, intent.tool)
    if offer is None:
        raise IntentRefused("The run has no such tool that could be taken or given.")
    if offer.is_on == (intent.intent == "add_tool"):
        so = "is offered" if offer.is_on else "is taken from Claude"
        raise IntentRefused(f"{offer.name} {so} already.")
    named = (offer.name,)
    edit = ChangeTools(removed=named) if offer.is_on else ChangeTools(added=named)
    if (needed := beta_edit(run.transcript)) is not None:
        run.submit(needed, by="person")
    run.submit(edit, by="person")


def _summarize(intent: Summarize, run: Steered) -> None:
    wanted = intent.intent == "summarize"
    if wanted == run.transcript.is_summary_asked:
        so = "asked for" if wanted else "taken back"
        raise IntentRefused(f"The summary is {so} already.")
    edit = Compact() if wanted else Compact(compaction=None)
    try:
        try_on(run.transcript, edit, by="person")
    except NbrunnerError as error:
        raise IntentRefused(str(error)) from error
    if wanted and (needed := beta_edit(run.transcript, SUMMARY_BETA)) is not None:
        run.submit(needed, by="person")
    run.submit(edit, by="person")
