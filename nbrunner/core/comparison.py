"""Two branches beside each other: where they part, and what came of each.

Pure. What they share is found by going through both from the start; ids that the API
gives out are no difference.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from nbrunner.core.blocks import Block, Message, Value, content_of
from nbrunner.core.usage import Usage

if TYPE_CHECKING:
    from nbrunner.core.request import Settings
    from nbrunner.core.transcript import Transcript

_IDS = ("id", "tool_use_id", "cache_control", "caller")


class Changed(Value):
    """Something that is not the same in both.

    Attributes:
        where: Its name, or the path of a block such as `messages[2].content[0]`.
        before: How it is in the one; None where it is not.
        after: How it is in the other.
    """

    where: str
    before: Any = None
    after: Any = None


class Comparison(Value):
    """What differs between two branches.

    Attributes:
        settings: The settings that differ, as their next requests carry them.
        parts_at: The first block of the conversation that differs; None if none does.
        shared: How many messages both begin with.
        replies: What Claude said last in each, where that is not the same.
        iterations: How many iterations each has.
        usage: The tokens of each, from its own iterations.
    """

    settings: tuple[Changed, ...] = ()
    parts_at: Changed | None = None
    shared: int = 0
    replies: Changed | None = None
    iterations: tuple[int, int] = (0, 0)
    usage: tuple[Usage, Usage] = (Usage(), Usage())

    @property
    def is_same(self) -> bool:
        """Whether both ask the same and have been told the same."""
        return not self.settings and self.parts_at is None and self.replies is None


def compare(one: Transcript, other: Transcript) -> Comparison:
    """What differs between two branches.

    Args:
        one: The branch that counts as before.
        other: The branch that counts as after.
    """
    shared, parts_at = _parting(one.messages, other.messages)
    texts = one.text, other.text
    replies = None
    if texts[0] != texts[1]:
        replies = Changed(where="last reply", before=texts[0], after=texts[1])
    return Comparison(
        settings=tuple(_settings(one.settings, other.settings)),
        parts_at=parts_at,
        shared=shared,
        replies=replies,
        iterations=(len(one.iterations), len(other.iterations)),
        usage=(one.usage, other.usage),
    )


def _settings(one: Settings, other: Settings) -> list[Changed]:
    before, after = one.fields(), other.fields()
    names = [*before, *(name for name in after if name not in before)]
    return [
        Changed(where=name, before=before.get(name), after=after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]


def _parting(
    one: tuple[Message, ...], other: tuple[Message, ...]
) -> tuple[int, Changed | None]:
    """How many messages both begin with, and the first block that differs."""
    for index, (before, after) in enumerate(zip_longest(one, other)):
        # Branches share the messages from before their fork: most are the very same.
        if before is after:
            continue
        if (changed := _parting_block(index, before, after)) is not None:
            return index, changed
    return len(one), None


def _parting_block(
    index: int, before: Message | None, after: Message | None
) -> Changed | None:
    roles = [message and message["role"] for message in (before, after)]
    if roles[0] != roles[1]:
        return Changed(where=f"messages[{index}]", before=before, after=after)
    blocks = [content_of(message) if message else [] for message in (before, after)]
    for number, (old, new) in enumerate(zip_longest(*blocks)):
        if old is new or (old and new and _bare(old) == _bare(new)):
            continue
        where = f"messages[{index}].content[{number}]"
        return Changed(where=where, before=old, after=new)
    return None


def _bare(block: Block) -> Block:
    return {key: value for key, value in block.items() if key not in _IDS}
