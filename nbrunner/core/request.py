"""One request: the settings, the conversation so far, and the person's edits.

A request shares the messages of its branch and holds no copy of them; the body
that goes out is built at send time. Storing whole bodies would grow with the
square of the run (305 MB at 1,000 iterations, measured).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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
from nbrunner.core.caching import (
    MAX_MARKS,
    Mark,
    PlacedMark,
    Ttl,
    block_address,
    control,
    mark,
    marks_of,
)
from nbrunner.core.compaction import compacting
from nbrunner.core.history import Facts, all_marks, facts_of, survey, within_budget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbrunner.core.note import Note
    from nbrunner.core.tool_call import ToolCall


NAMED_SETTINGS = ("model", "max_tokens")
"""The parameters that are settings of their own, and that every request needs."""


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


class Fitted(NamedTuple):
    """What goes out, made at send time.

    Attributes:
        body: The request body: fresh lists, with the shared blocks inside.
        marks: The cache marks it carries, in the order the API reads.
        dropped: The paths of the marks that gave way.
        known: The facts of the messages in the body.
    """

    body: dict[str, Any]
    marks: list[PlacedMark]
    dropped: list[str]
    known: list[Facts]


class Request(Value):
    """A request as it stands: what is sent is `body()`, taken at send time."""

    settings: Settings
    messages: tuple[Any, ...] = Field(exclude=True, repr=False)
    """The conversation up to here, shared with the branch: never changed in place."""

    known: tuple[Any, ...] = Field(default=(), exclude=True, repr=False)
    """What is known of the conversation already; it saves work and changes nothing."""

    marks: tuple[Mark, ...] = ()
    """The cache marks that were asked for, oldest first."""

    sent: int = 0
    """How many of the messages went out before, and are the past."""

    container: str | None = None
    """The code container of a reply, carried on as the SDK's runner does."""

    compaction: Block | None = None
    """How to summarize the conversation, where this request asks for that only."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def position(self) -> int:
        """How many messages of the branch the request holds."""
        return len(self.messages)

    def body(self) -> dict[str, Any]:
        """The request body: fresh lists, with the shared blocks inside."""
        return self.fitted().body

    def head(self) -> dict[str, Any]:
        """The body without its messages, which are most of the work."""
        head = self.settings.fields()
        if self.container is not None:
            head["container"] = _in_container(head.get("container"), self.container)
        for asked in self.marks:
            if asked.place == "request":
                head["cache_control"] = control(asked.ttl)
            elif asked.place in ("tools", "system") and head.get(asked.place):
                marked = _last_marked(head[asked.place], asked.ttl)
                head[asked.place] = marked
        if self.compaction is not None:
            return compacting(head, self.compaction)
        return head

    def fitted(self) -> Fitted:
        """What goes out: within four marks, and without empty texts.

        Code may set a fifth mark (a tool that returns marked blocks, say). The
        API would refuse the request, so the oldest mark on a message is left out
        of the sent copy; the caller shows it.
        """
        head = self.head()
        free = MAX_MARKS - sum(map(len, marks_of(head)))
        known, dropped = within_budget(self._sent(free), free)
        body = {**head, "messages": [facts.message for facts in known]}
        return Fitted(body, all_marks(head, known), dropped, known)

    def _sent(self, free: int) -> list[Facts]:
        """The messages as they go out: marks on, empty texts and messages out."""
        known = survey(self.messages, self.known)
        wanted = self._wanted(known, free)
        return [
            sent
            for index, facts in enumerate(known)
            if (
                sent := facts
                if index not in wanted and facts.is_sent_as_is
                else _changed(facts, wanted.get(index, {}))
            )
        ]

    def _wanted(self, known: Sequence[Facts], free: int) -> dict[int, dict[int, Ttl]]:
        """The marks that were asked for on blocks, by message and block."""
        wanted: dict[int, dict[int, Ttl]] = {}
        automatic: Ttl | None = None
        for asked in self.marks:
            if asked.place == "results":
                automatic = asked.ttl
            elif (address := address_of(asked.place, known)) is not None:
                wanted.setdefault(address[0], {})[address[1]] = asked.ttl
        if automatic is None:
            return wanted
        free -= sum(map(len, wanted.values()))
        free -= sum(len(facts.marks) for facts in known)
        for index in _with_results(known)[::-1][: max(free, 0)]:
            number, _ = known[index].results[-1]
            wanted.setdefault(index, {}).setdefault(number, automatic)
        return wanted


def address_of(place: str, known: Sequence[Facts]) -> tuple[int, int] | None:
    """The message and the block of a place in the conversation; None if not there."""
    address = block_address(place)
    if address is not None:
        index, number = address
        is_there = index < len(known) and number < known[index].size
        return address if is_there else None
    for index in _with_results(known)[::-1]:
        for number, call_id in known[index].results:
            if call_id == place and known[index].role == "user":
                return index, number
    return None


def _with_results(known: Sequence[Facts]) -> list[int]:
    return [index for index, facts in enumerate(known) if facts.results]


def _changed(facts: Facts, marks: dict[int, Ttl]) -> Facts | None:
    """A message with the marks on and its empty texts out; None if it is left empty."""
    blocks = [
        mark(block, marks[number]) if number in marks else block
        for number, block in enumerate(content_of(facts.message))
        if not is_empty_text(block)
    ]
    return facts_of({**facts.message, "content": blocks}) if blocks else None


def _last_marked(value: JSON, ttl: Ttl) -> list[Block]:
    """Tools or a system prompt with a mark on the last block."""
    blocks = [{"type": "text", "text": value}] if isinstance(value, str) else value
    return [*blocks[:-1], mark(blocks[-1], ttl)]


def _in_container(chosen: JSON, container: str) -> JSON:
    """What to name as the container, given what the settings name."""
    if isinstance(chosen, dict) and not chosen.get("id"):
        return {**chosen, "id": container}
    return chosen or container


def with_notes(
    messages: tuple[Message, ...], notes: Sequence[Note]
) -> tuple[Message, ...]:
    """The conversation with a person's messages at its end.

    After tool results their texts join the same user message, behind the results, so
    that the reply they follow is kept and its calls stay answered. A message that was
    given as one stands for itself.
    """
    for note in notes:
        if note.message is None:
            messages = _with_text(messages, note.text)
        else:
            messages = (*messages, note.message)
    return messages


def _with_text(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    blocks: list[Block] = [{"type": "text", "text": text}]
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
    messages: tuple[Message, ...], why: str, ran: Mapping[str, ToolCall]
) -> tuple[Message, ...]:
    """The conversation with a result for every call of a reply that was cut off.

    A reply cut off by `max_tokens` can end inside a call. The API takes no user
    message after it unless each of its calls has a result.

    Args:
        messages: The conversation.
        why: What Claude is told of a call that did not run.
        ran: The calls that ran while the reply came, by id.
    """
    last = messages[-1] if messages else None
    if last is None or last["role"] != "assistant":
        return messages
    uses = tool_uses(content_of(last))
    results = [
        result_of(use, call.result, is_error=call.is_error)
        if (call := ran.get(use["id"])) is not None
        else result_of(use, why, is_error=True)
        for use in uses
    ]
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
