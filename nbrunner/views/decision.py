"""The decision about a call, as what a person fills in and presses.

Each way to decide has its line of Python beside it. A button carries the digest of
the input that is shown, so that nothing else is decided about.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbrunner.core.schema import schema_of
from nbrunner.views.boxes import choice_box, place_of_refusal, text_box
from nbrunner.views.form import WHOLE, Field, fields_of, shown_json
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.words import ellipsis

if TYPE_CHECKING:
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Iteration
    from nbrunner.views.look import Look


_LONGEST_ABOUT = 300


def decision_fragment(iteration: Iteration, call: ToolCall, look: Look) -> Html:
    """What a person can say about a call that waits for them."""
    key = f"it{iteration.index}.call.{call.id}"
    return h(
        "div",
        _approving(call, look),
        _rejecting(call, look),
        _editing(iteration, call, look, key),
        _answering(call, look, key),
        class_="nbr-decide",
        role="group",
        aria_label=f"your decision on {call.name}",
    )


def _approving(call: ToolCall, look: Look) -> Html:
    always = f"Approve {call.name} for the rest of the run"
    line = _line(call, look, "approve", ", for_rest=True")
    return h(
        "div",
        spaced(
            _button("Approve", "approve", call, main=True),
            h(
                "button",
                "Approve for the rest of the run",
                type="button",
                class_="nbr-button",
                data_intent="approve_rest",
                data_call=call.id,
                data_digest=call.digest,
                aria_label=always,
                title=f"in Python: {line}",
            ),
            _python(_line(call, look, "approve")),
        ),
        class_="nbr-foot",
    )


def _rejecting(call: ToolCall, look: Look) -> Html:
    reason = h(
        "textarea",
        rows="1",
        class_="nbr-text",
        data_field="reason",
        aria_label=f"why {call.name} is rejected",
        placeholder="Why not? Claude reads it",
    )
    row = spaced(
        reason,
        _button("Reject", "reject", call),
        _python(_line(call, look, "reject", ', "…"')),
        place_of_refusal(),
    )
    return h("div", row, class_="nbr-foot", data_form=True)


def _editing(iteration: Iteration, call: ToolCall, look: Look, key: str) -> Html:
    schema = schema_of(call.name, iteration.request.settings.tools)
    fields = fields_of(schema, call.input)
    line = _line(call, look, "approve", ", input={…}")
    too_long = None
    if fields:
        form = [_field_row(str(n), field, call) for n, field in enumerate(fields)]
    elif (shown := shown_json(call.input)) is not None:
        label = f"the input of {call.name}, as JSON"
        form = [text_box(WHOLE, shown, label)]
    else:
        form = []
        too_long = h("span", "This input is too long to be edited here.")
    press = _button("Run with this input", "approve_edited", call) if form else too_long
    foot = h("div", spaced(press, _python(line), place_of_refusal()), class_="nbr-foot")
    return h(
        "details",
        h("summary", "Edit the input"),
        h("div", form, foot, data_form=True),
        class_="nbr-way",
        data_key=f"{key}.edit",
    )


def _answering(call: ToolCall, look: Look, key: str) -> Html:
    box = text_box("result", "", f"the result of {call.name}, by hand")
    row = spaced(
        _button("Send as the result", "answer", call),
        _python(_line(call, look, "answer", ', "…"')),
        place_of_refusal(),
    )
    return h(
        "details",
        h("summary", "Answer by hand; the tool does not run"),
        h("div", box, h("div", row, class_="nbr-foot"), data_form=True),
        class_="nbr-way",
        data_key=f"{key}.answer",
    )


def _field_row(number: str, field: Field, call: ToolCall) -> Html:
    label = f"{field.name} of {call.name}"
    control = (
        _choice(number, field, label)
        if field.options
        else text_box(number, field.shown, label)
    )
    kind = field.kind if field.kind != "enum" else "one of these"
    freedom = None if field.is_required else "may be left out"
    about = [kind, freedom, ellipsis(field.about, _LONGEST_ABOUT)]
    return h(
        "div",
        spaced(
            h("code", field.name),
            control,
            h("span", " · ".join(part for part in about if part), class_="nbr-num"),
        ),
        class_="nbr-field",
    )


def _choice(number: str, field: Field, label: str) -> Html:
    options = [json.dumps(option, ensure_ascii=False) for option in field.options]
    if not (field.is_required and field.is_given):
        options = ["", *options]
    if field.shown not in options:
        options = [field.shown, *options]
    return choice_box(number, field.shown, [(it, _words(it)) for it in options], label)


def _words(option: str) -> str:
    value: Any = json.loads(option) if option else "(left out)"
    return value if isinstance(value, str) else option


def _button(label: str, intent: str, call: ToolCall, *, main: bool = False) -> Html:
    return h(
        "button",
        label,
        type="button",
        class_="nbr-button nbr-main" if main else "nbr-button",
        data_intent=intent,
        data_call=call.id,
        data_digest=call.digest,
        aria_label=f"{label}: {call.name}",
    )


def _line(call: ToolCall, look: Look, verb: str, more: str = "") -> str:
    return f"{look.name}.{verb}({json.dumps(call.id)}{more})"


def _python(line: str) -> Html:
    return h("code", line, class_="nbr-py")
