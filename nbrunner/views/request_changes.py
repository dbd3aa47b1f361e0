"""What a request has other than the one before it, in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.offers import offered_in
from nbrunner.views import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbrunner.core.blocks import Block
    from nbrunner.core.request import Request
    from nbrunner.core.transcript import Iteration, Transcript

_MOST_NAMED = 4


def changes_of(transcript: Transcript, iteration: Iteration) -> Iterator[str]:
    """What an iteration's request has other than the one before it.

    One that asks for a summary is of another kind, and is compared with none.
    """
    before = transcript.iterations[: iteration.index][-1:]
    if before and not iteration.is_compaction:
        yield from changed_words(before[0].request, iteration.request)


def changed_words(before: Request, after: Request) -> Iterator[str]:
    """The settings that were changed, by name, and how many tools more or fewer.

    Args:
        before: The request before.
        after: The request that is told of.
    """
    names = list(_changed_names(before, after))
    if len(names) > _MOST_NAMED:
        names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    if names:
        yield f"{', '.join(words.ellipsis(name, 40) for name in names)} changed"
    yield from _tool_words(offered_in(before), offered_in(after))


def _changed_names(before: Request, after: Request) -> Iterator[str]:
    old, new = before.settings, after.settings
    if old is new:
        return
    for name in ("model", "max_tokens", "system"):
        if getattr(old, name) != getattr(new, name):
            yield name
    for name in {**old.params, **new.params}:
        if old.params.get(name) != new.params.get(name):
            yield name


def _tool_words(before: Sequence[Block], after: Sequence[Block]) -> Iterator[str]:
    if before == after:
        return
    old, new = (
        {str(tool.get("name") or tool): tool for tool in tools}
        for tools in (before, after)
    )
    more, fewer = len(new.keys() - old.keys()), len(old.keys() - new.keys())
    if more:
        yield f"{words.count(more, 'tool')} more"
    if fewer:
        yield f"{words.count(fewer, 'tool')} fewer"
    if any(old[name] != new[name] for name in old.keys() & new.keys()):
        yield "tools changed"
