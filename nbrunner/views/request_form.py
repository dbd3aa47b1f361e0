"""The form by which a person changes the settings of the next request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.core.edits import SetParams, SetSystem
from nbrunner.core.offers import settings_to_come
from nbrunner.views.boxes import place_of_refusal, text_box
from nbrunner.views.form import (
    LONGEST_SHOWN,
    NotAnInput,
    check_not_redacted,
    read_json,
    shown_json,
    unified,
)
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbrunner.core.request import Settings
    from nbrunner.core.transcript import Transcript
    from nbrunner.views.look import Look

_MONO = "whole"
"""The field of the other parameters: what the stylesheet sets in the type of code."""

_ABOUT = {
    "model": "",
    "max_tokens": "the most tokens of a reply",
    "system": "empty for no system prompt",
    _MONO: "thinking, output_config, tool_choice and others, as JSON",
}
_NAMES = {_MONO: "parameters"}

_ELSEWHERE = {
    **dict.fromkeys(("model", "max_tokens", "system"), "it has a box of its own"),
    "tools": "they are changed in Python, by add_tools(...), remove_tools(...)",
    "messages": "they are changed in Python, by set_messages_params(...)",
}
"""What is no parameter here: a second place for it would win, or be lost."""

_MOST_DIGITS = 9
"""Of `max_tokens`; Python reads no number of some thousand digits."""


def request_form(transcript: Transcript, look: Look) -> Html:
    """The form: each field as the next request has it once the waiting edits are made."""
    settings = settings_to_come(transcript)
    line = f"{look.name}.submit(SetParams(max_tokens=...))"
    press = h(
        "button",
        "Change the next request",
        type="button",
        class_="nbr-button",
        data_intent="change_request",
    )
    code = h("code", line, class_="nbr-py")
    return h(
        "details",
        h("summary", "Change model, system prompt or parameters"),
        h(
            "div",
            [_row(field, shown) for field, shown in _shown(settings).items()],
            h("div", spaced(press, code, place_of_refusal()), class_="nbr-foot"),
            data_form=True,
        ),
        class_="nbr-way",
        data_key="next.settings",
    )


def read_request(
    settings: Settings, filled: Mapping[str, str]
) -> list[SetParams | SetSystem]:
    """The edits that a filled form stands for: of what was changed in it, and no more.

    Args:
        settings: Those of the next request, with the edits made that wait.
        filled: The texts of the form's fields.

    Raises:
        NotAnInput: A field cannot be read; which, and why.
    """
    shown = _shown(settings)
    given = {name: unified(text) for name, text in filled.items() if name in shown}
    changed = {name: text for name, text in given.items() if text != shown[name]}
    params: dict[str, Any] = {}
    if (model := changed.get("model")) is not None:
        params["model"] = _model(model)
    if (most := changed.get("max_tokens")) is not None:
        params["max_tokens"] = _most(most)
    if (text := changed.get(_MONO)) is not None:
        params |= _parameters(settings.params, text)
    edits: list[SetParams | SetSystem] = [SetParams(params)] if params else []
    if (system := changed.get("system")) is not None:
        check_not_redacted("The system prompt", system, shown["system"])
        edits.append(SetSystem(system or None))
    if not edits:
        message = "Nothing is changed: the next request has these already."
        raise NotAnInput(message)
    return edits


def _shown(settings: Settings) -> dict[str, str]:
    """What the boxes show; what is too long for one, or no text, has none."""
    shown = {"model": settings.model, "max_tokens": str(settings.max_tokens)}
    system = settings.system or ""
    # Of a long one not even the redaction: a panel asks many times a second.
    if isinstance(system, str) and len(system) <= LONGEST_SHOWN:
        shown["system"] = printable(system)
    if (params := shown_json(settings.params)) is not None:
        shown[_MONO] = params
    return {name: text for name, text in shown.items() if len(text) <= LONGEST_SHOWN}


def _row(field: str, shown: str) -> Html:
    name = _NAMES.get(field, field)
    box = text_box(field, shown, f"{name} of the next request")
    about = h("span", _ABOUT[field], class_="nbr-num") if _ABOUT[field] else None
    return h("div", spaced(h("code", name), box, about), class_="nbr-field")


def _model(text: str) -> str:
    if not (model := text.strip()):
        message = "`model` is empty."
        raise NotAnInput(message)
    return model


def _most(text: str) -> int:
    digits = text.strip()
    is_one = digits.isdecimal() and len(digits) <= _MOST_DIGITS
    if not is_one or not (most := int(digits)):
        message = (
            "`max_tokens` has to be a whole number above 0, of at most "
            f"{_MOST_DIGITS} digits, and is {text!r:.80}."
        )
        raise NotAnInput(message)
    return most


def _parameters(have: Mapping[str, Any], text: str) -> dict[str, Any]:
    """What makes the one set of parameters the other; None takes one off."""
    wanted = read_json(have, text or "{}")
    if not isinstance(wanted, dict):
        message = '`parameters` are a JSON object, such as {"thinking": {...}}.'
        raise NotAnInput(message)
    for name in wanted.keys() - have.keys() & _ELSEWHERE.keys():
        message = f"`{name}` is no parameter here: {_ELSEWHERE[name]}."
        raise NotAnInput(message)
    gone = dict.fromkeys(have.keys() - wanted.keys())
    return gone | {k: v for k, v in wanted.items() if k not in have or have[k] != v}
