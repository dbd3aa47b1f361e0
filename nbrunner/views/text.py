"""A run as plain text: what a terminal, a diff and a screen reader get."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from nbrunner.core.blocks import Block, content_of
from nbrunner.views import words
from nbrunner.views.again import dropped_lines
from nbrunner.views.branches import branch_lines, origin_lines, origin_words
from nbrunner.views.citations import cited_words
from nbrunner.views.context import applied_edit_words
from nbrunner.views.displays import display_words
from nbrunner.views.fields import text_at
from nbrunner.views.inspector import cache_line
from nbrunner.views.printable import printable
from nbrunner.views.refusal import refusal_words
from nbrunner.views.relatives import ALONE, Relatives
from nbrunner.views.server_calls import (
    answers_one_of,
    is_server_call,
    result_of,
    server_call_words,
)
from nbrunner.views.verdict import edited_words, ungated_words, verdict_words
from nbrunner.views.waiting import waiting_edits, waits_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Iteration, Transcript


def as_text(transcript: Transcript, *, name: str, relatives: Relatives = ALONE) -> str:
    """The whole transcript as text, redacted.

    Args:
        transcript: What to show.
        name: What the run is called.
        relatives: The runs beside it.
    """
    facts = [
        f"tool run {name}: {words.state(transcript)}",
        origin_words(transcript),
        words.source(transcript),
        transcript.settings.model,
        words.usage_words(transcript.usage),
        ungated_words(transcript),
    ]
    lines = [" · ".join(fact for fact in facts if fact)]
    lines += origin_lines(transcript, relatives)
    for message in words.first_messages(transcript):
        text = words.result_text(content_of(message))
        lines += [f"{message['role']}: {words.cut_inline(text)}"]
    for iteration in transcript.iterations:
        lines += ["", iteration_text(transcript, iteration)]
    lines += [
        f"({waits_words(transcript)}) {said}" for _, said in waiting_edits(transcript)
    ]
    lines += [
        f"(goes out with the next request) you: {words.cut_inline(note.text)}"
        for note in transcript.waiting
    ]
    beside = list(branch_lines(transcript, relatives))
    lines += ["", *beside] if beside else []
    return printable("\n".join(lines))


def iteration_text(transcript: Transcript, iteration: Iteration) -> str:
    """One iteration as text, redacted."""
    live = transcript.source == "live"
    facts = [
        iteration.stop_reason,
        words.sends(iteration),
        words.seconds(iteration.elapsed_s) if live else None,
        words.usage_words(iteration.usage),
    ]
    head = " · ".join(fact for fact in facts if fact)
    lines = [f"[{iteration.index + 1}] {head}".rstrip()]
    lines += [f"you: {words.cut_inline(text)}" for text in iteration.injected]
    for failure in iteration.failures:
        said = f"failed: {words.cut_inline(failure.message)} {failure.advice}"
        lines.append(said.rstrip())
        for call in failure.calls:
            lines += _call(transcript, iteration, call)
    lines += dropped_lines(iteration)
    lines += filter(None, [cache_line(transcript, iteration)])
    lines += [applied_edit_words(edit) for edit in iteration.applied_edits]
    for block in iteration.blocks:
        lines += _block(transcript, iteration, block)
    lines += filter(None, [refusal_words(iteration), *iteration.remarks])
    return printable("\n".join([lines[0], *map(_indented, lines[1:])]))


def _block(transcript: Transcript, iteration: Iteration, block: Block) -> Iterator[str]:
    kind = block.get("type")
    call = iteration.call(block.get("id", "")) if kind == "tool_use" else None
    if call is not None:
        yield from _call(transcript, iteration, call)
    elif kind == "text":
        if text := text_at(block, "text"):
            yield words.cut_inline(text) + cited_words(block)
    elif kind == "thinking":
        yield f"(thinking) {words.cut_inline(text_at(block, 'thinking'))}"
    elif is_server_call(block):
        yield server_call_words(block, result_of(block, iteration.blocks))
    elif kind == "compaction":
        yield f"(compaction) {words.cut_inline(text_at(block, 'content'))}"
    elif not answers_one_of(block, iteration.blocks):
        yield f"({kind} block)"


def _call(
    transcript: Transcript, iteration: Iteration, call: ToolCall
) -> Iterator[str]:
    yield f"-> {words.signature(call)}"
    if (said := verdict_words(call)) is not None:
        yield f"({said})"
    if call.executed_input not in (None, call.input):
        yield f"ran with: {words.cut_inline(words.pretty(call.executed_input))}"
    if call.stdout:
        yield f"printed: {words.cut_inline(call.stdout.rstrip())}"
    for display in call.displays:
        yield f"displayed: {words.cut_inline(display_words(display))}"
    if call.traceback:
        replayed = transcript.source != "live"
        trace = words.portable_trace(call.traceback, replayed=replayed)
        yield words.cut_inline(trace)
    if call.is_answered:
        kind = "error" if call.is_error else "result"
        kind = ", ".join(filter(None, [kind, edited_words(call)]))
        yield f"<- {kind}: {words.cut_inline(words.result_text(call.result))}"
        if call.is_edited:
            returned = words.cut_inline(words.result_text(call.returned))
            yield f"(before the edit: {returned})"
    elif call.status == "asked":
        yield "<- waits for your decision"
    elif (why := words.not_run(iteration, call)) is not None:
        yield f"<- {why}"


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
