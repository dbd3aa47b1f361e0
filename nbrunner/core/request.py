"""One request: the settings, the conversation so far, and the person's edits.

A request shares the messages of its branch and holds no copy of them; the body
that goes out is built at send time. Storing whole bodies would grow with the
square of the run (305 MB at 1,000 iterations, measured).
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, computed_field

from nbrunner.core.blocks import (
    JSON,
    Block,
    Message,
    Value,
    content_of,
    is_empty_text,
    tool_uses,
)
from nbrunner.core.caching import MAX_MARKS, mark, marked_places, within_budget


class Settings(Value):
    """What every request of a run carries besides the conversation."""

    model: str
    max_tokens: int
    system: Any = None
    tools: tuple[Block, ...] = ()
    params: dict[str, Any] = Field(default_factory=dict)
    """Any other parameter of the SDK's `create()`, as the person gave it."""

    def fields(self) -> dict[str, Any]:
        """The settings as fields of a request body; what is not set is left out."""
        body: dict[str, Any] = {"model": self.model, "max_tokens": self.max_tokens}
        if self.system is not None:
            body["system"] = self.system
        if self.tools:
            body["tools"] = list(self.tools)
        return {**self.params, **body}


class Request(Value):
    """A request as it stands: what is sent is `body()`, taken at send time."""

    settings: Settings
    messages: tuple[Any, ...] = Field(exclude=True, repr=False)
    """The conversation up to here, shared with the branch: never changed in place."""

    marks: tuple[str, ...] = ()
    """The `tool_use` ids whose results carry a breakpoint, oldest first."""

    container: str | None = None
    """The code container of a reply, carried on as the SDK's runner does."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def position(self) -> int:
        """How many messages of the branch the request holds."""
        return len(self.messages)

    def body(self) -> dict[str, Any]:
        """The request body: fresh lists, with the shared blocks inside."""
        return self.fitted()[0]

    def fitted(self) -> tuple[dict[str, Any], list[str]]:
        """The body within four marks, and the paths of the marks that gave way.

        Code may set a fifth mark (a tool that returns marked blocks, say). The
        API would refuse the request, so the oldest mark on a message is left out
        of the sent copy; the caller shows it.
        """
        body = self.settings.fields()
        if self.container is not None:
            body["container"] = _in_container(body.get("container"), self.container)
        messages = [sent for m in self.messages if (sent := self._sent(m))]
        elsewhere = len(marked_places({**body, "messages": []}))
        body["messages"], dropped = within_budget(messages, MAX_MARKS - elsewhere)
        return body, dropped

    def _sent(self, message: Message) -> Message | None:
        """The message as it goes out: marks on, empty text out; None if empty."""
        content = message["content"]
        if isinstance(content, str):
            return message
        blocks = [self._marked(block) for block in content if not is_empty_text(block)]
        if not blocks:
            return None
        unchanged = list(map(id, blocks)) == list(map(id, content))
        return message if unchanged else {**message, "content": blocks}

    def _marked(self, block: Block) -> Block:
        marked = self.marks and block.get("tool_use_id") in self.marks
        return mark(block) if marked else block


def _in_container(chosen: JSON, container: str) -> JSON:
    """What to name as the container, given what the settings name."""
    if isinstance(chosen, dict) and not chosen.get("id"):
        return {**chosen, "id": container}
    return chosen or container


def with_notes(messages: tuple[Message, ...], texts: list[str]) -> tuple[Message, ...]:
    """The conversation with a person's messages at its end.

    After tool results they join the same user message, behind the results, so
    that the reply they follow is kept and its calls stay answered.
    """
    if not texts:
        return messages
    blocks: list[Block] = [{"type": "text", "text": text} for text in texts]
    last = messages[-1] if messages else None
    if (
        last is not None
        and last["role"] == "user"
        and not isinstance(last["content"], str)
    ):
        joined = {**last, "content": [*last["content"], *blocks]}
        return (*messages[:-1], joined)
    return (*messages, {"role": "user", "content": blocks})


def with_open_calls_closed(
    messages: tuple[Message, ...], why: str
) -> tuple[Message, ...]:
    """The conversation with an error result for every call nobody answered.

    A reply cut off by `max_tokens` can end inside a call. The API takes no user
    message after it unless each of its calls has a result.
    """
    last = messages[-1] if messages else None
    if last is None or last["role"] != "assistant":
        return messages
    uses = tool_uses(content_of(last))
    results = [result_of(use, why, is_error=True) for use in uses]
    if not results:
        return messages
    return (*messages, {"role": "user", "content": results})


def result_of(use: Block, content: JSON, *, is_error: bool) -> Block:
    """The `tool_result` block that answers a `tool_use` block."""
    block = {"type": "tool_result", "tool_use_id": use["id"], "content": content}
    if use.get("toolset_name"):
        # The API wants it back: it tells apart what two toolsets call the same.
        block["toolset_name"] = use["toolset_name"]
    return {**block, "is_error": True} if is_error else block
