"""What waits for the next request: messages and edits, and how to take them back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbrunner.core import edits
from nbrunner.core.redact import redact_json
from nbrunner.views import words
from nbrunner.views.fields import text_at
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.iteration import note_fragment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.commands import Submit
    from nbrunner.core.edits import Edit
    from nbrunner.core.transcript import Transcript
    from nbrunner.views.look import Look

WAITING_KEY, EDITS_KEY = "waiting", "edits"
_VALUE_CHARACTERS = 90


def waiting_fragment(transcript: Transcript, look: Look) -> Html | None:
    """The person's messages that have not gone out yet."""
    rows = [
        note_fragment(
            "goes out with the next request",
            note.text,
            *_withdraw(look, note.id, data_intent="withdraw", data_note=note.id),
            waits=True,
        )
        for note in transcript.waiting
    ]
    return _rows(rows, WAITING_KEY, look)


def edits_fragment(transcript: Transcript, look: Look) -> Html | None:
    """A row for each edit that waits; a cache mark says it beside its button."""
    rows = [
        note_fragment(
            waits_words(transcript),
            said,
            *_withdraw(
                look,
                submit.edit_id,
                data_intent="withdraw_edit",
                data_edit=submit.edit_id,
                aria_label=f"Withdraw {words.ellipsis(said, _VALUE_CHARACTERS)}",
            ),
            waits=True,
        )
        for submit, said in waiting_edits(transcript)
    ]
    return _rows(rows, EDITS_KEY, look)


def waits_words(transcript: Transcript) -> str:
    """What an edit waits for."""
    is_at_work = transcript.status not in ("ready", "finished")
    return f"waits {'for the next safe point' if is_at_work else 'for a start'}"


def waiting_edits(transcript: Transcript) -> Iterator[tuple[Submit, str]]:
    """The edits that wait, oldest first, and what each changes."""
    for submit in transcript.submitted:
        said = edit_words(submit.edit, transcript)
        if said is not None:
            yield submit, said


def edit_words(edit: Edit, transcript: Transcript) -> str | None:
    """What an edit changes, in a line; None for a cache mark."""
    match edit:
        case edits.ToggleCache():
            return None
        case edits.SetSystem():
            return f"system prompt: {_value('system', edit.system)}"
        case edits.SetTools():
            return f"tools: {_names(edit.tools) or 'none'}"
        case edits.ChangeTools():
            given, taken = _names(edit.added), ", ".join(edit.removed)
            facts = [given and f"give {given}", taken and f"take {taken}"]
            return "tools: " + "; ".join(fact for fact in facts if fact)
        case edits.SetParams():
            named = edit.params.items()
            return "; ".join(f"{name}: {_value(name, value)}" for name, value in named)
        case edits.EditResult():
            found = transcript.find_call(edit.call_id)
            of = found[1].name if found else edit.call_id
            return f"result of {of}: {_value('result', edit.content)}"
        case edits.SetMessages():
            return f"conversation: {words.count(len(edit.messages), 'message')}"
        case edits.Compact():
            return f"conversation: {'summarized' if edit.compaction else 'kept'}"


def _value(name: str, value: Any) -> str:
    if value is None:
        return "taken off"
    # Redacted as one: that the name is `password` tells what the value is.
    (clean,) = redact_json({name: value}).values()
    text = clean if isinstance(clean, str) else json.dumps(clean, ensure_ascii=False)
    return words.ellipsis(text, _VALUE_CHARACTERS)


def _names(tools: tuple[Any, ...]) -> str:
    return ", ".join(text_at(tool, "name") or text_at(tool, "type") for tool in tools)


def _rows(rows: list[Html], key: str, look: Look) -> Html | None:
    """What waits; a live view keeps the place of it where nothing does."""
    if not look.live:
        return h("div", rows) if rows else None
    return h("div", rows, data_key=key)


def _withdraw(look: Look, waiting_id: str, **said: str) -> Iterator[Html]:
    """The button that takes back what waits, with its line of Python, in a live view.

    Args:
        look: How the run is shown.
        waiting_id: The id of a message or of an edit; one without cannot be named.
        **said: What else the button says of itself.
    """
    if not (look.live and waiting_id):
        return
    line = f"{look.name}.withdraw({waiting_id!r})"
    button = h(
        "button",
        "Withdraw",
        type="button",
        class_="nbr-button nbr-quiet",
        title=f"in Python: {line}",
        **said,
    )
    yield spaced(button, h("code", line, class_="nbr-py"))
