"""Tools added and removed in the middle of a conversation, without a new `tools`.

The SDK's `add_tools()` and `remove_tools()`: a message of the role `system` with
`tool_addition` and `tool_removal` blocks, which keeps the prompt cache of what stands
before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.blocks import Block, Message, content_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbrunner.core.history import Facts

NEEDED_BETA = "inline-tools-2026-09-15"
"""Without it the API takes no such message; the SDK does not add it by itself."""


def addition_of(definition: Block) -> Block:
    """The block that adds a tool."""
    tool = {"type": "tool_definition", "definition": definition}
    return {"type": "tool_addition", "tool": tool}


def removal_of(name: str) -> Block:
    """The block that removes a tool."""
    return {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}}


def with_tool_changes(
    messages: tuple[Message, ...], changes: Sequence[Block]
) -> tuple[Message, ...]:
    """The conversation with those changes told at its end, as the SDK tells them."""
    if not changes:
        return messages
    return (*messages, {"role": "system", "content": list(changes)})


def tells_of_tools(message: Message) -> bool:
    """Whether a message does nothing but tell of tools added and removed."""
    blocks = content_of(message) if message["role"] == "system" else []
    return bool(blocks) and all(block.get("type") in _CHANGES for block in blocks)


def offered(
    tools: Iterable[Block], known: Iterable[Facts], pending: Iterable[Block] = ()
) -> list[Block]:
    """The definitions of the tools that Claude may call where a conversation stands.

    Args:
        tools: The `tools` of the request.
        known: The facts of its messages.
        pending: Changes that go out with the next request.
    """
    at_hand = list(tools)
    known_by_name = {tool.get("name"): tool for tool in at_hand}
    for change in (*_told(known), *pending):
        tool = change.get("tool") or {}
        definition = tool.get("definition") or known_by_name.get(tool.get("name"))
        name = (definition or tool).get("name")
        at_hand = [t for t in at_hand if name is None or t.get("name") != name]
        if change.get("type") == "tool_addition" and definition is not None:
            at_hand.append(definition)
            known_by_name[name] = definition
    return at_hand


def declared(
    tools: Iterable[Block], known: Iterable[Facts], pending: Iterable[Block] = ()
) -> list[Block]:
    """The definitions of the tools that were ever offered there, newest of a name.

    Args:
        tools: The `tools` of the request.
        known: The facts of its messages.
        pending: Changes that go out with the next request.
    """
    added = [(c.get("tool") or {}).get("definition") for c in (*_told(known), *pending)]
    all_given = [*tools, *(definition for definition in added if definition)]
    # A toolset has no name, and is none but itself.
    numbered = {tool.get("name", n): tool for n, tool in enumerate(all_given)}
    return list(numbered.values())


def name_in(change: Block) -> str | None:
    """Which tool a change is of, by its name."""
    tool = change.get("tool") or {}
    name: str | None = (tool.get("definition") or tool).get("name")
    return name


def _told(known: Iterable[Facts]) -> Iterator[Block]:
    """The changes that the messages tell, oldest first."""
    for facts in known:
        if facts.role == "system":
            blocks = content_of(facts.message)
        elif facts.starts_with == "compaction":
            # It stands for the system messages of what it summarizes.
            blocks = content_of(facts.message)[0].get("tool_changes") or []
        else:
            continue
        yield from (b for b in blocks if b.get("type") in _CHANGES)


_CHANGES = ("tool_addition", "tool_removal")
