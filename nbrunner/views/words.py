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
from nbrunner.core.redact import redact_json
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from nbrunner.core.blocks import Message
    from nbrunner.core.events import Source
    from nbrunner.core.transcript import Iteration, ToolCall, Transcript
    from nbrunner.core.usage import Usage

SHOWN_CHARACTERS = 8_000
"""How much of one text a view shows; its whole size is told."""

_KILO = 1_000
_SIGNATURE_CHARACTERS = 90
_SIGNATURE_ARGUMENTS = 12
_GIST_CHARACTERS = 160
_CELL = re.compile(r"\bIn\[\d+\]")
_ID_FIELDS = ("id", "tool_use_id", "file_id", "container")

SOURCES: dict[Source, str] = {
    "live": "live",
    "recorded": "recorded replies",
    "scripted": "scripted replies",
}


def source(transcript: Transcript) -> str:
    """Where the replies come from, and whether anything tied them to the requests."""
    matched = ", matched by order" if transcript.matched_by_order else ""
    return f"{SOURCES[transcript.source]}{matched}"


def cut(text: str, limit: int = SHOWN_CHARACTERS) -> tuple[str, str | None]:
    """The text as far as it is shown, and a sentence on what is left out."""
    # Redacted first: of a key that the cut goes through, the half would be shown.
    shown = printable(text)
    if len(shown) <= limit:
        return shown, None
    left_out = f"{len(shown) - limit:,} more characters, {size(text)} in all"
    return shown[:limit], left_out


def cut_inline(text: str) -> str:
    """The text as far as it is shown, with what is left out told at its end."""
    shown, left_out = cut(text)
    return f"{shown} … ({left_out})" if left_out else shown


def _ellipsis(text: str, limit: int) -> str:
    shown = printable(text)
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


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
    # Inside JSON a key may follow an escape (`\nAKIA...`) and look like none.
    clean = redact_json(value)
    return json.dumps(clean, indent=2, ensure_ascii=False, default=repr)


def without_ids(value: Any) -> Any:
    """Blocks of the API with their ids left out; a call's input is opaque."""
    if isinstance(value, list | tuple):
        return [without_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_id(key, item) for key, item in value.items()}


def _without_id(key: str, item: Any) -> Any:
    if key in _ID_FIELDS and isinstance(item, str):
        return "…"
    return item if key == "input" else without_ids(item)


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
    """A call's arguments, each as `name=` and a short form of its value."""
    if not isinstance(call.input, dict):
        return [_argument("input", call.input)]
    pairs = list(call.input.items())
    shown = [_argument(str(name), v) for name, v in pairs[:_SIGNATURE_ARGUMENTS]]
    if len(pairs) > len(shown):
        shown.append((f"… {len(pairs) - len(shown):,} more", ""))
    return shown


def _argument(name: str, value: Any) -> tuple[str, str]:
    text = json.dumps(redact_json(value), ensure_ascii=False, default=repr)
    # Redacted as one: that the name is `password` tells what the value is.
    name, _, text = printable(f"{name}={text}").partition("=")
    limit = _SIGNATURE_CHARACTERS
    return f"{_ellipsis(name, limit)}=", _ellipsis(text, limit)


def signature(call: ToolCall) -> str:
    """A call as one line: `get_weather(location="Paris")`."""
    inside = ", ".join(f"{name}{value}" for name, value in arguments(call))
    return f"{call.name}({inside})"


def not_run(iteration: Iteration, call: ToolCall) -> str | None:
    """Why a call was not run, where the reply that holds it ended too soon."""
    reason = iteration.stop_reason
    if call.status != "proposed" or reason in ("tool_use", None):
        return None
    if reason == "max_tokens":
        return (
            "Cut off and not run: the reply reached max_tokens, so this input may be "
            "incomplete. Raise max_tokens and ask again."
        )
    return f"Not run: the reply ended with {reason}."


def gist(iteration: Iteration) -> str:
    """The first line of what Claude said in an iteration."""
    line = next(iter(text_of(iteration.blocks).strip().splitlines()), "")
    return _ellipsis(line, _GIST_CHARACTERS)


def first_messages(transcript: Transcript) -> tuple[Message, ...]:
    """The messages that a run began with, before anything was sent along."""
    if not transcript.iterations:
        return transcript.messages
    first = transcript.iterations[0]
    if not first.notes:
        return first.request.messages
    *before, last = first.request.messages
    own = last["content"][: -len(first.notes)]
    return (*before, {**last, "content": own}) if own else tuple(before)


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
        case "max_tokens":
            return "cut off by max_tokens"
        case _:
            return f"ended: {stopped_by}"


def marks_words(transcript: Transcript) -> str:
    """How many of the API's cache marks the next request sets."""
    used = len(marked_places(transcript.next_request().body()))
    return f"{used} of {MAX_MARKS} marks"


def portable_trace(trace: str, *, replayed: bool) -> str:
    """A traceback; in a replayed run without cell numbers, which change."""
    return _CELL.sub("In[…]", trace) if replayed else trace
