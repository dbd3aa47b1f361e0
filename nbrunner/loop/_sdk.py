"""The only caller of the SDK's runner: one request and its reply each.

Public SDK API only; what we rely on is pinned in tests/loop/test_sdk_contract.py.
SDK objects go no further than this file: a reply leaves it as plain JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import anthropic
from anthropic.lib.tools import BetaStreamingToolRunner, BetaToolRunner

from nbrunner.errors import (
    NoKey,
    NotAClient,
    UnknownParameter,
)
from nbrunner.loop._failures import SilentEnd

if TYPE_CHECKING:
    from nbrunner.core.blocks import Message


_REQUEST_OPTIONS = ("extra_headers", "extra_query", "extra_body", "timeout")

_NO_THREAD = (
    "thread: a run keeps the conversation itself, so that it can be edited, and sends "
    "the whole of it. Only thread=False is taken."
)

_GONE = {
    "compaction_control": (
        "compaction_control is gone from the SDK. context_management={...} lets the "
        "API compact, and run.compact_before_next_turn() does it at a time you choose."
    ),
}
_OF_THE_LOOP = ("stream", "max_iterations", "run_tools_eagerly")
_NOT_SENT = (
    "{name} is not sent with a request: it is the loop's, and is given to Run(...) or "
    "tool_runner(...) when the run is made."
)


class Part(NamedTuple):
    """A piece of a reply as it streams in."""

    block: int
    kind: Literal["started", "text", "thinking", "input", "call"]
    value: Any


OnPart: TypeAlias = Callable[[Part], None]


class Exchange:
    """One request, its reply, and the results of its calls, through one SDK runner.

    The runner is never asked for a second reply: the history is ours.

    Args:
        client: The SDK's client.
        body: The request.
        tools: What runs for its calls.
        stream: Whether the reply is streamed.
        eager: Whether calls run while it is, each once the model has moved on from it.
    """

    def __init__(
        self,
        client: anthropic.Anthropic,
        body: Mapping[str, Any],
        tools: Iterable[Any],
        *,
        stream: bool,
        eager: bool = False,
    ) -> None:
        options = {key: body[key] for key in _REQUEST_OPTIONS if key in body}
        apart = (*_REQUEST_OPTIONS, "compaction")
        params = {k: v for k, v in body.items() if k not in apart}
        runner: Any = BetaStreamingToolRunner if stream else BetaToolRunner
        eagerly = {"run_tools_eagerly": True} if eager else {}
        self._runner = runner(
            params={**params, "thread": False},
            tools=list(tools),
            client=client,
            options=options,
            max_iterations=1,
            **eagerly,
        )
        if "compaction" in body:
            # It goes out before the first request, and is the only one.
            self._runner.compact_before_next_turn(body["compaction"])
        self._stream, self._eager = stream, eager
        self._item: Any = None
        self._not_begun: list[Any] = []
        self._begun: set[str] = set()
        self.reply: Any = None
        """The reply as the SDK's message, once it is whole."""

    def send(self) -> Any:
        """Send the request; returns what the SDK's runner hands out.

        That is a message, or with `stream` a stream of which nothing is read yet.

        Raises:
            Exception: What the SDK raises, or its transport.
        """
        self._item = next(self._runner)
        return self._item

    def read(self, on_part: OnPart) -> Message:
        """Read the rest of the reply, to its end.

        Args:
            on_part: Told of each piece while it streams; may raise to break off.

        Returns:
            The message as JSON, kept as the API sent it.

        Raises:
            SilentEnd: The stream ended before the reply was whole.
            Exception: A broken stream escapes as a bare httpx2 error, and a reply of
                another shape as almost anything (tests/loop/test_sdk_contract.py).
        """
        item = self._item
        if self._stream:
            for event in item:
                if (part := self.part_of(event)) is not None:
                    on_part(part)
            item = item.get_final_message()
            if item.stop_reason is None:
                raise SilentEnd
        _kept_class(item.__class__)
        message: Message = plain(item)
        self.reply = item
        calls = (block for block in item.content if block.type == "tool_use")
        self._not_begun = [call for call in calls if call.id not in self._begun]
        return message

    def part_of(self, event: Any) -> Part | None:
        """The piece of the reply that a stream event brings, if it brings one.

        With eager tools that is also a call which is whole: told before it can run.
        """
        if event.type == "content_block_start":
            return Part(event.index, "started", plain(event.content_block))
        if event.type == "content_block_delta":
            return _grown(event)
        is_whole = self._eager and event.type == "content_block_stop"
        if is_whole and event.content_block.type == "tool_use":
            self._not_begun.append(event.content_block)
            return Part(event.index, "call", plain(event.content_block))
        return None

    def hold(self, call: Any) -> None:
        """Let a call wait until the reply is whole, as the SDK's `defer_tool_call`.

        Args:
            call: Its `tool_use` block, or its id.
        """
        if self._eager:
            self._runner.defer_tool_call(call)

    @property
    def held(self) -> list[Any]:
        """The `tool_use` blocks of the calls that were told to wait, and still do."""
        return list(self._runner.deferred_tool_calls) if self._eager else []

    def take_gate(self, gate: Any) -> None:
        """Have this answer the calls of its name from now on."""
        # Added to a runner that sends nothing more: it changes who answers the calls
        # in hand, and nothing on the wire.
        self._runner.add_tools(gate)

    def answer_calls(self, gates: Mapping[str, Any]) -> Message:
        """Run the reply's calls; returns the user message with their results.

        Args:
            gates: What answers for each name; None where the runner does so itself.
        """
        for gate in gates.values():
            if gate is not None:
                self.take_gate(gate)
        message: Message = plain(self._runner.generate_tool_call_response())
        return message

    @property
    def named(self) -> list[str]:
        """The names of the tools that the reply calls, toolsets left out."""
        calls = (call for call in self._not_begun if not call.toolset_name)
        return sorted({call.name for call in calls})

    @property
    def calls(self) -> list[Any]:
        """The `tool_use` blocks of the reply whose calls have not begun."""
        return list(self._not_begun)

    def call_id(self, call_input: object) -> str:
        """The id of the call whose input object this is.

        The SDK hands a tool the very object that the block holds, and each call
        once: two calls may hold the same `None`.
        """
        inputs = [call.input for call in self._not_begun]
        place = next(n for n, given in enumerate(inputs) if given is call_input)
        call_id = str(self._not_begun.pop(place).id)
        self._begun.add(call_id)
        return call_id

    def close(self) -> None:
        """Let go of the connection; a reply half read is dropped."""
        self._runner.close()


@lru_cache(maxsize=8)
def _kept_class(of_a_reply: type) -> type:
    """The class of a reply, which the cache of this function keeps.

    It is generic: pydantic makes it when it is asked for and holds it weakly. When no
    reply of it is left, which for us is between two requests, the next one has it made
    anew, at 25 ms (tests/loop/test_sdk_contract.py).
    """
    return of_a_reply


def plain(value: Any) -> Any:
    """A value with every SDK model in it as the JSON it came from."""
    if isinstance(value, anthropic.BaseModel):
        return value.to_dict(mode="json", warnings=False)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def message_of(reply: Mapping[str, Any]) -> Any:
    """A reply as the SDK's message, for those who read it as one."""
    kind = anthropic.types.beta.BetaMessage
    try:
        return kind.model_validate(reply)
    except ValueError:
        # A block that this version of the SDK does not know.
        return kind.model_construct(**reply)


def checked_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, each of which the SDK's runner takes.

    Raises:
        UnknownParameter: One is unknown (the near matches are named), or `thread` asks
            for what a run does not do. It is a TypeError.
    """
    runner = anthropic.resources.beta.messages.Messages.tool_runner
    known = set(inspect.signature(runner).parameters) - {"self"}
    for name in given:
        if name in _GONE:
            raise UnknownParameter(name, (), _GONE[name])
        if name not in known:
            raise UnknownParameter(name, known)
        if name in _OF_THE_LOOP:
            raise UnknownParameter(name, (), _NOT_SENT.format(name=name))
    if given.get("thread", False) is not False:
        raise UnknownParameter("thread", (), _NO_THREAD)
    return {name: value for name, value in given.items() if name != "thread"}


def checked_client(client: Any) -> Any:
    """The client, if a run can use it.

    Raises:
        NotAClient: It is the SDK's client for asyncio.
    """
    # By name too: the clients for other platforms share no public base class.
    is_async = type(client).__name__.startswith("Async")
    if is_async or isinstance(client, anthropic.AsyncAnthropic):
        raise NotAClient.asynchronous(client)
    return client


def live_client() -> anthropic.Anthropic:
    """A client from the environment.

    Raises:
        NoKey: The environment holds no key and no other credentials.
    """
    client = anthropic.Anthropic()
    if not (client.api_key or client.auth_token or client.credentials):
        raise NoKey
    return client


def _grown(event: Any) -> Part | None:
    delta = event.delta
    if delta.type == "text_delta":
        return Part(event.index, "text", delta.text)
    if delta.type == "thinking_delta":
        return Part(event.index, "thinking", delta.thinking)
    if delta.type == "input_json_delta":
        return Part(event.index, "input", delta.partial_json)
    return None
