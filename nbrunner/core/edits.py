"""Edits: changes to the next request that a person asks for, as values.

They are made by `core.apply`, at a safe point. Nothing edits a reply, nor what went
out already: to change the past is a fork.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from nbrunner.core.blocks import JSON, Block, Message, Value
from nbrunner.core.caching import Ttl
from nbrunner.core.compaction import SUMMARIZE


class ToggleCache(Value):
    """Set a cache mark, change how long it lasts, or take it off.

    Attributes:
        place: `system`, `tools`, `request` (the API chooses the block), `results`
            (the newest ones), a block such as `messages[2].content[0]`, or a
            `tool_use` id, which means the result of that call.
        ttl: How long it lasts. A mark that lasts as long is there: it is taken off.
    """

    kind: Literal["toggle_cache"] = "toggle_cache"
    place: str
    ttl: Ttl = "5m"

    def __init__(self, place: str, ttl: Ttl = "5m", **fields: Any) -> None:
        super().__init__(**{"place": place, "ttl": ttl, **fields})


class SetSystem(Value):
    """Change the system prompt from the next request on.

    Attributes:
        system: A str, a list of text blocks, or None for no system prompt.
    """

    kind: Literal["set_system"] = "set_system"
    system: JSON = None

    def __init__(self, system: JSON = None, **fields: Any) -> None:
        super().__init__(**{"system": system, **fields})


class SetTools(Value):
    """Change the tools from the next request on.

    Attributes:
        tools: Their definitions, as they stand on the wire. Tool objects may be given
            in their place; `Run.submit` keeps those, so that they run too.
    """

    kind: Literal["set_tools"] = "set_tools"
    tools: tuple[Any, ...] = ()

    def __init__(self, tools: Any = (), **fields: Any) -> None:
        super().__init__(**{"tools": tuple(tools), **fields})


class SetParams(Value):
    """Change parameters of the request from the next one on.

    Attributes:
        params: `model`, `max_tokens`, `thinking`, `tool_choice` or any other parameter
            of the SDK's `create()`, by name. None takes a parameter off.
    """

    kind: Literal["set_params"] = "set_params"
    params: dict[str, Any] = Field(default_factory=dict)

    def __init__(self, params: dict[str, Any] | None = None, **given: Any) -> None:
        named = {**(params or {}), **given}
        fields = {"kind": named.pop("kind", "set_params"), "params": named}
        super().__init__(**fields)


class EditResult(Value):
    """Change what Claude will read as the result of a call, before it goes out.

    Attributes:
        call_id: The `tool_use` id.
        content: The new `content` of the result: a str or a list of blocks.
        is_error: Whether Claude reads it as an error; None leaves that as it is.
    """

    kind: Literal["edit_result"] = "edit_result"
    call_id: str
    content: str | list[Block]
    is_error: bool | None = None

    def __init__(self, call_id: str, content: str | list[Block], **fields: Any) -> None:
        super().__init__(**{"call_id": call_id, "content": content, **fields})


class SetMessages(Value):
    """Replace the conversation before the reply in hand.

    What the SDK's `set_messages_params` does with `messages`. The iterations before
    keep what they sent and what came back.
    """

    kind: Literal["set_messages"] = "set_messages"
    messages: tuple[Message, ...]

    def __init__(self, messages: Any, **fields: Any) -> None:
        super().__init__(**{"messages": tuple(messages), **fields})


class ChangeTools(Value):
    """Add and remove tools in a message, and leave `tools` and its cache as it is.

    What the SDK's `add_tools()` and `remove_tools()` do. The API wants the beta
    `inline-tools-2026-09-15` for it.

    Attributes:
        added: Definitions, as they stand on the wire. Tool objects may be given in
            their place; `Run.submit` keeps those, so that they run too.
        removed: The names of tools that Claude may not call any more.
    """

    kind: Literal["change_tools"] = "change_tools"
    added: tuple[Any, ...] = ()
    removed: tuple[str, ...] = ()


class Compact(Value):
    """Have the conversation summarized before the next request that asks for a reply.

    What the SDK's `compact_before_next_turn()` does. The summary takes the place of
    the conversation. The API wants the beta `compact-2026-09-04` for it.

    Attributes:
        compaction: How; None takes back one that waits.
    """

    kind: Literal["compact"] = "compact"
    compaction: Block | None = Field(default_factory=lambda: dict(SUMMARIZE))


Edit: TypeAlias = Annotated[
    ToggleCache
    | SetSystem
    | SetTools
    | SetParams
    | EditResult
    | SetMessages
    | ChangeTools
    | Compact,
    Field(discriminator="kind"),
]
