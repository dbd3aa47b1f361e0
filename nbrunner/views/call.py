"""One tool call as a fragment: input, result, error, prints, cache mark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nbrunner.core.commands import Decision
from nbrunner.views import words
from nbrunner.views.content import content_part
from nbrunner.views.decision import decision_fragment
from nbrunner.views.displays import display_fragments
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.json_tree import json_fragment
from nbrunner.views.look import Look, Part, block, chip, clock, is_lasting
from nbrunner.views.marks import beside_row, mark_chip, refusal_at, toggles
from nbrunner.views.result_form import result_form
from nbrunner.views.verdict import verdict_words

if TYPE_CHECKING:
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Iteration, Transcript


_CHIPS = {
    "proposed": ("waits", ""),
    "asked": ("waits for you", "warn"),
    "running": ("running", "run"),
    "ok": ("ok", "ok"),
    "error": ("error", "err"),
    "invalid": ("invalid input", "err"),
    "unknown": ("unknown tool", "err"),
    "interrupted": ("interrupted", "warn"),
    "rejected": ("rejected", "warn"),
    "answered": ("answered by hand", ""),
}


PART_FIELDS = ("input", "executed_input", "result", "returned", "stdout", "traceback")
"""The fields of a call that may be too long to be shown at once."""


def call_key(iteration: Iteration, call: ToolCall) -> str:
    """The key of a call's fragment."""
    return f"it{iteration.index}.call.{call.id}"


def call_fragment(
    transcript: Transcript, iteration: Iteration, call: ToolCall, look: Look
) -> Html:
    """A call as a collapsible block."""
    return h(
        "details",
        _summary(transcript, iteration, call, look),
        _verdict(call),
        _asked_and_told(transcript, iteration, call, look),
        decision_fragment(iteration, call, look)
        if look.live and call.status == "asked"
        else None,
        _printed(iteration, call, look) if call.stdout else None,
        display_fragments(call.displays),
        result_form(transcript, iteration, call, look),
        _foot(transcript, iteration, call, look),
        class_="nbr-call",
        data_key=call_key(iteration, call) if look.live else None,
        open=call.status != "ok" or len(words.result_text(call.result)) < _LONG,
    )


_LONG = 2_000
"""A result longer than this stays closed until someone opens it."""


def _summary(
    transcript: Transcript, iteration: Iteration, call: ToolCall, look: Look
) -> Html:
    label, tone = _CHIPS[call.status]
    if words.not_run(iteration, call):
        label, tone = "not run", "warn"
    named = [
        [", " if index else "", h("i", name), value]
        for index, (name, value) in enumerate(words.arguments(call))
    ]
    facts = [
        words.seconds(call.elapsed_s) if transcript.source == "live" else None,
        words.notable_content_size(call.result) if call.is_answered else None,
    ]
    return h(
        "summary",
        spaced(
            chip(label, tone),
            h("code", call.name, "(", named, ")", class_="nbr-sig"),
            h("span", class_="nbr-grow"),
            mark_chip(transcript, call.id),
            clock() if look.live and call.status == "running" else None,
            h("span", " · ".join(fact for fact in facts if fact), class_="nbr-num"),
        ),
    )


def _asked_and_told(
    transcript: Transcript, iteration: Iteration, call: ToolCall, look: Look
) -> list[Html]:
    """The two truths of a call, side by side where both are there.

    Of a good call: what Claude asked and what it was told. Of a failed one: what
    happened, for the person, and what Claude was told of it.
    """

    def part(field: str) -> Part:
        return _part(iteration, call, field)

    is_changed = call.executed_input not in (None, call.input)
    label = "input Claude proposed" if is_changed else "input"
    proposed = json_fragment(call.input, label=label, look=look, part=part("input"))
    asked = [_with_mark(proposed, transcript, iteration, call, look)]
    if is_changed:
        ran = part("executed_input")
        asked.append(
            json_fragment(
                call.executed_input, label="input it ran with", look=look, part=ran
            )
        )
    if not call.is_answered:
        return asked
    label = "what Claude was told" if call.is_error else "result"
    label = f"{label}, edited" if call.is_edited else label
    told = content_part(call.result, label=label, look=look, part=part("result"))
    if call.is_edited:
        before, where = call.returned, part("returned")
        was = content_part(before, label="before the edit", look=look, part=where)
        told = h("div", told, was)
    if not call.is_error or call.traceback is None:
        return [_side_by_side(h("div", asked), told)]
    lasting = is_lasting(transcript, look)
    trace = words.portable_trace(call.traceback, replayed=lasting)
    label = "what happened (for you)"
    happened = block(trace, label=label, look=look, part=part("traceback"))
    debug = _debug_line(call, look)
    seen = h("div", happened, debug) if debug else happened
    return [*asked, _side_by_side(seen, told)]


def _with_mark(
    shown: Html,
    transcript: Transcript,
    iteration: Iteration,
    call: ToolCall,
    look: Look,
) -> Html:
    """The input with the row of its `tool_use` block; the result's is in the foot."""
    numbers = (
        number
        for number, content in enumerate(iteration.blocks)
        if content.get("type") == "tool_use" and content.get("id") == call.id
    )
    number = next(numbers, None)
    if number is None:
        return shown
    return beside_row(shown, transcript, iteration, number, look) or shown


def _verdict(call: ToolCall) -> Html | None:
    said = verdict_words(call)
    return h("div", said, class_="nbr-verdict") if said else None


def _printed(iteration: Iteration, call: ToolCall, look: Look) -> Html:
    part = _part(iteration, call, "stdout")
    return block(call.stdout, label="printed", look=look, part=part)


def _part(iteration: Iteration, call: ToolCall, field: str) -> Part:
    """A field of a call, as the panel and as Python ask for all of it."""
    return Part(
        key=f"{call_key(iteration, call)}.{field}",
        line=f'transcript.find_call("{call.id}")[1].{field}',
    )


def _side_by_side(left: Html, right: Html) -> Html:
    return h("div", left, right, class_="nbr-two")


def _foot(
    transcript: Transcript, iteration: Iteration, call: ToolCall, look: Look
) -> Html | None:
    remark = _remark(words.not_run(iteration, call) or call.remark)
    if not look.live:
        return remark
    what = f"the result of {call.name}"
    controls = toggles(transcript, call.id, what, look) if call.is_answered else None
    refused = _refused(transcript, call) or refusal_at(transcript, call.id)
    if not (controls or remark or refused):
        return None
    return h("div", spaced(controls, remark, refused), class_="nbr-foot")


def _debug_line(call: ToolCall, look: Look) -> Html | None:
    """The line that opens the debugger where the tool failed."""
    if not look.live or call.status != "error":
        return None
    line = h(
        "code",
        f"{look.name}.debug({json.dumps(call.id)})",
        class_="nbr-py",
        title="opens the debugger in the frame that failed, as %debug does in the "
        "next cell",
    )
    return h("div", line, class_="nbr-rest")


def _remark(text: str | None) -> Html | None:
    return h("span", text, class_="nbr-remark") if text else None


def _refused(transcript: Transcript, call: ToolCall) -> Html | None:
    """Why the last decision about the call did not count."""
    if transcript.refused is None:
        return None
    asked, reason = transcript.refused
    if isinstance(asked, Decision) and asked.call_id == call.id:
        return h("span", reason, class_="nbr-refused", role="alert")
    return None
