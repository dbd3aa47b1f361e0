"""What the SDK's own runner does where a run does otherwise.

docs/reference/tool_runner.md says so of the SDK. When one of these fails on a new
SDK, a trap is gone: mend the table, and look whether ours is still the better way.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import anthropic
import pytest
from anthropic import beta_tool

from nbrunner.replay import fail, reply, use
from tests.loop.iterated import BRIEF, both_ways, message_of, result
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire, answering

ADD = use("add", a=1, b=2)


class Bare:
    """The SDK's runner over a wire, and the calls that its tools saw."""

    def __init__(self, *replies: Any, stream: bool = False, **params: Any) -> None:
        self.calls: list[Any] = []
        self.wire = Wire(*replies)
        given: dict[str, Any] = {
            "model": "claude-opus-5",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": "1 + 2?"}],
            "tools": [*counted_tools(self.calls), *params.pop("tools", ())],
            "thread": False,
            **params,
        }
        messages: Any = self.wire.client.beta.messages
        self.runner: Any = messages.tool_runner(stream=stream, **given)

    def sent(self, request: int = -1) -> list[Any]:
        messages: list[Any] = self.wire.bodies[request]["messages"]
        return messages


@both_ways
def test_handing_back_reply_and_results_runs_every_tool_twice(*, stream: bool) -> None:
    bare = Bare([ADD], "Done.", stream=stream)
    for item in bare.runner:
        response = bare.runner.generate_tool_call_response()
        if response is not None:
            bare.runner.append_messages(message_of(item), response)
    assert bare.calls == [("add", 1, 2)] * 2


@both_ways
def test_a_message_appended_alone_loses_the_reply_and_its_results(
    *, stream: bool
) -> None:
    bare = Bare([ADD], "Done.", stream=stream)
    for item in bare.runner:
        if message_of(item).stop_reason == "tool_use":
            bare.runner.append_messages(BRIEF)
    assert [m["role"] for m in bare.sent()] == ["user", "user"]


@both_ways
def test_appending_nothing_drops_the_reply_and_still_runs_its_tools(
    *, stream: bool
) -> None:
    bare = Bare([ADD], "Done.", stream=stream)
    for item in bare.runner:
        if message_of(item).stop_reason == "tool_use":
            bare.runner.append_messages()
    assert bare.wire.bodies[0] == bare.wire.bodies[1]
    assert bare.calls == [("add", 1, 2)]


def test_a_final_reply_cannot_be_asked_for_again() -> None:
    bare = Bare("Four.", "Three.")
    for _ in bare.runner:
        bare.runner.append_messages()
    assert len(bare.wire.bodies) == 1


def test_a_follow_up_in_the_body_of_the_final_reply_is_never_sent() -> None:
    bare = Bare("Three.", "Surely.")
    for message in bare.runner:
        bare.runner.append_messages(message, BRIEF)
    assert len(bare.wire.bodies) == 1


def test_the_tool_of_a_result_made_by_hand_runs_all_the_same() -> None:
    bare = Bare([ADD], "Done.")
    for message in bare.runner:
        if message.stop_reason == "tool_use":
            bare.runner.append_messages(message, result(message.content[0].id))
    assert bare.sent()[2]["content"][0]["content"] == "by hand"
    assert bare.calls == [("add", 1, 2)]


def test_a_tool_set_in_the_middle_of_a_run_is_sent_and_never_run() -> None:
    @beta_tool
    def double(n: int) -> str:
        """Double a number."""
        return str(2 * n)

    bare = Bare([ADD], [use("double", n=4)], "Oh.")
    with pytest.warns(UserWarning, match="Tool 'double' not found"):  # noqa: PT031 - it is the loop
        for _ in bare.runner:
            bare.runner.set_messages_params(
                lambda params: {**params, "tools": [*params["tools"], double]}
            )
    assert bare.sent()[-1]["content"][0]["content"] == "Error: Tool 'double' not found"


def test_the_system_prompt_cannot_change_in_a_run_unless_threads_are_off() -> None:
    bare = Bare(thread=None)
    message = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [{**ADD, "id": "toolu_01"}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    bare.wire._faults = {0: answering(json.dumps(message).encode())}
    with pytest.raises(anthropic.AnthropicError, match="Cannot change `system`"):  # noqa: PT012 - it is the loop
        for _ in bare.runner:
            bare.runner.set_messages_params(lambda params: {**params, "system": "New."})
    assert bare.calls == []


def test_unknown_parameters_vanish_without_a_word() -> None:
    bare = Bare([ADD], "Done.")
    for _ in bare.runner:
        bare.runner.set_messages_params(lambda params: {**params, "temperature": 0.5})
    assert "temperature" not in bare.wire.bodies[1]


def test_rewritten_messages_do_not_keep_reply_and_results_from_being_appended() -> None:
    bare = Bare([ADD], "Done.")
    for message in bare.runner:
        if message.stop_reason == "tool_use":
            new = [{"role": "user", "content": "Rewritten."}]
            bare.runner.set_messages_params(lambda p, new=new: {**p, "messages": new})
    assert [m["role"] for m in bare.sent()] == ["user", "assistant", "user"]
    assert bare.sent()[0]["content"] == "Rewritten."


@both_ways
def test_a_runner_that_failed_is_dead_and_says_nothing_of_it(*, stream: bool) -> None:
    bare = Bare([ADD], fail(529), "Done.", stream=stream)
    with pytest.raises(anthropic.APIStatusError):
        bare.runner.until_done()
    assert list(bare.runner) == []
    assert len(bare.wire.bodies) == 2


def test_until_done_after_a_failure_gives_the_last_reply_as_if_all_were_well() -> None:
    bare = Bare([ADD], fail(529), "Done.")
    with pytest.raises(anthropic.APIStatusError):
        list(bare.runner)
    assert bare.runner.until_done().stop_reason == "tool_use"


@both_ways
def test_until_done_after_break_runs_the_rest(*, stream: bool) -> None:
    bare = Bare([ADD], "Done.", stream=stream)
    for _ in bare.runner:
        break
    assert bare.runner.until_done().content[0].text == "Done."
    assert bare.calls == [("add", 1, 2)]


def test_until_done_of_a_runner_closed_at_once_fails_without_a_word() -> None:
    bare = Bare("Done.")
    bare.runner.close()
    with pytest.raises(AssertionError, match=r"^$"):
        bare.runner.until_done()


def test_nothing_says_that_max_iterations_ended_the_loop() -> None:
    bare = Bare([ADD], [ADD], "Done.", max_iterations=1)
    assert [message.stop_reason for message in bare.runner] == ["tool_use"]
    assert bare.calls == [("add", 1, 2)]
    assert bare.runner.until_done().stop_reason == "tool_use"
    assert len(bare.wire.bodies) == 1


def test_results_asked_for_of_a_runner_that_failed_run_the_tools_again() -> None:
    bare = Bare([ADD], fail(529))
    with pytest.raises(anthropic.APIStatusError):
        list(bare.runner)
    bare.runner.generate_tool_call_response()
    assert bare.calls == [("add", 1, 2)] * 2


def test_an_interrupted_tool_leaves_a_runner_that_is_dead() -> None:
    @beta_tool
    def hang() -> str:
        """Be interrupted."""
        raise KeyboardInterrupt

    bare = Bare([use("hang")], "Done.", tools=[hang])
    with pytest.raises(KeyboardInterrupt):
        list(bare.runner)
    assert list(bare.runner) == []


def test_asking_for_the_results_of_a_reply_that_was_cut_off_runs_its_tools() -> None:
    bare = Bare(reply(ADD, stop_reason="max_tokens"))
    for _ in bare.runner:
        bare.runner.generate_tool_call_response()
    assert bare.calls == [("add", 1, 2)]


def test_an_unhandled_error_of_a_tool_is_logged_with_its_stack(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bare = Bare([use("fail", how="plainly")], "Oh.")
    bare.runner.until_done()
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert bare.sent()[2]["content"][0]["content"] == "ValueError('bad')"


@both_ways
def test_marks_set_on_results_pile_up_past_the_four_that_the_api_takes(
    *, stream: bool
) -> None:
    bare = Bare(*[[ADD]] * 5, "Done.", stream=stream)
    for _ in bare.runner:
        response = bare.runner.generate_tool_call_response()
        for block in response["content"] if response else ():
            block["cache_control"] = {"type": "ephemeral"}
    marked = str(bare.sent()).count("cache_control")
    assert marked == 5


def test_after_a_final_compaction_until_done_gives_the_summary() -> None:
    compaction = {"type": "compaction", "content": "So.", "encrypted_content": "E="}
    bare = Bare("Three.", reply(compaction, stop_reason="compaction"))
    for message in bare.runner:
        if message.stop_reason == "end_turn":
            bare.runner.compact_before_next_turn()
    assert bare.runner.until_done().stop_reason == "compaction"
