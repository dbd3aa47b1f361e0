"""The cache inspector in words: shared by its HTML and its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.caching import LIFETIMES, RULES_BY
from nbrunner.core.inspection import LOOKS_BACK_BLOCKS
from nbrunner.core.model_limits import SMALLEST_SEEN
from nbrunner.views import words

if TYPE_CHECKING:
    from nbrunner.core.breakpoints import Breakpoint
    from nbrunner.core.inspection import Inspection
    from nbrunner.core.prefix import Layer

_LABELS = {
    "missed": "read missed",
    "partly": "read in part",
    "uncached": "nothing cached",
    "first": "first write",
}
_LOST: dict[Layer, str] = {
    "model": "Each model has a cache of its own.",
    "tools": "A changed tool definition breaks all that was kept.",
    "system": "That breaks what was kept of the system prompt and the messages.",
    "settings": "That breaks what was kept of the messages.",
    "messages": "From there on all has to be written anew.",
}
_SAME = "The prefix is the same"


def label(inspection: Inspection) -> str | None:
    """What became of the request, in two words; None where the tokens say it."""
    if inspection.reason == "short":
        return "too short to cache"
    return _LABELS.get(inspection.verdict)


def tokens_words(inspection: Inspection) -> str | None:
    """What was read and written."""
    read = inspection.usage.cache_read_input_tokens
    facts = [f"read {words.tokens(read)} tokens"] if read else []
    for ttl, count in inspection.written.items():
        kept = f" for {lifetime(ttl)}" if ttl else ""
        facts.append(f"wrote {words.tokens(count)} tokens{kept}")
    return " · ".join(facts) or None


def lifetime(ttl: str) -> str:
    """How long a mark lasts, short."""
    return {"5m": "5 min", "1h": "1 h"}.get(ttl, ttl)


def covers(point: Breakpoint) -> str:
    """The prefix that a mark covers."""
    in_part = ""
    if point.is_inside:
        in_part = " (in part)" if point.messages == 1 else " (the last in part)"
    parts = [
        words.count(point.tools, "tool") if point.tools else "",
        "the system prompt" if point.system else "",
        f"{span('message', 1, point.messages)}{in_part}" if point.messages else "",
    ]
    return ", ".join(filter(None, parts))


def span(thing: str, first: int, last: int) -> str:
    """Things by their numbers: `message 3`, `messages 1 to 3`."""
    return f"{thing} {last}" if first == last else f"{thing}s {first} to {last}"


def sentence(inspection: Inspection) -> str:
    """What the cache made of the request, and why, as far as it is known."""
    earlier = f"request {(inspection.compared_with or 0) + 1}"
    tokens = words.tokens(inspection.left_tokens)
    left = f"{tokens} tokens that {earlier} left in the cache"
    read = words.tokens(inspection.usage.cache_read_input_tokens)
    match inspection.verdict:
        case "awaited":
            return "Its reply will tell what was read and written."
        case "unreported":
            return "The reply counts no tokens: what the cache did is not known."
        case "unmarked":
            return "It sets no mark: nothing of it is kept, and nothing is read."
        case "first":
            return "Nothing was there to be read. Later requests can read this."
        case "read":
            is_all = inspection.usage.cache_read_input_tokens == inspection.left_tokens
            return f"It read the {left}." if is_all else f"It read {read} tokens."
        case "partly":
            return f"It read {read} of the {left}. {_reason(inspection)}"
        case "missed":
            return f"It read nothing of the {left}. {_reason(inspection)}"
        case "uncached":
            return _not_cached(inspection)


def _reason(inspection: Inspection) -> str:
    match inspection.reason:
        case "differs" if inspection.difference is not None:
            lost = _LOST[inspection.difference.layer]
            return f"{inspection.difference.place} is not what it was. {lost}"
        case "far":
            return (
                f"{_SAME}, but the next mark is further behind what was kept than the "
                f"{LOOKS_BACK_BLOCKS} or so blocks that the API looks back."
            )
        case "images":
            return f"{_SAME}, but images came in: they break what was kept of messages."
        case "cleared":
            return f"{_SAME} as it was sent, but the API cleared context in it."
        case _:
            return f"{_SAME}: it may have expired, which cannot be told from here."


def _not_cached(inspection: Inspection) -> str:
    minimum, model = inspection.cached_from_tokens, inspection.model
    if inspection.reason == "short":
        return (
            f"Too short to cache for this model: the whole prompt has "
            f"{inspection.usage.prompt_tokens:,} tokens, and {model} caches from "
            f"{minimum:,} on."
        )
    nothing = "Nothing was written or read. What stands before the last mark may be"
    if minimum is not None:
        return (
            f"{nothing} shorter than the {minimum:,} tokens that {model} caches from."
        )
    least, most = SMALLEST_SEEN
    return (
        f"{nothing} too short: the least that {model} caches is not known here "
        f"({least:,} to {most:,} tokens for models that are)."
    )


def hint(inspection: Inspection) -> str | None:
    """What to do when two requests in a row got nothing from their marks."""
    if not inspection.is_repeated:
        return None
    if inspection.verdict == "uncached":
        return (
            "Twice in a row nothing was cached, although marks are set: a mark pays "
            "further down, behind more text."
        )
    twice = "Twice in a row nothing was read from the cache, although marks are set"
    match inspection.reason:
        case "differs":
            return (
                f"{twice}: what changes with every request (a time, a counter) belongs "
                "behind the last mark."
            )
        case "expired":
            return f"{twice}: where minutes pass in between, a 1-hour mark lasts."
        case _:
            return f"{twice}."


def rules_words(inspection: Inspection) -> str | None:
    """Whose rules the sentence goes by, where it goes by any."""
    if (
        inspection.reason in (None, "expired", "cleared")
        and inspection.verdict != "uncached"
    ):
        return None
    return f"By {RULES_BY}."


def difference_words(inspection: Inspection) -> str | None:
    """Where the first difference is, and from what."""
    difference = inspection.difference
    if difference is None or inspection.compared_with is None:
        return None
    earlier = f"request {inspection.compared_with + 1}"
    if difference.before is None:
        return f"first difference from {earlier}: {difference.place} is new"
    if difference.after is None:
        return f"first difference from {earlier}: {difference.place} is gone"
    return f"first difference from {earlier}: {difference.place}"


def mark_words(point: Breakpoint) -> str:
    """A mark, where it stands and what it covers."""
    kept = LIFETIMES.get(point.ttl, point.ttl)  # type: ignore[call-overload]
    return f"{point.on} ({point.path}), {kept}: covers {covers(point)}"
