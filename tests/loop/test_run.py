"""What a `Run` takes and gives, apart from its loop."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from anthropic import beta_tool

from nbrunner import Run, replay
from nbrunner.core.events import BlockGrew
from nbrunner.errors import (
    NoKey,
    NotAClient,
    NotATool,
    NotATransport,
    UnknownParameter,
    UsageError,
)
from nbrunner.loop._sdk import _kept_class
from nbrunner.replay import fail, say, script, think, use
from nbrunner.replay.wire import events_of
from tests.loop.steering import Followed
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire, streaming

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

ADD = use("add", a=1, b=2)


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def add_later(a: int, b: int) -> str:
    """Add two numbers, later."""
    return str(a + b)


@pytest.mark.parametrize("kind", ["client", "transport", "script", "path", "text"])
def test_a_run_takes_a_client_a_transport_a_script_or_a_path(
    kind: str, tmp_path: Path
) -> None:
    cassette = script("Hello.")
    cassette.save(tmp_path / "hello.json")
    given: Any = {
        "client": replay.connect(replay.play(cassette)),
        "transport": replay.play(cassette),
        "script": cassette,
        "path": tmp_path / "hello.json",
        "text": str(tmp_path / "hello.json"),
    }[kind]
    run = Run(client=given, messages="Hello?")
    assert run.source == "scripted"
    run.wait(20)
    assert run.text == "Hello."


def test_a_client_for_asyncio_is_refused_with_what_to_pass() -> None:
    with pytest.raises(NotAClient, match=r"Pass anthropic\.Anthropic"):
        Run(client=anthropic.AsyncAnthropic(api_key="x"), messages="?")


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(NotATransport):
        Run(client=object(), messages="?")


def test_without_a_client_and_a_key_a_run_says_how_to_give_one() -> None:
    with pytest.raises(NoKey, match="set ANTHROPIC_API_KEY"):
        Run(messages="?")


def test_without_a_client_the_environment_s_key_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")
    assert Run(messages="?").source == "live"


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"temprature": 1}, "temprature is not a parameter of the SDK's tool_runner()"),
        ({"tool_choise": {}}, "Did you mean tool_choice"),
        ({"temperature": 1}, "extra_body={...} sends fields the SDK has no name for"),
        ({"thread": True}, "Only thread=False is taken"),
        ({"compaction_control": {}}, "run.compact_before_next_turn() does it"),
    ],
)
def test_a_parameter_that_a_run_cannot_pass_on_is_a_type_error(
    params: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UnknownParameter) as caught:
        Run(client=Wire().client, messages="?", **params)
    assert sentence in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_parameters_at_the_sdk_s_own_values_are_taken() -> None:
    wire = Wire("So.")
    params: dict[str, Any] = {"thread": False, "run_tools_eagerly": False}
    Run(client=wire.client, messages="?", **params).wait(20)
    assert set(wire.bodies[0]) == {"model", "max_tokens", "messages", "stream"}


@pytest.mark.parametrize(
    ("tool", "sentence"),
    [
        (add, "add is a plain function, so Claude has no schema for it."),
        (add_later, "add_later is a plain coroutine function"),
        (5, "5 is not a tool: it is of type int."),
        (dict, "dict is not a tool: it is of type type."),
    ],
)
def test_what_is_no_tool_is_refused_with_what_to_do(tool: Any, sentence: str) -> None:
    with pytest.raises(NotATool) as caught:
        Run(client=Wire().client, tools=[tool], messages="?")
    assert str(caught.value).startswith(sentence)


def test_one_message_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(UsageError, match="messages is one message"):
        Run(client=Wire().client, messages={"role": "user", "content": "?"})


def test_messages_are_a_copy_and_the_run_does_not_hold_the_given_ones() -> None:
    given = [{"role": "user", "content": [say("one")]}]
    wire = Wire("So.")
    run = Run(client=wire.client, messages=given)
    given[0]["content"] = "changed"
    run.messages[0]["content"][0]["text"] = "changed"
    run.wait(20)
    assert wire.bodies[0]["messages"][0]["content"] == [say("one")]


def test_tools_are_kept_as_they_were_given() -> None:
    tool = beta_tool(add)
    definition = {"name": "raw", "input_schema": {"type": "object"}}
    wire = Wire("So.")
    run = Run(client=wire.client, tools=iter([tool, definition]), messages="?")
    definition["name"] = "changed"
    run.wait(20)
    assert [tool["name"] for tool in wire.bodies[0]["tools"]] == ["add", "raw"]


def test_a_run_says_what_it_is_and_how_far_it_came() -> None:
    run = Run(client=Wire([ADD], "3").client, tools=counted_tools([]), messages="?")
    assert repr(run) == "<Run run: 0 iterations, ready>"
    assert (run.text, run.stopped_by, run.is_running) == ("", None, False)
    run.wait(20)
    assert repr(run) == "<Run run: 2 iterations, end_turn>"
    assert run.usage.output_tokens == 0
    assert set(run._repr_mimebundle_()) == {"text/html", "text/plain"}
    assert "3" in run.to_text()


def test_a_streamed_reply_is_told_piece_by_piece_and_empty_pieces_are_not() -> None:
    wire = Wire([think("Hm hm hm hm"), say("one two three four five"), ADD], "3")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    followed = Followed(run)
    run.wait(20)
    first = [event for event in followed.of(BlockGrew) if event.iteration == 0]
    told = {
        block: "".join(event.text for event in first if event.block == block)
        for block in range(3)
    }
    assert told == {
        0: "Hm hm hm hm",
        1: "one two three four five",
        2: '{"a": 1, "b": 2}',
    }
    parts = {event.block: event.part for event in first}
    assert parts == {0: "thinking", 1: "text", 2: "input"}
    assert all(event.text for event in first)


def test_an_empty_piece_of_a_stream_is_not_told() -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [say("so")],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    events = list(events_of(message))
    empty = {"type": "text_delta", "text": ""}
    # The API begins many a block with such a piece.
    events.insert(3, ("content_block_delta", {**events[3][1], "delta": empty}))
    run = Run(client=Wire(faults={0: streaming(*events)}).client, messages="?")
    followed = Followed(run)
    run.wait(20)
    assert [event.text for event in followed.of(BlockGrew)] == ["so"]
    assert run.text == "so"


def test_being_shown_and_waited_for_again_runs_nothing() -> None:
    wire = Wire("So.", "Again.")
    run = Run(client=wire.client, messages="?")
    run._repr_mimebundle_()
    assert wire.bodies == []
    first = run.wait(20)
    assert run.wait(20) is first
    assert len(wire.bodies) == 1


def test_a_started_run_that_has_nothing_to_do_ends_as_it_ended() -> None:
    wire = Wire("So.")
    run = Run(client=wire.client, messages="?")
    run.wait(20)
    run.start().wait(20)
    assert (run.stopped_by, len(wire.bodies)) == ("end_turn", 1)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_of_ones_own_keeps_its_retries(*, stream: bool) -> None:
    wire = Wire(replay.fail(529, headers={"retry-after-ms": "1"}), "So.")
    client = wire.client.with_options(max_retries=1)
    run = Run(client=client, messages="?", stream=stream)
    run.wait(20)
    assert (run.text, len(wire.bodies)) == ("So.", 2)
    assert run.transcript.iterations[0].failures == ()


class Tidied(Wire):
    """Whenever a request comes, all that nobody holds is gone."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        gc.collect()
        return super().handle_request(request)


@pytest.mark.parametrize("stream", [False, True])
def test_the_class_of_a_reply_is_made_once_and_not_for_each_request(
    *, stream: bool
) -> None:
    _kept_class.cache_clear()
    wire = Tidied(ADD, ADD, ADD, "So.")
    tools = counted_tools([])
    Run(client=wire.client, tools=tools, messages="?", stream=stream).wait(20)
    made = _kept_class.cache_info()
    assert (made.misses, made.hits) == (1, 3)


def test_a_transcript_says_why_its_run_failed() -> None:
    run = Run(client=Wire(fail(529)).client, messages="?")
    assert "error: The API answered overloaded_error (529)" in repr(run.wait(20))


def test_what_is_no_edit_is_refused_with_the_edits_there_are() -> None:
    run = Run(client=Wire("Done.").client, messages="?")
    with pytest.raises(
        UsageError, match=r"\('system', 'x'\) is not an edit.*SetSystem"
    ):
        run.submit(("system", "x"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is not an edit"):
        run.fork(edits=["be brief"])  # type: ignore[list-item]
    assert run.branches == []
