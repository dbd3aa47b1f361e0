"""How facts are put into words: sizes, times, counts, states, signatures.

Shared by the HTML and the text rendering, so that both say the same.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from nbrunner.core.blocks import text_of
from nbrunner.core.caching import MAX_MARKS, marked_places
from nbrunner.core.commands import Pause, Step, Stop

if TYPE_CHECKING:
    from nbrunner.core.events import Source
    from nbrunner.core.transcript import Iteration, ToolCall, Transcript
    from nbrunner.core.usage import Usage

SHOWN_CHARACTERS = 8_000
"""How much of one text a view shows; its whole size is told."""

_KILO = 1_000
_SIGNATURE_CHARACTERS = 90
_CELL = re.compile(r"\bIn\[\d+\]")

SOURCES: dict[Source, str] = {
    "live": "live",
    "recorded": "recorded replies",
    "scripted": "scripted replies",
}


def cut(text: str, limit: int = SHOWN_CHARACTERS) -> tuple[str, str | None]:
    """The text as far as it is shown, and a sentence on what is left out."""
    if len(text) <= limit:
        return text, None
    return text[:limit], f"{len(text) - limit:,} more characters, {size(text)} in all"


def size(text: str) -> str:
    """How much a text weighs, in the unit that fits."""
    count = len(text.encode("utf-8", "replace"))
    if count < _KILO:
        return f"{count} B"
    if count < _KILO * _KILO:
        return f"{count / _KILO:.1f} kB"
    return f"{count / _KILO / _KILO:.1f} MB"


def seconds(elapsed_s: float | None) -> str | None:
    """A duration: milliseconds below a second."""
    if elapsed_s is None:
        return None
    return f"{elapsed_s * _KILO:.0f} ms" if elapsed_s < 1 else f"{elapsed_s:.1f} s"


def count(number: int, thing: str) -> str:
    """A number of things: `1 error`, `2 errors`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def tokens(number: int) -> str:
    """A token count, short."""
    return str(number) if number < _KILO else f"{number / _KILO:.1f} k"


def usage_words(usage: Usage) -> str | None:
    """The tokens of a reply or a run; None where none were reported."""
    if not (usage.prompt_tokens or usage.output_tokens):
        return None
    words = [f"{tokens(usage.prompt_tokens)} in", f"{tokens(usage.output_tokens)} out"]
    if usage.cache_read_input_tokens:
        words.append(f"{tokens(usage.cache_read_input_tokens)} from cache")
    if usage.cache_creation_input_tokens:
        words.append(f"{tokens(usage.cache_creation_input_tokens)} to cache")
    return " · ".join(words)


def pretty(value: Any) -> str:
    """A JSON value, indented; what is not JSON by its repr."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=repr)


def result_text(content: Any) -> str:
    """The content of a result block as text: what Claude reads."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n\n".join(_block_text(block) for block in content)


def _block_text(block: Any) -> str:
    if isinstance(block, dict) and block.get("type") == "text":
        return str(block.get("text", ""))
    kind = block.get("type") if isinstance(block, dict) else type(block).__name__
    return f"[{kind} block, {size(pretty(block))}]"


def arguments(call: ToolCall) -> list[tuple[str, str]]:
    """A call's arguments, each as its name and a short form of its value."""
    if not isinstance(call.input, dict):
        return [("input", _short(call.input))]
    return [(str(name), _short(value)) for name, value in call.input.items()]


def signature(call: ToolCall) -> str:
    """A call as one line: `get_weather(location="Paris")`."""
    inside = ", ".join(f"{name}={value}" for name, value in arguments(call))
    return f"{call.name}({inside})"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if len(text) <= _SIGNATURE_CHARACTERS:
        return text
    return f"{text[: _SIGNATURE_CHARACTERS - 1]}…"


def gist(iteration: Iteration) -> str:
    """The first line of what Claude said in an iteration."""
    return next(iter(text_of(iteration.blocks).strip().splitlines()), "")


def state(transcript: Transcript) -> str:
    """Where a run stands, as the panel's status says it."""
    number = len(transcript.iterations)
    asked = {type(command) for command in transcript.asked}
    match transcript.status:
        case "ready":
            return "not started"
        case "paused":
            return f"paused before request {number + 1}"
        case "failed":
            return f"request {number} failed, waiting for you"
        case "finished":
            return end_words(transcript.stopped_by)
        case _ if Stop in asked:
            return "stopping when this step is done"
        case _ if Pause in asked:
            return "pausing before the next request"
        case _ if Step in asked:
            return f"one step, iteration {max(number, 1)}"
        case _:
            return f"running, iteration {max(number, 1)}"


def end_words(stopped_by: str | None) -> str:
    """Why a run ended, for a person."""
    match stopped_by:
        case "end_turn":
            return "done"
        case "person":
            return "stopped by you"
        case "error":
            return "ended with an error"
        case _:
            return f"ended: {stopped_by}"


def marks_words(transcript: Transcript) -> str:
    """How many of the API's cache marks the next request sets."""
    used = len(marked_places(transcript.next_request().body()))
    return f"{used} of {MAX_MARKS} marks"


def portable_trace(trace: str, *, replayed: bool) -> str:
    """A traceback; in a replayed run without cell numbers, which change."""
    return _CELL.sub("In[…]", trace) if replayed else trace
