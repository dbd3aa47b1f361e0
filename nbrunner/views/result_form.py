"""The form by which a person changes a result before Claude reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbrunner.core.apply import try_on
from nbrunner.core.edits import EditResult
from nbrunner.errors import EditRefused
from nbrunner.views.boxes import place_of_refusal, text_box
from nbrunner.views.form import (
    LONGEST_SHOWN,
    NotAnInput,
    read_json,
    shown_json,
    unified,
)
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Iteration, Transcript
    from nbrunner.views.look import Look

FIELD = "result"


def result_form(
    transcript: Transcript, iteration: Iteration, call: ToolCall, look: Look
) -> Html | None:
    """The form, while the result has not gone out yet."""
    # The results of the iterations before have: only the last is looked up.
    if not look.live or iteration is not transcript.last or not call.is_answered:
        return None
    if is_being_edited(transcript, call.id):
        return h("div", "edited; made before the next request", class_="nbr-verdict")
    shown = _shown(call.result)
    if shown is None or why_not_edited(transcript, call.id, call.result) is not None:
        return None
    line = f"{look.name}.submit(EditResult({json.dumps(call.id)}, ...))"
    label = f"the result of {call.name}, as Claude will read it"
    box = text_box(FIELD, shown, label)
    press = h(
        "button",
        "Send this result instead",
        type="button",
        class_="nbr-button",
        data_intent="edit_result",
        data_call=call.id,
        aria_label=f"Send this result instead: {call.name}",
    )
    row = spaced(press, h("code", line, class_="nbr-py"), place_of_refusal())
    return h(
        "details",
        h("summary", "Edit the result"),
        h("div", box, h("div", row, class_="nbr-foot"), data_form=True),
        class_="nbr-way",
        data_key=f"it{iteration.index}.call.{call.id}.edit_result",
    )


def read_result(call: ToolCall, filled: Mapping[str, str]) -> Any:
    """The result that a filled form stands for.

    Args:
        call: The call as it stands.
        filled: The texts of the form's fields.

    Raises:
        NotAnInput: It stands for none, and why.
    """
    text = unified(filled.get(FIELD, ""))
    if isinstance(call.result, str):
        if _shown(call.result) is None:
            message = (
                "The result is long, or holds what a page does not show (a secret, a "
                "control character): edit it from Python."
            )
            raise NotAnInput(message)
        return text
    blocks = read_json(call.result, text)
    if not _is_list_of_blocks(blocks):
        message = 'A result is a list of content blocks: [{"type": "text", ...}].'
        raise NotAnInput(message)
    return blocks


def why_not_edited(transcript: Transcript, call_id: str, content: Any) -> str | None:
    """Why the result cannot be changed to this content; None where it can."""
    try:
        try_on(transcript, EditResult(call_id, content), by="person")
    except EditRefused as refused:
        return str(refused)
    return None


def is_being_edited(transcript: Transcript, call_id: str) -> bool:
    """Whether an edit of the result waits to be made."""
    return any(
        isinstance(edit, EditResult) and edit.call_id == call_id
        for edit in transcript.asked_edits
    )


def _is_list_of_blocks(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(block, dict) and isinstance(block.get("type"), str)
        for block in content
    )


def _shown(result: Any) -> str | None:
    """What the box shows; None where that would not be all of it, to the letter."""
    if not isinstance(result, str):
        return shown_json(result) if _is_list_of_blocks(result) else None
    is_shown = len(result) <= LONGEST_SHOWN and "\r" not in result
    return result if is_shown and printable(result) == result else None
