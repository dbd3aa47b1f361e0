"""The cache inspector: what the prompt cache made of one request, and why.

`inspect(transcript, index)` is pure. It says what the API reported and what the
requests themselves show; how much time has passed is not known here, so of a prefix
that stayed the same and was not read it only says that it may have expired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pydantic import Field

from nbrunner.core.blocks import Value, content_of
from nbrunner.core.breakpoints import Breakpoint, breakpoints_of
from nbrunner.core.caching import LIFETIMES
from nbrunner.core.model_limits import cached_from_tokens
from nbrunner.core.prefix import Difference, blocks_of, first_difference
from nbrunner.core.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.blocks import Block, Message
    from nbrunner.core.request import Fitted
    from nbrunner.core.transcript import Iteration, Transcript

LOOKS_BACK_BLOCKS = 20
"""How far before a mark the API looks for an earlier one, by the documentation."""

Verdict: TypeAlias = Literal[
    "awaited", "unreported", "unmarked", "first", "read", "partly", "missed", "uncached"
]
"""What became of a request. `awaited`: no reply yet; `unreported`: its reply counts no
tokens; `unmarked`: it sets no mark; `first`: written, with nothing there to be read;
`partly`: it read less than an earlier request had left; `missed`: it read nothing of
it; `uncached`: it has marks, and nothing was written or read."""

Reason: TypeAlias = Literal["differs", "far", "images", "cleared", "expired", "short"]
"""Why: the prefix differs; its next mark is too far behind; there are images now; the
API cleared context; nothing that can be seen from here, so it may have expired; the
whole prompt is too short for the model."""


class Inspection(Value):
    """What the prompt cache made of one request.

    Attributes:
        index: The iteration, from 0.
        tools: How many tools the request carries.
        system: How many blocks of a system prompt.
        messages: How many messages.
        written: The tokens written, by how long they are kept; under `""` those of
            which the API did not say it.
        cached_from_tokens: The least that the model caches; None where it is unknown.
        compared_with: The earlier iteration that it is held against: the newest that
            left something in the cache, else the one before.
        left_tokens: What that one left in the cache.
        difference: The first block that is not as in that one.
        is_repeated: Whether the request before it missed as well.
    """

    index: int
    model: str
    tools: int
    system: int
    messages: int
    breakpoints: tuple[Breakpoint, ...] = ()
    verdict: Verdict
    reason: Reason | None = None
    usage: Usage = Usage()
    written: dict[str, int] = Field(default_factory=dict)
    cached_from_tokens: int | None = None
    compared_with: int | None = None
    left_tokens: int = 0
    difference: Difference | None = None
    is_repeated: bool = False

    @property
    def is_miss(self) -> bool:
        """Whether something could have been read, or kept, and was not."""
        return self.verdict in ("missed", "uncached")


def inspect(transcript: Transcript, index: int) -> Inspection:
    """What the cache made of the request of an iteration.

    It builds that request and an earlier one again, so it is asked for one at a time.

    Args:
        transcript: The run.
        index: The iteration, from 0.
    """
    found = _inspected(transcript, index)
    before = _replied_before(transcript, index)
    if not found.is_miss or before is None:
        return found
    is_repeated = _inspected(transcript, before.index).verdict == found.verdict
    return found.model_copy(update={"is_repeated": is_repeated})


def missed(transcript: Transcript, index: int) -> Verdict | None:
    """Whether the request missed what was there to be read: `missed`, `partly`, None.

    Most requests did not, and are not inspected for it.
    """
    iteration = transcript.iterations[index]
    if not iteration.marks or iteration.reply is None:
        return None
    left = _newest_left(transcript, index)
    if left is None or _read(iteration) >= _left_by(left):
        return None
    verdict = _inspected(transcript, index).verdict
    return verdict if verdict in ("missed", "partly") else None


def _inspected(transcript: Transcript, index: int) -> Inspection:
    iteration = transcript.iterations[index]
    sent = iteration.request.fitted()
    left = _newest_left(transcript, index)
    earlier = left or (transcript.iterations[index - 1] if index else None)
    case = _Case.of(iteration, sent, earlier, is_left=left is not None)
    verdict, reason = _judged(case)
    reported = (iteration.reply or {}).get("usage") or {}
    return Inspection(
        index=index,
        model=sent.body["model"],
        tools=len(blocks_of(sent.body, "tools")),
        system=len(blocks_of(sent.body, "system")),
        messages=len(sent.known),
        breakpoints=case.points,
        verdict=verdict,
        reason=reason,
        usage=case.usage,
        written=_written(reported, case.usage.cache_creation_input_tokens),
        cached_from_tokens=case.minimum,
        compared_with=earlier.index if earlier else None,
        left_tokens=case.left_tokens,
        difference=case.difference,
    )


class _Case(NamedTuple):
    """What a verdict is reached by.

    Attributes:
        points: The breakpoints of the request.
        kept: Those of the earlier request, where it left more than was read.
        new: The messages that the request carries beyond that one's.
    """

    iteration: Iteration
    usage: Usage
    points: tuple[Breakpoint, ...]
    minimum: int | None
    difference: Difference | None
    kept: tuple[Breakpoint, ...]
    left_tokens: int
    new: tuple[Message, ...]

    @classmethod
    def of(
        cls,
        iteration: Iteration,
        sent: Fitted,
        earlier: Iteration | None,
        *,
        is_left: bool,
    ) -> _Case:
        before, after = earlier.request if earlier else None, iteration.request
        left_tokens = _left_by(earlier) if earlier and is_left else 0
        is_less = _read(iteration) < left_tokens
        return cls(
            iteration=iteration,
            usage=iteration.usage,
            points=breakpoints_of(sent),
            minimum=cached_from_tokens(sent.body["model"]),
            difference=first_difference(before, after) if before else None,
            kept=breakpoints_of(before.fitted()) if before and is_less else (),
            left_tokens=left_tokens,
            new=after.messages[len(before.messages) :] if before else (),
        )


def _judged(case: _Case) -> tuple[Verdict, Reason | None]:
    usage = case.usage
    read = usage.cache_read_input_tokens
    if case.iteration.reply is None:
        return "awaited", None
    if not usage.prompt_tokens:
        return "unreported", None
    if not (case.points or read or usage.cache_creation_input_tokens):
        return "unmarked", None
    why = _why_less(case)
    if why is not None:
        return ("partly" if read else "missed"), why
    if read:
        return "read", None
    if usage.cache_creation_input_tokens:
        return "first", None
    is_short = case.minimum is not None and usage.prompt_tokens < case.minimum
    return "uncached", "short" if is_short else None


def _why_less(case: _Case) -> Reason | None:
    """Why less was read than there was; None where no more could be expected."""
    if not (case.points and case.kept):
        return None
    reach, kept = case.points[-1].blocks, [point.blocks for point in case.kept]
    parts = case.difference
    if parts is not None and parts.blocks < min(reach, max(kept)):
        return "differs"
    # So far the two are the same; it is asked up to the last mark of this one.
    asked = [blocks for blocks in kept if blocks <= reach]
    if not asked or (case.usage.cache_read_input_tokens and max(kept) > reach):
        return None
    behind = [p.blocks - max(asked) for p in case.points if p.blocks >= max(asked)]
    if min(behind) > LOOKS_BACK_BLOCKS:
        return "far"
    if any(block.get("type") == "image" for m in case.new for block in _inside(m)):
        return "images"
    return "cleared" if case.iteration.applied_edits else "expired"


def _inside(message: Message) -> Iterator[Block]:
    """The blocks of a message, and those in its results."""
    for block in content_of(message):
        yield block
        inner = block.get("content")
        if isinstance(inner, list | tuple):
            yield from (item for item in inner if isinstance(item, dict))


def _replied_before(transcript: Transcript, index: int) -> Iteration | None:
    earlier = reversed(transcript.iterations[:index])
    return next((it for it in earlier if it.reply is not None), None)


def _newest_left(transcript: Transcript, index: int) -> Iteration | None:
    """The newest iteration before that one that left something in the cache."""
    earlier = reversed(transcript.iterations[:index])
    return next((it for it in earlier if _left_by(it)), None)


def _left_by(iteration: Iteration) -> int:
    """The tokens that are in the cache after a request: those it wrote or read."""
    # Asked of many iterations: `iteration.usage` would make a value of each.
    return _read(iteration) + _counted(iteration, "cache_creation_input_tokens")


def _read(iteration: Iteration) -> int:
    return _counted(iteration, "cache_read_input_tokens")


def _counted(iteration: Iteration, name: str) -> int:
    usage = (iteration.reply or {}).get("usage") or {}
    return int(usage.get(name) or 0)


def _written(reported: dict[str, Any], total: int) -> dict[str, int]:
    """The tokens written, by their lifetime where the API tells them apart."""
    parts = reported.get("cache_creation") or {}
    told = {ttl: parts.get(f"ephemeral_{ttl}_input_tokens") or 0 for ttl in LIFETIMES}
    told = {ttl: tokens for ttl, tokens in told.items() if tokens}
    return {str(ttl): n for ttl, n in told.items()} or ({"": total} if total else {})
