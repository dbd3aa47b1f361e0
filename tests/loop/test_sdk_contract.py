"""What our code relies on in the SDK, beyond what its documentation says.

When one of these fails on a new SDK, read the code that names it before mending it.
"""

from __future__ import annotations

import inspect
import json
import logging
import traceback
from typing import TYPE_CHECKING, Any

import anthropic
import anyio
import httpx2
import pydantic
import pytest
from anthropic import beta_async_tool, beta_tool
from anthropic.lib.tools import (
    BetaBuiltinFunctionTool,
    BetaStreamingToolRunner,
    BetaToolRunner,
    ToolError,
)
from anthropic.lib.tools.mcp import async_mcp_tool, mcp_tool
from anthropic.tools import ToolsetClosedError
from mcp.types import CallToolResult, TextContent, Tool

from nbrunner.replay import cut, reply, say, use
from tests.loop.test_toolsets import Browser, member
from tests.loop.toolkit import IMAGE, counted_tools
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

ADD = use("add", a=1, b=2)

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


_begun: list[Any] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the runners that a test leaves in the middle.

    Their generators hold a span. Where the garbage collector ends one while a context
    variable is being set, CPython 3.11 crashes.
    """
    yield
    for runner in _begun:
        runner.close()
    _begun.clear()


def one_step(wire: Wire, tools: list[Any], *, stream: bool = False, **more: Any) -> Any:
    """A runner for one request, as `Exchange` makes it."""
    kind: Any = BetaStreamingToolRunner if stream else BetaToolRunner
    return kind(
        params={
            "model": "claude-opus-5",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": "1 + 2?"}],
            "thread": False,
        },
        tools=tools,
        client=wire.client,
        options={},
        max_iterations=1,
        **more,
    )


def read(runner: Any, *, stream: bool) -> Any:
    _begun.append(runner)
    item = next(runner)
    return item.get_final_message() if stream else item


class Given(BetaBuiltinFunctionTool):
    """A tool that notes the very objects it is given, and does as it is told."""

    def __init__(self, result: Any = "so", name: str = "add") -> None:
        self.inputs: list[object] = []
        self._result, self._name = result, name

    def to_dict(self) -> Any:
        return {"name": self._name, "input_schema": {"type": "object"}}

    def call(self, input: object) -> Any:  # noqa: A002 - the SDK names it so
        self.inputs.append(input)
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result


def result_of(tool: Any) -> dict[str, Any]:
    runner = one_step(Wire([ADD]), [tool])
    read(runner, stream=False)
    block: dict[str, Any] = runner.generate_tool_call_response()["content"][0]
    return block


@both_ways
def test_a_tool_is_given_the_very_input_object_that_its_block_holds(
    *,
    stream: bool,
) -> None:
    tool = Given()
    runner = one_step(Wire([ADD, say("and"), ADD]), [tool], stream=stream)
    message = read(runner, stream=stream)
    runner.generate_tool_call_response()
    blocks = [block for block in message.content if block.type == "tool_use"]
    assert list(map(id, tool.inputs)) == [id(block.input) for block in blocks]
    assert tool.inputs[0] is not tool.inputs[1]


def test_calls_run_one_after_another_in_the_model_s_order_in_the_asking_thread() -> (
    None
):
    tool = Given()
    runner = one_step(Wire([use("add", n=1), use("add", n=2), use("add", n=3)]), [tool])
    read(runner, stream=False)
    runner.generate_tool_call_response()
    assert tool.inputs == [{"n": 1}, {"n": 2}, {"n": 3}]


@both_ways
def test_the_response_is_made_once_and_then_kept(*, stream: bool) -> None:
    tool = Given()
    runner = one_step(Wire([ADD]), [tool], stream=stream)
    read(runner, stream=stream)
    first = runner.generate_tool_call_response()
    assert runner.generate_tool_call_response() is first
    assert len(tool.inputs) == 1


def test_a_tool_added_while_a_reply_is_handled_answers_its_calls() -> None:
    wire, tool = Wire([use("ad")]), Given(name="ad")
    runner = one_step(wire, [])
    read(runner, stream=False)
    runner.add_tools(tool)
    assert runner.generate_tool_call_response()["content"][0]["content"] == "so"
    runner.close()
    assert len(wire.bodies) == 1


def test_a_gate_is_sent_as_what_its_to_dict_says_and_nothing_of_it_is_sent_apart() -> (
    None
):
    wire = Wire("3")
    read(one_step(wire, [Given()]), stream=False)
    assert "tools" not in wire.bodies[0]


def test_an_unknown_tool_is_answered_with_one_sentence_and_a_warning() -> None:
    runner = one_step(Wire([use("ad")]), [])
    read(runner, stream=False)
    with pytest.warns(UserWarning, match="Tool 'ad' not found in tool runner"):
        response = runner.generate_tool_call_response()
    assert response["content"][0]["content"] == "Error: Tool 'ad' not found"
    assert response["content"][0]["is_error"] is True


@pytest.mark.parametrize(
    "content", ["bad", "", [{"type": "text", "text": "bad"}, IMAGE]]
)
def test_the_content_of_a_tool_error_is_sent_as_it_is_and_not_logged(
    content: Any, caplog: pytest.LogCaptureFixture
) -> None:
    block = result_of(Given(ToolError(content)))
    assert block == {
        "type": "tool_result",
        "tool_use_id": "toolu_01",
        "content": content,
        "is_error": True,
    }
    assert caplog.records == []


def test_the_repr_of_any_other_error_is_cut_at_4096_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    block = result_of(Given(ValueError("x" * 10_000)))
    assert block["content"] == repr(ValueError("x" * 10_000))[:4096]
    (record,) = caplog.records
    assert record.name == "anthropic.lib.tools._beta_runner"
    assert record.levelno == logging.ERROR


def test_an_error_whose_repr_raises_ends_the_loop() -> None:
    class Mute(Exception):
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        result_of(Given(Mute()))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_an_interrupt_inside_a_tool_goes_through(error: BaseException) -> None:
    with pytest.raises(type(error)):
        result_of(Given(error))


@pytest.mark.parametrize(
    ("returned", "sent"),
    [
        ("text", "text"),
        ("", ""),
        ("half \ud83d", "half \N{REPLACEMENT CHARACTER}"),
        ([], []),
        (None, None),
        ({"a": 1, "b": 2}, ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        (b"ab", [97, 98]),
        ({"a"}, ["a"]),
        (({"type": "text", "text": "t"},), [{"type": "text", "text": "t"}]),
    ],
)
def test_what_a_return_value_becomes(returned: Any, sent: Any) -> None:
    block = result_of(Given(returned))
    assert block["content"] == sent
    assert "is_error" not in block


@pytest.mark.parametrize("returned", [1, 1.5, True, object()])
def test_what_cannot_be_iterated_becomes_a_type_error(returned: Any) -> None:
    kind = type(returned).__name__
    block = result_of(Given(returned))
    assert block["content"] == f"TypeError(\"'{kind}' object is not iterable\")"
    assert block["is_error"] is True


def test_an_input_that_fails_validation_is_told_without_any_detail() -> None:
    runner = one_step(Wire([use("add", a="one")]), counted_tools([]))
    read(runner, stream=False)
    block = runner.generate_tool_call_response()["content"][0]
    assert block["content"] == "ValueError('Invalid arguments for function add')"


def test_a_validation_error_of_the_tool_s_own_body_looks_the_same() -> None:
    class City(pydantic.BaseModel):
        name: str

    @beta_tool
    def find() -> str:
        """Find a city."""
        return City.model_validate({}).name

    with pytest.raises(ValueError, match="Invalid arguments for function find") as seen:
        find.call({})
    assert isinstance(seen.value.__cause__, pydantic.ValidationError)
    names = [
        frame.name for frame in traceback.extract_tb(seen.value.__cause__.__traceback__)
    ]
    assert names[-2:] == ["find", "model_validate"]


@both_ways
def test_the_sdk_sends_no_second_request_with_max_iterations_1(*, stream: bool) -> None:
    wire = Wire([ADD], "3")
    runner = one_step(wire, counted_tools([]), stream=stream)
    read(runner, stream=stream)
    runner.close()
    assert list(runner) == []
    assert len(wire.bodies) == 1


@both_ways
def test_closing_a_runner_runs_no_tool(*, stream: bool) -> None:
    calls: list[Any] = []
    runner = one_step(Wire([ADD]), counted_tools(calls), stream=stream)
    read(runner, stream=stream)
    runner.close()
    assert calls == []


def test_a_stream_that_ends_without_a_word_raises_nothing() -> None:
    runner = one_step(
        Wire(cut([say("one two three four five six"), ADD], 6)), [], stream=True
    )
    message = read(runner, stream=True)
    assert message.stop_reason is None


def test_a_connection_that_drops_in_a_stream_escapes_as_a_bare_httpx2_error() -> None:
    runner = one_step(Wire(cut("one two three four five", 4, "drop")), [], stream=True)
    with pytest.raises(httpx2.RemoteProtocolError) as caught:
        read(runner, stream=True)
    assert not isinstance(caught.value, anthropic.AnthropicError)


def test_a_connection_that_drops_before_a_whole_reply_is_a_connection_error() -> None:
    def refuse() -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    with pytest.raises(anthropic.APIConnectionError) as caught:
        read(one_step(Wire(faults={0: refuse}), []), stream=False)
    assert isinstance(caught.value.__cause__, httpx2.ConnectError)


def test_an_error_event_in_a_stream_has_the_status_the_stream_began_with() -> None:
    replies = cut("one two three four five", 4, "overloaded_error")
    runner = one_step(Wire(replies), [], stream=True)
    with pytest.raises(anthropic.APIStatusError) as caught:
        read(runner, stream=True)
    assert caught.value.status_code == 200
    assert caught.value.type == "overloaded_error"
    assert not isinstance(caught.value, anthropic.InternalServerError)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", json.JSONDecodeError),
        (b"<html>", json.JSONDecodeError),
        (b"{}", TypeError),
        (b"[]", AttributeError),
        (b'{"content": "hi"}', AttributeError),
    ],
)
def test_a_reply_that_is_no_message_escapes_as_whatever_the_sdk_trips_over(
    content: bytes, kind: type[Exception]
) -> None:
    def answer() -> httpx2.Response:
        headers = {"content-type": "application/json"}
        return httpx2.Response(200, content=content, headers=headers)

    with pytest.raises(kind):
        read(one_step(Wire(faults={0: answer}), []), stream=False)


def test_text_that_is_not_utf_8_cannot_be_sent() -> None:
    client = Wire("so").client
    with pytest.raises(UnicodeEncodeError):
        client.beta.messages.create(
            model="claude-opus-5",
            max_tokens=1,
            messages=[{"role": "user", "content": "half \ud83d"}],
        )


def test_a_value_that_is_not_json_cannot_be_sent() -> None:
    with pytest.raises(TypeError, match="JSON serializable"):
        Wire("so").client.beta.messages.create(
            model="claude-opus-5",
            max_tokens=1,
            messages=[{"role": "user", "content": object()}],
        )


def test_the_first_container_of_a_conversation_is_kept() -> None:
    wire = Wire(
        reply(ADD, container={"id": "c1", "expires_at": "2026-12-01T00:00:00Z"}),
        reply(ADD, container={"id": "c2", "expires_at": "2026-12-01T00:00:00Z"}),
        "3",
    )
    runner = wire.client.beta.messages.tool_runner(
        model="claude-opus-5",
        max_tokens=9,
        messages=[{"role": "user", "content": "1 + 2?"}],
        tools=counted_tools([]),
        thread=False,
    )
    runner.until_done()
    assert [body.get("container") for body in wire.bodies] == [None, "c1", "c1"]


def test_the_parameters_of_tool_runner_are_those_that_a_run_passes_on() -> None:
    messages = anthropic.resources.beta.messages.Messages
    known = set(inspect.signature(messages.tool_runner).parameters)
    assert {"thread", "stream", "max_iterations", "tools", "system"} <= known
    assert "temperature" not in known


@both_ways
def test_the_class_of_a_reply_is_the_same_while_somebody_holds_it(
    *, stream: bool
) -> None:
    wire = Wire("One.", "Two.")
    first, second = (
        type(read(one_step(wire, [], stream=stream), stream=stream)) for _ in range(2)
    )
    assert first is second


def test_a_tool_added_under_a_name_that_is_taken_answers_in_its_place() -> None:
    wire, first, second = Wire([ADD]), Given("first"), Given("second")
    runner = one_step(wire, [first])
    read(runner, stream=False)
    runner.add_tools(second)
    assert runner.generate_tool_call_response()["content"][0]["content"] == "second"
    assert first.inputs == []


@both_ways
def test_a_compaction_asked_for_at_first_is_the_only_request(*, stream: bool) -> None:
    compaction = {"type": "compaction", "content": "So.", "encrypted_content": "E="}
    wire = Wire(reply(compaction, stop_reason="compaction"), "3")
    runner = one_step(wire, [], stream=stream)
    runner.compact_before_next_turn({"type": "summarize"})
    assert read(runner, stream=stream).stop_reason == "compaction"
    runner.close()
    (body,) = wire.bodies
    assert body["compaction"] == {"type": "summarize"}
    assert body["messages"] == [{"role": "user", "content": "1 + 2?"}]


def test_a_compaction_is_no_parameter_of_a_runner() -> None:
    with pytest.raises(ValueError, match="`compaction` cannot be set"):
        BetaToolRunner(
            params={
                "model": "claude-opus-5",
                "max_tokens": 9,
                "messages": [],
                "compaction": {"type": "summarize"},
            },
            tools=[],
            client=Wire().client,
            options={},
        )


@both_ways
def test_middleware_is_called_for_each_time_that_a_request_is_sent(
    *, stream: bool
) -> None:
    seen: list[tuple[int, int]] = []

    def note(request: Any, send: Any) -> Any:
        response = send(request)
        seen.append((request.retries_taken, response.status_code))
        return response

    def busy() -> httpx2.Response:
        return httpx2.Response(529, json={}, headers={"retry-after-ms": "1"})

    wire = Wire("3", faults={0: busy})
    client = wire.client.with_options(max_retries=1).with_middleware(note)
    kind: Any = BetaStreamingToolRunner if stream else BetaToolRunner
    runner = kind(
        params={
            "model": "claude-opus-5",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "1 + 2?"}],
            "thread": False,
        },
        tools=[],
        client=client,
        options={},
        max_iterations=1,
    )
    assert read(runner, stream=stream).content[0].text == "3"
    assert seen == [(0, 529), (1, 200)]
    assert wire.bodies[0] == wire.bodies[1]


def test_what_a_middleware_raises_ends_the_retries_as_it_is() -> None:
    def leave(*_: Any) -> Any:
        raise KeyboardInterrupt

    client = Wire("3").client.with_middleware(leave)
    with pytest.raises(KeyboardInterrupt):
        client.beta.messages.create(
            model="claude-opus-5",
            max_tokens=1,
            messages=[{"role": "user", "content": "?"}],
        )


def test_the_sdk_logs_requests_below_the_name_anthropic_and_no_replies(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="anthropic")
    caplog.set_level(logging.DEBUG, logger="httpx2")
    read(one_step(Wire("a reply of its own"), [], stream=True), stream=True)
    assert {it.name.split(".")[0] for it in caplog.records} == {"anthropic", "httpx2"}
    assert "'content': '1 + 2?'" in caplog.text
    assert "a reply of its own" not in caplog.text


class Session:
    """An MCP session that has no server."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        return CallToolResult(content=[TextContent(text=f"{name} {arguments}")])


MCP_TOOL = Tool(name="add", input_schema={"type": "object"})


@pytest.mark.parametrize("helper", [mcp_tool, async_mcp_tool])
def test_the_function_of_an_mcp_tool_is_of_the_helpers_module(helper: Any) -> None:
    assert helper(MCP_TOOL, Session()).func.__module__ == "anthropic.lib.tools.mcp"


def test_a_plain_mcp_tool_is_called_from_a_thread_of_its_session_s_loop() -> None:
    tool = mcp_tool(MCP_TOOL, Session())  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        tool.call({"a": 1})

    async def in_a_thread() -> Any:
        return await anyio.to_thread.run_sync(tool.call, {"a": 1})

    (block,) = anyio.run(in_a_thread)
    assert block["text"] == "add {'a': 1}"


def test_a_coroutine_function_under_the_plain_decorator_fails_each_call() -> None:
    async def add(a: int, b: int = 2) -> str:
        """Add two numbers."""
        return str(a + b)

    plain, awaited = beta_tool(add), beta_async_tool(add)
    assert plain.to_dict() == awaited.to_dict()
    with pytest.raises(RuntimeError, match="Cannot call a coroutine function"):
        plain.call({"a": 1})


def test_the_plain_runner_takes_no_tool_for_asyncio() -> None:
    @beta_async_tool
    async def add(a: int) -> str:
        """Add."""
        return str(a)

    with pytest.raises(TypeError, match="async tool"):
        one_step(Wire("3"), [add])


def test_a_toolset_is_given_the_very_input_object_and_stops_at_a_failure() -> None:
    given: list[object] = []

    class Failing(Browser):
        def call(self, context: Any, name: str, input: Any) -> Any:  # noqa: A002 - the SDK names it so
            given.append((context.tool_use.input is input, name))
            return super().call(context, name, input)

    calls = [member("navigate"), member("screenshot")]
    runner = one_step(Wire(calls), [Failing(ToolError("no page"))])
    read(runner, stream=False)
    runner.generate_tool_call_response()
    assert given == [(True, "navigate")]


def test_an_error_of_the_program_in_a_toolset_goes_through() -> None:
    runner = one_step(Wire([member("navigate")]), [Browser(ToolsetClosedError("shut"))])
    read(runner, stream=False)
    with pytest.raises(ToolsetClosedError):
        runner.generate_tool_call_response()


def test_a_type_for_the_replies_is_sent_as_its_schema() -> None:
    wire = Wire("[1]")
    wire.client.beta.messages.tool_runner(
        model="claude-opus-5",
        max_tokens=9,
        messages=[{"role": "user", "content": "?"}],
        tools=[],
        output_format=list[int],
        thread=False,
    ).until_done()
    schema = pydantic.TypeAdapter(list[int]).json_schema()
    assert wire.bodies[0]["output_config"]["format"] == {
        "type": "json_schema",
        "schema": anthropic.transform_schema(schema),
    }


def eager_step(wire: Wire, tools: list[Any]) -> Any:
    runner = one_step(wire, tools, stream=True, run_tools_eagerly=True)
    _begun.append(runner)
    return runner


def test_an_eager_call_runs_one_event_after_the_model_has_moved_on() -> None:
    calls: list[Any] = []
    runner = eager_step(Wire([ADD, say("So."), ADD]), counted_tools(calls))
    ran = [(event.type, len(calls)) for event in next(runner)]
    blocks = [it for it in ran if it[0] in ("content_block_start", "message_stop")]
    assert blocks == [
        ("content_block_start", 0),
        ("content_block_start", 0),  # the model has moved on; it runs behind this one
        ("content_block_start", 1),
        ("message_stop", 2),
    ]
    runner.generate_tool_call_response()
    assert len(calls) == 2


def test_an_eager_call_is_given_the_input_object_of_its_finished_block() -> None:
    given: list[object] = []

    class Noted(BetaBuiltinFunctionTool):
        name = "add"

        def to_dict(self) -> Any:
            return counted_tools([])[0].to_dict()

        def call(self, input: object) -> Any:  # noqa: A002 - the SDK names it so
            given.append(input)
            return "3"

    stream = next(eager_step(Wire([ADD, ADD]), [Noted()]))
    ends = [event for event in stream if event.type == "content_block_stop"]
    first, second = (event.content_block.input for event in ends)
    assert given[0] is first
    assert given[1] is second


@pytest.mark.parametrize("by_id", [False, True])
def test_an_eager_call_can_be_deferred_until_its_block_is_whole(*, by_id: bool) -> None:
    calls: list[Any] = []
    runner = eager_step(Wire([ADD, say("So.")]), counted_tools(calls))
    for event in next(runner):
        if event.type == "content_block_stop" and event.index == 0:
            block = event.content_block
            runner.defer_tool_call(block.id if by_id else block)
    assert [held.id for held in runner.deferred_tool_calls] == [block.id]
    assert calls == []
    runner.generate_tool_call_response()
    assert (calls, runner.deferred_tool_calls) == ([("add", 1, 2)], [])


def test_the_last_call_of_a_reply_that_was_cut_off_does_not_run_early() -> None:
    calls: list[Any] = []
    whole = reply(ADD, ADD, stop_reason="max_tokens")
    for _ in next(eager_step(Wire(whole), counted_tools(calls))):
        pass
    assert len(calls) == 1


def test_no_eager_call_runs_once_reading_has_failed() -> None:
    calls: list[Any] = []
    # The last event that comes is the start of the second block.
    stream = next(eager_step(Wire(cut([ADD, ADD], 6, "drop")), counted_tools(calls)))
    with pytest.raises(httpx2.HTTPError):
        list(stream)
    assert calls == []


def test_a_gate_that_is_added_in_mid_stream_answers_an_eager_call() -> None:
    calls: list[Any] = []

    @beta_tool(name="add")
    def other(a: int, b: int) -> str:
        """Add otherwise."""
        return f"{a} and {b}"

    runner = eager_step(Wire([ADD, say("So.")]), counted_tools(calls))
    for event in next(runner):
        if event.type == "content_block_stop" and event.index == 0:
            runner.add_tools(other)
    message = runner.generate_tool_call_response()
    assert (message["content"][0]["content"], calls) == ("1 and 2", [])
