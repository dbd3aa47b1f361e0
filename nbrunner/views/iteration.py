"""One iteration as a collapsible cell: request, reply, calls, failures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbrunner.core.blocks import content_of
from nbrunner.views import words
from nbrunner.views.again import again_button, dropped_fragments
from nbrunner.views.branches import fork_button
from nbrunner.views.call import call_fragment
from nbrunner.views.content import content_block, is_text
from nbrunner.views.context import applied_edit_fragments, context_bar
from nbrunner.views.html import Child, Html, h, spaced
from nbrunner.views.inspector import cache_fragments, missed_chip
from nbrunner.views.look import Look, Part, block, chip, clock
from nbrunner.views.marks import holds
from nbrunner.views.reply import broken_block, reply_fragments
from nbrunner.views.sent_request import request_fragment

if TYPE_CHECKING:
    from nbrunner.core.events import Failure
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Iteration, Transcript


def iteration_key(index: int) -> str:
    """The key of an iteration's fragment."""
    return f"it{index}"


def summary_key(index: int) -> str:
    """The key of an iteration's one line."""
    return f"it{index}.summary"


def iteration_fragment(transcript: Transcript, index: int, look: Look) -> Html:
    """An iteration: one line when closed, everything when open."""
    iteration = transcript.iterations[index]
    return h(
        "details",
        summary_fragment(transcript, index, look),
        h(
            "div",
            request_fragment(transcript, iteration, look),
            cache_fragments(transcript, iteration, look),
            [
                note_fragment("you, sent with this request", text)
                for text in iteration.injected
            ],
            [_failure(transcript, iteration, f, look) for f in iteration.failures],
            dropped_fragments(iteration, look),
            applied_edit_fragments(iteration),
            list(reply_fragments(transcript, iteration, look)),
            [h("div", text, class_="nbr-remark") for text in iteration.remarks],
            _ways(transcript, iteration, look),
            class_="nbr-body",
        ),
        class_="nbr-it",
        data_key=iteration_key(index) if look.live else None,
        open=_is_open(transcript, iteration),
    )


def _ways(transcript: Transcript, iteration: Iteration, look: Look) -> Html | None:
    """The ways to go from here that are not on."""
    if not look.live:
        return None
    again = again_button(transcript, iteration, look)
    row = spaced(fork_button(iteration, look), again)
    return h("div", row, class_="nbr-foot nbr-fork")


def _is_open(transcript: Transcript, iteration: Iteration) -> bool:
    """Open where there is something to see: the newest one, and errors."""
    return (
        iteration.index == len(transcript.iterations) - 1
        or bool(iteration.failures)
        or any(call.is_error for call in iteration.tool_calls)
    )


def summary_fragment(transcript: Transcript, index: int, look: Look) -> Html:
    """The one line of an iteration."""
    iteration = transcript.iterations[index]
    errors = sum(_fate(call) == " failed" for call in iteration.tool_calls)
    cached = any(
        holds(iteration, mark.place) or iteration.call(mark.place)
        for mark in transcript.marks
    )
    return h(
        "summary",
        spaced(
            h("span", str(index + 1), class_="nbr-n"),
            h("span", _gist(transcript, iteration), class_="nbr-gist"),
            chip(words.count(errors, "error"), "err") if errors else None,
            chip("request failed", "err") if iteration.has_failed else None,
            chip("cached to here", "mark") if cached else None,
            missed_chip(transcript, index),
            chip("context cleared") if iteration.applied_edits else None,
            clock() if look.live and _is_awaited(transcript, iteration) else None,
            h("span", _numbers(transcript, iteration), class_="nbr-num"),
            context_bar(iteration, look.scale),
        ),
        data_key=summary_key(index) if look.live else None,
    )


def _gist(transcript: Transcript, iteration: Iteration) -> list[Child]:
    names: list[Child] = []
    for call in iteration.tool_calls:
        names += [", " if names else "", h("b", call.name)]
        names += [_fate(call)]
        names += [" not run"] if words.not_run(iteration, call) else []
    said = words.gist(iteration)
    if iteration.has_failed:
        said = words.failure_gist(iteration.failures[-1])
    elif _is_awaited(transcript, iteration):
        said = said or words.awaited(iteration)
    if names and said:
        names.append(" — ")
    return [*names, said]


def _fate(call: ToolCall) -> str | None:
    if call.status in _FATES:
        return _FATES[call.status]
    return " failed" if call.is_error else None


_FATES = {
    "asked": " waits for you",
    "interrupted": " interrupted",
    "rejected": " rejected",
    "answered": " answered by hand",
}


def _is_awaited(transcript: Transcript, iteration: Iteration) -> bool:
    """Whether its reply may still be coming."""
    is_open = iteration.reply is None and not iteration.has_failed
    return is_open and transcript.status in ("running", "ready")


def _numbers(transcript: Transcript, iteration: Iteration) -> str:
    live = transcript.source == "live"
    facts = [
        iteration.stop_reason,
        words.seconds(iteration.elapsed_s) if live else None,
        words.usage_words(iteration.usage),
    ]
    return " · ".join(fact for fact in facts if fact)


def note_fragment(who: str, text: str, *more: Html, waits: bool = False) -> Html:
    """A message, with whose it is."""
    return h(
        "div",
        spaced(
            h("span", who, class_="nbr-who"),
            h("span", words.cut_inline(text), class_="nbr-said"),
            more,
        ),
        class_="nbr-note nbr-wait" if waits else "nbr-note",
    )


def _failure(
    transcript: Transcript, iteration: Iteration, failure: Failure, look: Look
) -> Html:
    waits = transcript.status == "failed" or transcript.stopped_by in (
        "error",
        "person",
    )
    newest = failure is iteration.failures[-1] and iteration.has_failed
    can_retry = waits and newest
    advice = failure.advice if newest else "It was asked again."
    return h(
        "div",
        h("div", words.cut_inline(failure.message), class_="nbr-what"),
        h("div", advice, class_="nbr-advice") if failure.advice else None,
        _controls(iteration, look) if can_retry else None,
        _partial(transcript, iteration, failure, look),
        class_="nbr-failure",
        role="alert" if newest else None,
    )


def _controls(iteration: Iteration, look: Look) -> Html:
    button = h(
        "button",
        "Retry",
        type="button",
        class_="nbr-button nbr-main",
        data_intent="retry",
        data_attempt=iteration.attempt,
    )
    line = h("code", f"{look.name}.retry()", class_="nbr-py")
    return h("div", spaced(button if look.live else None, line), class_="nbr-foot")


def _partial(
    transcript: Transcript, iteration: Iteration, failure: Failure, look: Look
) -> Html | None:
    if not failure.partial:
        return None
    # No part of the conversation: there is nothing to click at them.
    ran = {
        call.id: call_fragment(transcript, iteration, call, replace(look, live=False))
        for call in failure.calls
    }
    label = "what had come of the reply (not kept)"
    return h(
        "div",
        h("div", f"{label}; its calls ran" if ran else label, class_="nbr-lab"),
        [ran.get(b.get("id", "")) or broken_block(b) for b in failure.partial],
        class_="nbr-partial",
    )


def opening_fragment(transcript: Transcript, look: Look) -> Html:
    """What the run began with: the system prompt and the first messages."""
    return h(
        "div",
        system_fragment(transcript, look) if transcript.settings.system else None,
        [_opening_message(m) for m in words.first_messages(transcript)],
        class_="nbr-opening",
    )


SYSTEM_KEY = "system"
SYSTEM_PART = Part(key="system.text", line="transcript.settings.system")


def system_fragment(transcript: Transcript, look: Look) -> Html:
    """The system prompt that the next request carries."""
    system = transcript.settings.system
    return h(
        "details",
        h("summary", "System prompt"),
        block(words.result_text(system), look=look, part=SYSTEM_PART),
        class_="nbr-request",
        data_key=SYSTEM_KEY if look.live else None,
    )


def _opening_message(message: Any) -> Html:
    who = "you" if message["role"] == "user" else message["role"]
    content = content_of(message)
    if is_text(content):
        return note_fragment(who, words.result_text(content))
    return h(
        "div",
        h("span", who, class_="nbr-who"),
        h("div", [_said(item) for item in content], class_="nbr-said"),
        class_="nbr-note",
    )


def _said(item: Any) -> Html:
    """A block of a message; a person's words are no output."""
    if is_text([item]):
        return h("div", words.cut_inline(item["text"]))
    return content_block(item)
