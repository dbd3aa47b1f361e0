"""How facts are put into words: sizes, times, counts, states, signatures.

Shared by the HTML and the text rendering, so that both say the same.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from nbrunner.core.blocks import text_of
from nbrunner.core.caching import MAX_MARKS
from nbrunner.core.commands import Pause, Resume, Step, Stop
from nbrunner.core.redact import redact_item, redact_json
from nbrunner.core.tool_changes import tells_of_tools
from nbrunner.views.fields import at, decoded_size, text_at
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from nbrunner.core.blocks import Message
    from nbrunner.core.events import Failure, Source
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Iteration, Transcript
    from nbrunner.core.usage import Usage

SHOWN_CHARACTERS = 8_000
"""How much of one text a view shows; its whole size is told."""

_MARGIN = 40_000
_KILO = 1_000
_SIGNATURE_CHARACTERS = 90
_SIGNATURE_ARGUMENTS = 12
_GIST_CHARACTERS = 160
_REASON_CHARACTERS = 80
_CELL = re.compile(r"\bIn\[\d+\]")
_EMPHASIS = re.compile(r"\*\*|`|^#+ ")
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
    if len(text) > limit + _MARGIN:
        # To redact a megabyte of which a page is shown takes its time. The edge of
        # this first cut may go through a key, and is never shown.
        shown = printable(text[: limit + _MARGIN])[: -_MARGIN // 2]
        if len(shown) >= limit:
            left_out = f"{len(text) - limit:,} more characters, {size(text)} in all"
            return shown[:limit], left_out
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


def ellipsis(text: str, limit: int) -> str:
    """The beginning of a text, with a sign where more was."""
    shown = printable(text)
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def size(text: str) -> str:
    """How much a text weighs, in the unit that fits."""
    return bytes_words(len(text.encode("utf-8", "replace")))


def bytes_words(count: int) -> str:
    """A number of bytes, in the unit that fits."""
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
    blocks = content if isinstance(content, list | tuple) else [content]
    return "\n\n".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if at(block, "type") == "text":
        return str(block.get("text", ""))
    return f"[{block_words(block)}]"


def block_words(block: Any) -> str:
    """What a block is that is not text: its kind, title, type and size."""
    kind = text_at(block, "type") or type(block).__name__
    source = at(block, "source")
    if kind not in ("image", "document", "search_result"):
        return f"{kind} block, {size(pretty(block))}"
    facts = [
        " ".join(filter(None, [kind, ellipsis(text_at(block, "title"), 120)])),
        ellipsis(text_at(source, "media_type"), 40),
        _where(source),
        content_size(block),
    ]
    return ", ".join(fact for fact in facts if fact)


def _where(source: Any) -> str:
    """Where a block's content lies, if not in the block."""
    if isinstance(source, str):
        return f"from {ellipsis(source, 200)}"
    if address := text_at(source, "url"):
        return f"at {ellipsis(address, 200)} (not loaded)"
    return "an uploaded file" if text_at(source, "file_id") else ""


def content_size(content: Any) -> str:
    """How much the content of a result or a block weighs."""
    return bytes_words(_bytes_of(content))


def notable_content_size(content: Any) -> str | None:
    """How much a content weighs, where that is worth a word."""
    return content_size(content) if _bytes_of(content) >= _KILO else None


def _bytes_of(content: Any) -> int:
    if isinstance(content, list | tuple):
        return sum(_bytes_of(item) for item in content)
    if isinstance(content, str):
        return len(content.encode("utf-8", "replace"))
    if not isinstance(content, dict):
        return 0 if content is None else len(repr(content))
    if at(content, "source", "type") == "base64":
        return decoded_size(text_at(content, "source", "data"))
    parts = [at(content, "source", "data"), at(content, "source", "content")]
    parts += [content.get("text"), content.get("content")]
    known = sum(_bytes_of(part) for part in parts)
    return known or len(pretty(content).encode("utf-8", "replace"))


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
    text = json.dumps(redact_item(name, value), ensure_ascii=False, default=repr)
    # Redacted as one: that the name is `password` tells what the value is.
    name, _, text = printable(f"{name}={text}").partition("=")
    limit = _SIGNATURE_CHARACTERS
    return f"{ellipsis(name, limit)}=", ellipsis(text, limit)


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
    if iteration.is_compaction:
        is_done = iteration.reply is not None
        return "the conversation, summarized" if is_done else "asks for a summary"
    line = next(iter(text_of(iteration.blocks).strip().splitlines()), "")
    return ellipsis(_EMPHASIS.sub("", line), _GIST_CHARACTERS)


def sends(iteration: Iteration) -> str | None:
    """How often a request was sent, where that was more than once."""
    return f"sent {iteration.sends} times" if iteration.sends > 1 else None


def awaited(iteration: Iteration) -> str:
    """What is waited for while nothing of a reply has come."""
    waits = "waiting for the first words"
    if not iteration.resent:
        return waits
    seen = ellipsis(iteration.resent[-1], _REASON_CHARACTERS)
    return f"{waits}; the SDK sent it again after {seen}"


_FAILURES = {
    "api": "the API said no",
    "connection": "nobody answered",
    "stream": "the reply broke off",
    "stopped": "stopped before the reply was whole",
    "dropped": "dropped before the reply was whole",
    "replay": "the replies at hand did not fit",
    "history": "not sent: the history is not valid",
}


def failure_gist(failure: Failure) -> str:
    """What failed, in a few words; the whole message stands below."""
    status = f" ({failure.status})" if failure.status else ""
    return f"{_FAILURES[failure.kind]}{status}"


def first_messages(transcript: Transcript) -> tuple[Message, ...]:
    """The messages that a run began with, before anything was sent along."""
    if not transcript.iterations:
        return transcript.messages
    first = transcript.iterations[0]
    messages = first.request.messages
    if messages and tells_of_tools(messages[-1]):
        messages = messages[:-1]
    if not first.notes:
        return messages
    *before, last = messages
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
            return _paused_words(transcript)
        case "failed":
            return f"request {number} failed, waiting for you"
        case "asking":
            return asking_words(transcript)
        case "held":
            return f"{end_words(transcript.stopped_by)}, held open for you"
        case "finished":
            return end_words(transcript.stopped_by)
        case _ if Stop in asked:
            return "stopping when this step is done"
        case _ if will_pause(transcript):
            return "pausing before the next request"
        case _ if Step in asked:
            return f"one step, iteration {max(number, 1)}"
        case _:
            return f"running, iteration {max(number, 1)}"


def _paused_words(transcript: Transcript) -> str:
    if not transcript.is_due:
        return "paused, Claude is done"
    why = transcript.paused_for
    told = f": {ellipsis(why, _REASON_CHARACTERS)}" if why else ""
    return f"paused before request {len(transcript.iterations) + 1}{told}"


def asking_words(transcript: Transcript) -> str:
    """How many calls wait for a decision."""
    calls = transcript.last.tool_calls if transcript.last else ()
    number = sum(call.status == "asked" for call in calls)
    return f"waiting for your decision on {count(number, 'call')}"


def will_pause(transcript: Transcript) -> bool:
    """Whether a pause was asked for, and not taken back since."""
    pace = [c for c in transcript.asked if isinstance(c, Pause | Resume | Step)]
    return bool(pace) and isinstance(pace[-1], Pause)


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
        case "break":
            return "left by break"
        case _:
            return f"ended: {stopped_by}"


def marks_words(transcript: Transcript) -> str:
    """How many of the API's cache marks the next request sets."""
    used = len(transcript.next_request().fitted().marks)
    return f"{used} of {MAX_MARKS} marks"


def portable_trace(trace: str, *, replayed: bool) -> str:
    """A traceback; in a replayed run without cell numbers, which change."""
    return _CELL.sub("In[…]", trace) if replayed else trace
