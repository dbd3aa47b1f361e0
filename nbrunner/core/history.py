"""What the API's rules need to know of each message, found out once.

Every request carries the whole conversation, and the rules look at all of it. A
message never changes, so what it means to them is worked out when it joins, and is
carried along beside it: the work per request stays far below that of sending it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nbrunner.core.blocks import Message, content_of, is_empty_text
from nbrunner.core.caching import PlacedMark, marks_below, marks_of, without_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

Numbered: TypeAlias = tuple[int, str | None]
"""The number of a block in its message, and the id of the call that it names."""


class Facts(NamedTuple):
    """A message, and what the rules ask about it.

    Attributes:
        message: The very message; facts of another one, though equal, are not its.
        role: Whose message it is.
        starts_with: The type of its first block.
        size: How many blocks it has.
        calls: Its `tool_use` blocks.
        results: Its `tool_result` blocks.
        is_plain: Whether its results come first, and each once.
        empty: The number of its first empty text block.
        marks: Its cache marks, their paths from the message on.
    """

    message: Message
    role: str
    starts_with: str | None
    size: int
    calls: tuple[Numbered, ...]
    results: tuple[Numbered, ...]
    is_plain: bool
    empty: int | None
    marks: tuple[PlacedMark, ...]

    @property
    def is_sent_as_is(self) -> bool:
        """Whether nothing has to be left out of the sent copy."""
        if isinstance(self.message["content"], str):
            return True
        return self.size > 0 and self.empty is None


def facts_of(message: Message) -> Facts:
    """What the rules ask about a message."""
    blocks = content_of(message)
    kinds = [block.get("type") for block in blocks]
    calls = [(n, blocks[n].get("id")) for n, k in enumerate(kinds) if k == "tool_use"]
    results = [
        (n, blocks[n].get("tool_use_id"))
        for n, kind in enumerate(kinds)
        if kind == "tool_result"
    ]
    come_first = [n for n, _ in results] == list(range(len(results)))
    empty = (n for n, block in enumerate(blocks) if is_empty_text(block))
    return Facts(
        message=message,
        role=message["role"],
        starts_with=kinds[0] if kinds else None,
        size=len(blocks),
        calls=tuple(calls),
        results=tuple(results),
        is_plain=come_first and len({i for _, i in results}) == len(results),
        empty=next(empty, None),
        marks=tuple(marks_below(message["content"], ".content")),
    )


def survey(
    messages: Sequence[Message], known: Sequence[Facts] = ()
) -> tuple[Facts, ...]:
    """The facts of all messages; those known of the very message are taken over.

    Args:
        messages: The conversation, or what is sent of it.
        known: Facts of a conversation that it may begin with.
    """
    pairs = zip(messages, known, strict=False)
    same = 0
    for message, facts in pairs:
        if facts.message is not message:
            break
        same += 1
    return (*known[:same], *map(facts_of, messages[same:]))


def within_budget(
    messages: Sequence[Facts], free: int
) -> tuple[list[Facts], list[str]]:
    """The messages with at most `free` marks, and the paths of those taken off.

    The oldest mark gives way: a later one covers all that it covered.
    """
    lighter = list(messages)
    holders = [index for index, facts in enumerate(messages) if facts.marks]
    surplus = sum(len(messages[index].marks) for index in holders) - max(free, 0)
    dropped: list[str] = []
    for index in holders:
        if surplus <= 0:
            break
        facts = messages[index]
        paths = [placed.path for placed in facts.marks[:surplus]]
        surplus -= len(paths)
        dropped += [f"messages[{index}]{path}" for path in paths]
        content = without_marks(facts.message["content"], ".content", frozenset(paths))
        lighter[index] = facts_of({**facts.message, "content": content})
    return lighter, dropped


def all_marks(head: dict[str, Any], facts: Sequence[Facts]) -> list[PlacedMark]:
    """Every mark of a request, in the order the API reads.

    Args:
        head: The body, with or without its messages.
        facts: The facts of the messages.
    """
    before, after = marks_of(head)
    within = [
        PlacedMark(f"messages[{index}]{placed.path}", placed.ttl)
        for index, known in enumerate(facts)
        if known.marks
        for placed in known.marks
    ]
    return [*before, *within, *after]
