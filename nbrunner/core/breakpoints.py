"""The breakpoints of a request: its marked blocks, and what each of them covers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from nbrunner.core.blocks import Value, content_of
from nbrunner.core.prefix import blocks_of

if TYPE_CHECKING:
    from nbrunner.core.blocks import Block, Message
    from nbrunner.core.request import Fitted


class Breakpoint(Value):
    """A block that carries a mark, and the prefix that it covers.

    Attributes:
        path: Where it stands in the request as it was sent.
        ttl: How long what it covers is kept after it was last read.
        on: What the block is.
        blocks: How many blocks it covers, in the order the API reads.
        tools: How many of them are tools.
        system: How many are blocks of the system prompt.
        messages: How many messages it reaches into.
        is_inside: Whether the last of these goes on behind it.
    """

    path: str
    ttl: str
    on: str
    blocks: int
    tools: int
    system: int = 0
    messages: int = 0
    is_inside: bool = False


def breakpoints_of(sent: Fitted) -> tuple[Breakpoint, ...]:
    """The marked blocks of a request as it was sent, in the order the API reads."""
    layout = _Layout(
        tools=blocks_of(sent.body, "tools"),
        system=len(blocks_of(sent.body, "system")),
        messages=sent.body["messages"],
        sizes=[facts.size for facts in sent.known],
    )
    return tuple(
        Breakpoint(path=path, ttl=ttl, **layout.covered(path))
        for path, ttl in sent.marks
    )


class _Layout(NamedTuple):
    """How many blocks stand where in a request."""

    tools: list[Block]
    system: int
    messages: list[Message]
    sizes: list[int]

    def covered(self, path: str) -> dict[str, Any]:
        """What a mark at a path is on, and what it covers."""
        match = _PATH.match(path)
        if match and match[1] == "tools":
            number = int(match[2])
            on = f"tool {self.tools[number].get('name', number)}"
            return {"on": on, "blocks": number + 1, "tools": number + 1}
        tools = len(self.tools)
        if match and match[1] == "system":
            number = int(match[2]) + 1
            blocks = tools + number
            covers = {"blocks": blocks, "tools": tools, "system": number}
            return {"on": "system prompt", **covers}
        # The API puts the mark of the top level on the last block that it can.
        index = int(match[2]) if match else len(self.sizes) - 1
        number = int(match[3] or 0) if match else max(self.sizes[index] - 1, 0)
        before = tools + self.system + sum(self.sizes[:index])
        return {
            "on": _named(self.messages, index, number),
            "blocks": before + number + 1,
            "tools": tools,
            "system": self.system,
            "messages": index + 1,
            "is_inside": number + 1 < self.sizes[index],
        }


_PATH = re.compile(r"(tools|system|messages)\[(\d+)\](?:\.content\[(\d+)\])?", re.ASCII)


def _named(messages: list[Message], index: int, number: int) -> str:
    """What a block of the conversation is, in two or three words."""
    message = messages[index]
    block = content_of(message)[number]
    kind = str(block.get("type"))
    if kind != "tool_result":
        return f"{message['role']} {kind}"
    asked = content_of(messages[index - 1]) if index else []
    names = [b.get("name") for b in asked if b.get("id") == block.get("tool_use_id")]
    return f"result of {names[0]}" if names else "tool result"
