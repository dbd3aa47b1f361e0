"""A run as plain text: what a terminal, a diff and a screen reader get."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from nbrunner.core.blocks import Block, content_of
from nbrunner.core.redact import redact
from nbrunner.views import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.transcript import Iteration, ToolCall, Transcript


def as_text(transcript: Transcript, *, name: str) -> str:
    """The whole transcript as text, redacted.

    Args:
        transcript: What to show.
        name: What the run is called.
    """
    facts = [
        f"tool run {name}: {words.state(transcript)}",
        words.SOURCES[transcript.source],
        transcript.settings.model,
        words.usage_words(transcript.usage),
    ]
    lines = [" · ".join(fact for fact in facts if fact)]
    first = transcript.iterations[0].request.messages if transcript.iterations else ()
    for message in first or transcript.messages:
        text = words.result_text(content_of(message))
        lines += [f"{message['role']}: {words.cut(text)[0]}"]
    for iteration in transcript.iterations:
        lines += ["", iteration_text(transcript, iteration)]
    return "\n".join(lines)


def iteration_text(transcript: Transcript, iteration: Iteration) -> str:
    """One iteration as text, redacted."""
    live = transcript.source == "live"
    facts = [
        iteration.stop_reason,
        words.seconds(iteration.elapsed_s) if live else None,
        words.usage_words(iteration.usage),
    ]
    head = " · ".join(fact for fact in facts if fact)
    lines = [f"[{iteration.index + 1}] {head}".rstrip()]
    lines += [_indented(f"you: {text}") for text in iteration.injected]
    lines += [
        _indented(f"failed: {failure.message} {failure.advice}".rstrip())
        for failure in iteration.failures
    ]
    for block in iteration.blocks:
        lines += [_indented(part) for part in _block(transcript, iteration, block)]
    return redact("\n".join(lines))


def _block(transcript: Transcript, iteration: Iteration, block: Block) -> Iterator[str]:
    call = iteration.call(block.get("id", "")) if block["type"] == "tool_use" else None
    if call is not None:
        yield from _call(transcript, call)
    elif block["type"] == "text":
        if block.get("text"):
            yield words.cut(block["text"])[0]
    elif block["type"] == "thinking":
        yield f"(thinking) {words.cut(block.get('thinking') or '')[0]}"
    else:
        yield f"({block['type']} block)"


def _call(transcript: Transcript, call: ToolCall) -> Iterator[str]:
    yield f"-> {words.signature(call)}"
    if call.stdout:
        yield f"printed: {words.cut(call.stdout)[0].rstrip()}"
    if call.traceback:
        replayed = transcript.source != "live"
        yield words.portable_trace(call.traceback, replayed=replayed)
    if call.is_answered:
        shown, left_out = words.cut(words.result_text(call.result))
        more = f" … ({left_out})" if left_out else ""
        kind = "error" if call.is_error else "result"
        yield f"<- {kind}: {shown}{more}"


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
