"""One tool call as a fragment: input, result, error, prints, cache mark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbrunner.core.caching import MAX_MARKS
from nbrunner.core.commands import Submit
from nbrunner.core.edits import ToggleCache
from nbrunner.views import words
from nbrunner.views.html import Html, h, spaced

if TYPE_CHECKING:
    from nbrunner.core.caching import Ttl
    from nbrunner.core.transcript import Iteration, ToolCall, Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a run is shown.

    Attributes:
        name: What the run is called in lines of Python.
        live: Whether controls are shown; a static page has none.
    """

    name: str
    live: bool


def is_lasting(transcript: Transcript, look: Look) -> bool:
    """Whether the page has to read the same whenever it is made again."""
    return transcript.source != "live" and not look.live


_CHIPS = {
    "proposed": ("waits", ""),
    "running": ("running", "run"),
    "ok": ("ok", "ok"),
    "error": ("error", "err"),
    "invalid": ("invalid input", "err"),
    "unknown": ("unknown tool", "err"),
    "interrupted": ("interrupted", "warn"),
}


def chip(text: str, tone: str = "") -> Html:
    """A small label; colour only where it tells something."""
    return h("span", text, class_=f"nbr-chip nbr-{tone}" if tone else "nbr-chip")


def block(text: str, *, label: str | None = None) -> Html:
    """A text as it is, cut where it is long, with its whole size told."""
    shown, left_out = words.cut(text)
    return h(
        "div",
        h("div", label, class_="nbr-lab") if label else None,
        h("pre", shown),
        h("div", left_out, class_="nbr-lab") if left_out else None,
    )


def call_key(iteration: Iteration, call: ToolCall) -> str:
    """The key of a call's fragment."""
    return f"it{iteration.index}.call.{call.id}"


def call_fragment(
    transcript: Transcript, iteration: Iteration, call: ToolCall, look: Look
) -> Html:
    """A call as a collapsible block."""
    return h(
        "details",
        _summary(transcript, iteration, call),
        _asked_and_told(transcript, call, look),
        block(call.stdout, label="printed") if call.stdout else None,
        _foot(transcript, iteration, call, look),
        class_="nbr-call",
        data_key=call_key(iteration, call) if look.live else None,
        open=call.status != "ok" or len(words.result_text(call.result)) < _LONG,
    )


_LONG = 2_000
"""A result longer than this stays closed until someone opens it."""


def _summary(transcript: Transcript, iteration: Iteration, call: ToolCall) -> Html:
    label, tone = _CHIPS[call.status]
    if words.not_run(iteration, call):
        label, tone = "not run", "warn"
    named = [
        [", " if index else "", h("i", name), value]
        for index, (name, value) in enumerate(words.arguments(call))
    ]
    facts = [
        words.seconds(call.elapsed_s) if transcript.source == "live" else None,
        words.size(words.result_text(call.result)) if call.is_answered else None,
    ]
    return h(
        "summary",
        spaced(
            chip(label, tone),
            h("code", call.name, "(", named, ")", class_="nbr-sig"),
            h("span", class_="nbr-grow"),
            _mark_chip(transcript, call),
            h("span", " · ".join(fact for fact in facts if fact), class_="nbr-num"),
        ),
    )


def _mark_chip(transcript: Transcript, call: ToolCall) -> Html | None:
    marked = transcript.mark_at(call.id)
    if marked is None:
        return None
    return chip("cache 5 min" if marked.ttl == "5m" else "cache 1 h", "mark")


def _asked_and_told(transcript: Transcript, call: ToolCall, look: Look) -> list[Html]:
    """The two truths of a call, side by side where both are there.

    Of a good call: what Claude asked and what it was told. Of a failed one: what
    happened, for the person, and what Claude was told of it.
    """
    asked = [block(words.pretty(call.input), label="input")]
    if call.executed_input not in (None, call.input):
        ran = words.pretty(call.executed_input)
        asked.append(block(ran, label="input it ran with"))
    if not call.is_answered:
        return asked
    told = words.result_text(call.result) or "(an empty text)"
    if not call.is_error:
        return [_side_by_side(h("div", asked), block(told, label="result"))]
    answer = block(told, label="what Claude was told")
    if call.traceback is None:
        return [_side_by_side(h("div", asked), answer)]
    lasting = is_lasting(transcript, look)
    trace = words.portable_trace(call.traceback, replayed=lasting)
    happened = block(trace, label="what happened (for you)")
    return [*asked, _side_by_side(happened, answer)]


def _side_by_side(left: Html, right: Html) -> Html:
    return h("div", left, right, class_="nbr-two")


def _foot(
    transcript: Transcript, iteration: Iteration, call: ToolCall, look: Look
) -> Html | None:
    remark = _remark(words.not_run(iteration, call) or call.remark)
    if not look.live:
        return remark
    controls = _cache_toggle(transcript, call, look) if call.is_answered else None
    refused = _refusal(transcript, call)
    if not (controls or remark or refused):
        return None
    return h("div", spaced(controls, remark, refused), class_="nbr-foot")


def _remark(text: str | None) -> Html | None:
    return h("span", text, class_="nbr-remark") if text else None


def _cache_toggle(transcript: Transcript, call: ToolCall, look: Look) -> list[Html]:
    marked = transcript.mark_at(call.id)
    waits = any(
        isinstance(command, Submit) and command.edit.place == call.id
        for command in transcript.asked
    )
    words_ = words.marks_words(transcript)
    full = marked is None and words_.startswith(str(MAX_MARKS))
    lasting: list[tuple[Ttl, str, str]] = [
        ("5m", "Cache mark", "cache mark"),
        ("1h", "1 h", "1-hour cache mark"),
    ]
    return [
        *(
            h(
                "button",
                label,
                type="button",
                class_=f"nbr-button {'nbr-on' if is_on else 'nbr-quiet'}",
                data_intent="toggle_cache",
                data_call=call.id,
                data_ttl=ttl,
                aria_pressed="true" if is_on else "false",
                aria_label=f"{what} on the result of {call.name}",
                title="All four marks are set: take one off first." if full else None,
            )
            for ttl, label, what in lasting
            for is_on in [marked is not None and marked.ttl == ttl]
        ),
        h("span", words_, class_="nbr-num"),
        *([chip("waits for the next safe point", "warn")] if waits else []),
        h(
            "code",
            f'{look.name}.submit(ToggleCache("{call.id}"))',
            class_="nbr-py",
        ),
    ]


def _refusal(transcript: Transcript, call: ToolCall) -> Html | None:
    if transcript.refused is None:
        return None
    edit, reason = transcript.refused
    if isinstance(edit, ToggleCache) and edit.place == call.id:
        return h("span", reason, class_="nbr-refused", role="alert")
    return None
