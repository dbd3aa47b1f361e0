"""`run.add_tools()` and `run.remove_tools()`, held against the SDK's own."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import beta_tool

from nbrunner import Run, reject_all, tool_runner
from nbrunner.core.edits import ChangeTools
from nbrunner.errors import NotATool, Ungated, UnknownTool, UsageError
from nbrunner.replay import reply, say, use
from tests.loop.iterated import ADD, Ran, both_ways, message_of
from tests.loop.test_oracle import differences
from tests.loop.test_toolsets import Browser
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire

RAW = {"type": "web_search_20250305", "name": "web_search"}


def doubler(calls: list[Any], name: str = "double") -> Any:
    @beta_tool(name=name)
    def double(n: int) -> str:
        """Double a number."""
        calls.append((name, n))
        return str(2 * n)

    return double


def change(runner: Any, calls: list[Any], what: str) -> None:
    match what:
        case "add":
            runner.add_tools(doubler(calls))
        case "add a raw one":
            runner.add_tools(RAW)
        case "remove":
            runner.remove_tools("fail")
        case "remove an object":
            runner.remove_tools(counted_tools(calls)[1])
        case "add and remove":
            runner.add_tools(doubler(calls), RAW)
            runner.remove_tools("fail", "give")
        case "remove and add again":
            runner.remove_tools("add")
            runner.add_tools(counted_tools(calls)[0])


def loop(
    what: str, replies: tuple[Any, ...], *, stream: bool, ours: bool
) -> tuple[Wire, list[Any]]:
    calls: list[Any] = []
    wire = Wire(*replies)
    given: dict[str, Any] = {
        "model": "claude-opus-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "?"}],
        "tools": counted_tools(calls),
        "betas": ["inline-tools-2026-09-15"],
        "stream": stream,
    }
    if ours:
        runner: Any = tool_runner(wire.client, **given)
    else:
        runner = wire.client.beta.messages.tool_runner(**given, thread=False)
    for number, item in enumerate(runner):
        message_of(item)
        if number == 0:
            change(runner, calls, what)
    return wire, calls


@both_ways
@pytest.mark.parametrize(
    "what",
    [
        "add",
        "add a raw one",
        "remove",
        "remove an object",
        "add and remove",
        "remove and add again",
    ],
)
@pytest.mark.parametrize(
    "first",
    [[ADD], reply(say("I think."), stop_reason="pause_turn")],
    ids=["a call", "a turn paused"],
)
def test_tools_changed_in_the_body_are_told_to_claude_as_the_sdk_tells_it(
    what: str, first: Any, *, stream: bool
) -> None:
    replies = (first, [ADD], "Done.")
    theirs, their_calls = loop(what, replies, stream=stream, ours=False)
    ours, our_calls = loop(what, replies, stream=stream, ours=True)
    assert differences(ours.bodies, theirs.bodies) == []
    assert ours.betas == theirs.betas
    assert our_calls == their_calls


@both_ways
def test_a_tool_that_was_added_runs_also_for_the_call_in_hand(*, stream: bool) -> None:
    ran = Ran([use("double", n=2)], [use("double", n=4)], "8.", stream=stream)
    for item in ran.run:
        if message_of(item).stop_reason == "tool_use" and not ran.calls:
            ran.run.add_tools(doubler(ran.calls))
    assert ran.calls == [("double", 2), ("double", 4)]
    assert [m["role"] for m in ran.sent()].count("system") == 1


@both_ways
def test_a_tool_that_was_removed_does_not_run_also_for_the_call_in_hand(
    *, stream: bool
) -> None:
    ran = Ran([ADD], [ADD], "Oh.", stream=stream)
    for item in ran.run:
        if message_of(item).stop_reason == "tool_use" and len(ran.bodies) == 1:
            ran.run.remove_tools("add")
    assert ran.calls == []
    calls = [i.tool_calls[0] for i in ran.run.transcript.iterations[:2]]
    assert [call.status for call in calls] == ["unknown", "unknown"]
    assert calls[0].result == (
        "There is no tool 'add'. Available tools: echo, fail, give."
    )


@both_ways
def test_a_tool_added_under_a_name_that_is_taken_runs_in_its_place(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for item in ran.run:
        if message_of(item).stop_reason == "tool_use":

            @beta_tool
            def add(a: int, b: int) -> str:
                """Add, otherwise."""
                return f"{a} and {b}"

            ran.run.add_tools(add)
    assert ran.sent()[2]["content"][0]["content"] == "1 and 2"


def test_a_raw_definition_ends_the_running_of_the_tool_of_its_name() -> None:
    ran = Ran([ADD], "Oh.")
    for message in ran.run:
        if message.stop_reason == "tool_use":
            ran.run.add_tools({"name": "add", "input_schema": {"type": "object"}})
    assert ran.calls == []
    assert (
        "declared, but nothing runs it here" in ran.sent()[2]["content"][0]["content"]
    )


def test_changes_stand_behind_the_messages_that_are_appended_with_them() -> None:
    ran = Ran([ADD], "Done.")
    for message in ran.run:
        if message.stop_reason == "tool_use":
            ran.run.add_tools(doubler(ran.calls))
            ran.run.append_messages({"role": "user", "content": "Use it."})
    assert [m["role"] for m in ran.sent()] == [
        "user",
        "assistant",
        "user",
        "user",
        "system",
    ]


def test_a_run_in_a_thread_takes_the_same_change_as_an_edit() -> None:
    calls: list[Any] = []
    wire = Wire([use("double", n=2)], "4.")
    run = Run(client=wire.client, messages="?", tools=counted_tools(calls))
    run.submit(ChangeTools(added=[doubler(calls)], removed=["give"]))
    assert run.wait(20).stopped_by == "end_turn"
    assert calls == [("double", 2)]
    question, change_ = wire.bodies[0]["messages"]
    assert [b["type"] for b in change_["content"]] == ["tool_addition", "tool_removal"]
    assert [t["name"] for t in wire.bodies[0]["tools"]] == [
        "add",
        "fail",
        "give",
        "echo",
    ]
    assert question["role"] == "user"


@pytest.mark.parametrize("by_name", [False, True])
def test_a_tool_that_was_removed_is_given_back_by_its_name_as_by_itself(
    *, by_name: bool
) -> None:
    ran = Ran([ADD], [ADD], "Done.")
    for number, _ in enumerate(ran.run):
        if number == 0:
            ran.run.remove_tools("add")
            ran.run.add_tools("add" if by_name else counted_tools(ran.calls)[0])
    assert ran.calls == [("add", 1, 2)] * 2
    removal, addition = ran.sent()[3]["content"]
    assert removal["tool"]["name"] == "add"
    assert addition["tool"]["definition"] == ran.bodies[0]["tools"][0]


def test_a_name_that_no_tool_of_the_run_has_adds_nothing_and_near_ones_are_named() -> (
    None
):
    ran = Ran("Done.")
    with pytest.raises(UnknownTool, match="Did you mean add"):
        ran.run.add_tools(doubler(ran.calls), "ad")
    ran.run.until_done()
    assert len(ran.sent()) == 1
    assert ran.run.transcript.tool_changes == ()


def test_a_name_gives_back_what_was_declared_last_with_what_runs_for_it() -> None:
    ran = Ran([ADD], [ADD], "Oh.")
    for number, _ in enumerate(ran.run):
        if number == 0:
            raw = {"name": "add", "input_schema": {"type": "object"}}
            ran.run.add_tools(raw)
            ran.run.remove_tools("add")
            ran.run.add_tools("add")
    assert ran.calls == []
    assert ran.sent()[3]["content"][-1]["tool"]["definition"]["name"] == "add"


def test_what_is_no_tool_and_what_is_a_toolset_cannot_be_added() -> None:
    ran = Ran("Done.")
    with pytest.raises(NotATool, match="beta_tool"):
        ran.run.add_tools(len)
    for changing in (ran.run.add_tools, ran.run.remove_tools):
        with pytest.raises(UsageError, match="toolset, and those of a run are fixed"):
            changing(Browser())
    ran.run.until_done()
    assert len(ran.sent()) == 1


@both_ways
def test_a_reply_dropped_after_a_change_is_asked_for_with_the_change(
    *, stream: bool
) -> None:
    ran = Ran([ADD], [ADD], "Done.", stream=stream)
    for number, item in enumerate(ran.run):
        message_of(item)
        if number == 0:
            ran.run.remove_tools("give")
        if number == 1:
            ran.run.append_messages()
    assert ran.bodies[1] == ran.bodies[2]
    assert ran.sent()[-1]["role"] == "system"


def test_calls_made_side_by_side_are_made_by_the_tools_at_hand_now() -> None:
    calls = [use("double", n=2), ADD, use("fail", how="plainly")]
    ran = Ran(calls, "Done.", parallel_calls=True)
    for message in ran.run:
        if message.stop_reason == "tool_use":
            ran.run.add_tools(doubler(ran.calls))
            ran.run.remove_tools("fail")
    assert sorted(ran.calls) == [("add", 1, 2), ("double", 2)]
    results = [block["content"] for block in ran.sent()[2]["content"]]
    assert results[:2] == ["4", "3"]
    assert "There is no tool 'fail'" in results[2]


def test_a_tool_that_no_approver_can_be_asked_about_is_not_added_to_a_gated_run() -> (
    None
):
    ran = Ran("Done.", approver=reject_all)
    with pytest.raises(Ungated, match="web_search"):
        ran.run.add_tools(RAW)
    ran.run.until_done()
    assert len(ran.sent()) == 1


def test_an_approver_is_asked_about_a_tool_that_was_added_for_the_call_in_hand() -> (
    None
):
    ran = Ran([use("double", n=2)], "Oh.", approver=reject_all)
    for message in ran.run:
        if message.stop_reason == "tool_use":
            ran.run.add_tools(doubler(ran.calls))
    assert ran.calls == []
    assert ran.run.transcript.iterations[0].tool_calls[0].status == "rejected"
