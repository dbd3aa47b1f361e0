"""What changes between two requests, as lines of Python that change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nbrunner.core.blocks import is_empty_text
from nbrunner.core.redact import redact_json
from nbrunner.views.literal import literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbrunner.core.blocks import Block, Message

PARAMETERS = "From here on the request has other parameters."
CONTAINER = "The code container of the reply is carried on."
MARK = "A prompt-cache mark, set or taken off."
RESULT = "What Claude reads as a result is changed by hand."
MESSAGE = "What a person says goes out with the next request."
TOLD = "Claude is told of tools added and removed."
EMPTY = "The API takes no empty text in a history."
CLOSED = "A call that was cut off needs a result before anything is said."
REWRITTEN = "The conversation is rewritten."
_SINGLE = ("content", "is_error", "cache_control")
"""The fields of a block that are changed one by one; else the block is replaced."""


class Change(NamedTuple):
    """A line of Python, and why it is there."""

    why: str
    line: str


def messages_changed(
    have: Sequence[Message], wanted: Sequence[Message]
) -> list[Change]:
    """The lines that make one list of messages, called `messages`, the other."""
    same = _same(have, wanted)
    behind = _same(have[same:][::-1], wanted[same:][::-1])
    if len(have) > len(wanted) or (behind and len(have) != len(wanted)):
        return [_spliced(have, wanted, same, behind)]
    changes: list[Change] = []
    for index in range(same, len(have)):
        place = -1 if index == len(have) - 1 else index
        path = f"messages[{place}]"
        changes += _message_changed(path, have[index], wanted[index])
    for message in wanted[len(have) :]:
        head = "messages.append("
        changes.append(Change(_why(message), f"{head}{_value(message, len(head))})"))
    return changes


def assigned(path: str, value: Any) -> str:
    """The line that sets something."""
    return f"{path} = {literal(value, used=len(path) + 3)}"


def _spliced(
    have: Sequence[Message], wanted: Sequence[Message], same: int, behind: int
) -> Change:
    middle = redact_json(list(wanted[same : len(wanted) - behind]))
    return Change(REWRITTEN, assigned(f"messages[{same}:{len(have) - behind}]", middle))


def _message_changed(path: str, have: Message, wanted: Message) -> Iterator[Change]:
    if have == wanted:
        return
    if {**have, "content": 0} != {**wanted, "content": 0}:
        yield Change(REWRITTEN, assigned(path, redact_json(wanted)))
        return
    path += '["content"]'
    old, new = have["content"], wanted["content"]
    if isinstance(old, str) or isinstance(new, str):
        why = MARK if _is_marked(new) else REWRITTEN
        yield Change(why, assigned(path, redact_json(new)))
        return
    empty = [n for n, block in enumerate(old) if is_empty_text(block)]
    if empty and not any(map(is_empty_text, new)):
        for number in reversed(empty):
            yield Change(EMPTY, f"del {path}[{number}]")
        old = [block for block in old if not is_empty_text(block)]
    if len(old) > len(new):
        yield Change(REWRITTEN, assigned(path, redact_json(list(new))))
        return
    for number, block in enumerate(old):
        yield from _block_changed(f"{path}[{number}]", block, new[number])
    head = f"{path}.append("
    for block in new[len(old) :]:
        yield Change(MESSAGE, f"{head}{_value(block, len(head))})")


def _block_changed(path: str, have: Block, wanted: Block) -> Iterator[Change]:
    differing = [
        key
        for key in {**have, **wanted}
        if (key in have, have.get(key)) != (key in wanted, wanted.get(key))
    ]
    if any(key not in _SINGLE for key in differing):
        yield Change(REWRITTEN, assigned(path, redact_json(wanted)))
        return
    for key in differing:
        why = MARK if key == "cache_control" else RESULT
        place = f'{path}["{key}"]'
        if key in wanted:
            yield Change(why, assigned(place, redact_json(wanted[key])))
        else:
            yield Change(why, f"del {place}")


def _why(message: Message) -> str:
    if message["role"] == "system":
        return TOLD
    blocks = message["content"]
    starts = blocks[0] if blocks and not isinstance(blocks, str) else {}
    return CLOSED if starts.get("type") == "tool_result" else MESSAGE


def _is_marked(content: Any) -> bool:
    return not isinstance(content, str) and any("cache_control" in b for b in content)


def _value(value: Any, used: int) -> str:
    return literal(redact_json(value), used=used + 1)


def _same(have: Sequence[Message], wanted: Sequence[Message]) -> int:
    """How many messages the two have in common from their beginning on."""
    pairs = enumerate(zip(have, wanted, strict=False))
    return next(
        (index for index, (one, other) in pairs if one != other),
        min(len(have), len(wanted)),
    )
