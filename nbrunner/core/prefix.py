"""Where two requests part: what the prompt cache compares.

The API reads tools, system, messages, and keeps what comes before a mark. A later
request reads it if it begins with the same, to the byte; marks are no part of it.
"""

from __future__ import annotations

import json
import re
from itertools import zip_longest
from operator import is_
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from nbrunner.core.blocks import JSON, Block, Message, Value, content_of, is_empty_text
from nbrunner.core.caching import marks_below, without_marks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbrunner.core.request import Request

Layer: TypeAlias = Literal["model", "tools", "system", "settings", "messages"]
"""Which part of a request differs; what follows it is lost to the cache."""

MESSAGE_SETTINGS = ("tool_choice", "thinking")
"""Parameters that the cache of the messages depends on, by the documentation."""


class Difference(Value):
    """The first block of a request that is not what an earlier request had there.

    Attributes:
        place: Where it is: `model`, `tools[0]`, `system[0]`, `tool_choice`,
            `messages[2].content[0]`.
        before: What the earlier request had there; None if it had nothing.
        after: What stands there now; None if nothing does.
        blocks: How many blocks come before it, the same in both.
    """

    layer: Layer
    place: str
    before: Any = None
    after: Any = None
    blocks: int = 0

    @property
    def stands(self) -> tuple[Layer, int]:
        """In which tool, block of the system prompt or message, from 0."""
        number = re.search(r"\d+", self.place)
        return self.layer, int(number[0]) if number else 0


class _Said(NamedTuple):
    """A block of the conversation, with whose it is and where it stands."""

    place: str
    role: str
    block: Block


def first_difference(earlier: Request, later: Request) -> Difference | None:
    """Where a request parts from an earlier one; None if it only goes on from it."""
    before, after = earlier.head(), later.head()
    if before["model"] != after["model"]:
        return _difference("model", "model", before["model"], after["model"], 0)
    count = 0
    layers: tuple[Layer, ...] = ("tools", "system")
    for layer in layers:
        old, new = blocks_of(before, layer), blocks_of(after, layer)
        for number, (was, now) in enumerate(zip_longest(old, new)):
            if not _same(was, now):
                place = f"{layer}[{number}]"
                return _difference(layer, place, was, now, count)
            count += 1
    for name in MESSAGE_SETTINGS:
        was, now = before.get(name), after.get(name)
        if not _same(was, now):
            return _difference("settings", name, was, now, count)
    return _in_messages(earlier.messages, later.messages, count)


def blocks_of(body: dict[str, Any], layer: Layer) -> list[Block]:
    """The tools or the system prompt of a body, as blocks."""
    return content_of({"content": body.get(layer) or []})


def _in_messages(
    before: Sequence[Message], after: Sequence[Message], count: int
) -> Difference | None:
    # Nearly always the earlier messages are the very ones that the later begin with.
    same = list(map(is_, before, after))
    start = len(same) if all(same) else same.index(False)
    if start == len(before):
        return None
    count += sum(1 for _ in _said(before[:start], 0))
    new = _said(after, start)
    for was_said in _said(before, start):
        now_said = next(new, None)
        if now_said is None or was_said.role != now_said.role:
            return _parted(was_said, now_said, count)
        if not _same(was_said.block, now_said.block):
            return _parted(was_said, now_said, count)
        count += 1
    return None


def _parted(was: _Said, now: _Said | None, count: int) -> Difference:
    """Where conversations part; with the roles, if it is in them."""
    if now is None:
        return _difference("messages", was.place, was.block, None, count)
    before, after = was.block, now.block
    if was.role != now.role:
        before = {"role": was.role, "content": [before]}
        after = {"role": now.role, "content": [after]}
    return _difference("messages", now.place, before, after, count)


def _difference(
    layer: Layer, place: str, was: JSON, now: JSON, count: int
) -> Difference:
    return Difference(
        layer=layer,
        place=place,
        before=unmarked(was),
        after=unmarked(now),
        blocks=count,
    )


def _said(messages: Sequence[Message], start: int) -> Iterator[_Said]:
    """The blocks of a conversation in a row, as they are sent: without empty texts.

    How those of one role are parted into messages makes no difference.
    """
    for index in range(start, len(messages)):
        message = messages[index]
        for number, block in enumerate(content_of(message)):
            if not is_empty_text(block):
                place = f"messages[{index}].content[{number}]"
                yield _Said(place, message["role"], block)


def unmarked(value: JSON) -> JSON:
    """A value without its cache marks."""
    marks = frozenset(placed.path for placed in marks_below(value, ""))
    return without_marks(value, "", marks)


def _same(was: JSON, now: JSON) -> bool:
    """Whether two values are the same to the byte, their marks left out.

    Python finds 1 and True equal, and objects whose keys stand in another order.
    """
    return was is now or _bytes(was) == _bytes(now)


def _bytes(value: JSON) -> str:
    return json.dumps(unmarked(value), default=repr)
