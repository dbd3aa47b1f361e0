"""A reply is dropped and asked for again, wherever the run stands."""

from __future__ import annotations

from typing import Any

from anthropic import beta_tool

from nbrunner import Run, ask
from nbrunner.core.events import CallAsked, ReplyDropped
from nbrunner.replay import use
from tests.loop.steering import Followed, assert_the_api_takes_all, pause_behind_a_reply
from tests.loop.toolkit import counted_tools
from tests.loop.wire import PATIENCE_S, Door, Wire

ADD = use("add", a=1, b=2)


def run_over(wire: Wire, calls: list[Any], **given: Any) -> tuple[Run, Followed]:
    options = {"tools": counted_tools(calls), "messages": "1 + 2?", **given}
    run = Run(client=wire.client, **options)
    return run, Followed(run)


def test_while_it_streams_it_is_broken_off_and_none_of_its_calls_runs() -> None:
    door, calls = Door(), []
    wire = Wire(["Wait.", ADD], "It is 3.", doors={(0, 3): door})
    run, _ = run_over(wire, calls)
    run.start()
    door.wait_until_reached()
    run.retry()
    door.open()
    assert run.wait(PATIENCE_S).text == "It is 3."
    assert calls == []
    assert wire.bodies[0] == wire.bodies[1]
    (failure,) = run.transcript.iterations[0].failures
    assert failure.kind == "dropped"


def test_between_two_requests_its_results_are_dropped_with_it() -> None:
    calls: list[Any] = []
    wire = Wire([ADD], "It is 3.")
    run, followed = run_over(wire, calls)
    pause_behind_a_reply(run, followed)
    run.retry()
    assert run.wait(PATIENCE_S).text == "It is 3."
    assert calls == [("add", 1, 2)]
    assert wire.bodies[0] == wire.bodies[1]
    (dropped,) = run.transcript.iterations[0].dropped
    assert [call.result for call in dropped.tool_calls] == ["3"]


def test_while_a_tool_runs_that_one_is_awaited_and_those_behind_it_do_not_run() -> None:
    door, calls = Door(), []

    @beta_tool
    def wait() -> str:
        """Wait at the door."""
        calls.append("wait")
        door.pass_through()
        return "3"

    wire = Wire([use("wait"), ADD], "It is 3.")
    tools = [wait, *counted_tools(calls)]
    run, _ = run_over(wire, calls, tools=tools)
    run.start()
    door.wait_until_reached()
    run.retry()
    door.open()
    assert run.wait(PATIENCE_S).text == "It is 3."
    assert calls == ["wait"]
    assert wire.bodies[0] == wire.bodies[1]
    assert_the_api_takes_all(wire)


def test_while_a_call_waits_for_a_decision_nobody_is_asked_any_longer() -> None:
    calls: list[Any] = []
    wire = Wire([ADD], "It is 3.")
    run, followed = run_over(wire, calls, approver=ask)
    run.start()
    followed.wait_for("call_asked")
    run.retry()
    assert run.wait(PATIENCE_S).text == "It is 3."
    assert calls == []
    assert len(followed.of(CallAsked)) == len(followed.of(ReplyDropped)) == 1
    assert wire.bodies[0] == wire.bodies[1]
