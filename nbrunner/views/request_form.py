"""The form by which a person changes the settings of the next request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.core.edits import SetParams, SetSystem
from nbrunner.core.offers import offers_of, settings_to_come
from nbrunner.views.boxes import choice_box, place_of_refusal, text_box
from nbrunner.views.choices import (
    BUDGET,
    CHOICE,
    EFFORT,
    THINKING,
    budget_of,
    choices_of,
    rest_of,
    with_choices,
)
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
    from nbrunner.views.choices import Choice
    from nbrunner.views.look import Look

_MONO = "whole"
"""The field of the other parameters: what the stylesheet sets in the type of code."""

_ABOUT = {
    "model": "",
    "max_tokens": "the most tokens of a reply",
    "system": "empty for no system prompt",
    THINKING: "",
    BUDGET: "thinking.budget_tokens",
    EFFORT: "output_config.effort",
    CHOICE: "",
    _MONO: "all others, as JSON",
}
_NAMES = {_MONO: "parameters"}

_OWN_BOX = ("model", "max_tokens", "system", THINKING, EFFORT, CHOICE)
_ELSEWHERE = {
    **dict.fromkeys(_OWN_BOX, "it has a box of its own"),
    "tools": "they are chosen above, or in Python by add_tools(...)",
    "messages": "they are changed in Python, by set_messages_params(...)",
}
"""What is no parameter here: a second place for it would win, or be lost."""

_MOST_DIGITS = 9
"""Of `max_tokens`; Python reads no number of some thousand digits."""


def request_form(transcript: Transcript, look: Look) -> Html:
    """The form: each field as the next request has it, waiting edits made."""
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
            _rows(settings, choices_of(settings.params, _names(transcript))),
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
    rest = rest_of(settings.params)
    if (text := changed.get(_MONO)) is not None:
        rest = _parameters(rest, text)
    params |= _difference(settings.params, with_choices(settings.params, rest, changed))
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
    for name, choice in choices_of(settings.params, ()).items():
        shown[name] = choice.shown
        if name == THINKING:
            shown[BUDGET] = budget_of(settings.params)
    if (params := shown_json(rest_of(settings.params))) is not None:
        shown[_MONO] = params
    return {name: text for name, text in shown.items() if len(text) <= LONGEST_SHOWN}


def _names(transcript: Transcript) -> list[str]:
    """The names of the tools that the next request offers."""
    offers = offers_of(transcript)
    return [offer.name for offer in offers if offer.is_on and not offer.is_fixed]


def _rows(settings: Settings, choices: Mapping[str, Choice]) -> list[Html]:
    rows = []
    for field, shown in _shown(settings).items():
        name = _NAMES.get(field, field)
        label = f"{name} of the next request"
        if (choice := choices.get(field)) is not None:
            box = choice_box(field, choice.shown, choice.options, label)
        else:
            box = text_box(field, shown, label)
        about = h("span", _ABOUT[field], class_="nbr-num") if _ABOUT[field] else None
        row = spaced(h("code", name), box, about)
        rows.append(h("div", row, class_="nbr-field"))
    return rows


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
    """The parameters that the box of the others holds."""
    wanted = read_json(have, text or "{}")
    if not isinstance(wanted, dict):
        message = '`parameters` are a JSON object, such as {"metadata": {...}}.'
        raise NotAnInput(message)
    for name in (wanted.keys() - have.keys()) & _ELSEWHERE.keys():
        message = f"`{name}` is no parameter here: {_ELSEWHERE[name]}."
        raise NotAnInput(message)
    return wanted


def _difference(have: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What makes the one set of parameters the other; None takes one off."""
    gone = dict.fromkeys(have.keys() - wanted.keys())
    return gone | {k: v for k, v in wanted.items() if k not in have or have[k] != v}
