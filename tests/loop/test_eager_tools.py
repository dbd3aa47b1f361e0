"""`run_tools_eagerly`: a call runs while its reply still streams."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from anthropic import beta_async_tool, beta_tool
from anthropic.lib.tools import ToolError
from pydantic import TypeAdapter

from nbrunner import (
    EditResult,
    Run,
    SetParams,
    ToggleCache,
    approve_all,
    ask,
    by_tool,
    reject_all,
)
from nbrunner.core.closing import INTERRUPTED, NOT_RUN
from nbrunner.core.events import (
    BlockStarted,
    CallAsked,
    CallFinished,
    CallProposed,
    CallStarted,
    EditRefused,
    Event,
    ReplyFinished,
)
from nbrunner.errors import UnknownParameter, UsageError
from nbrunner.replay import cut, reply, say, use
from tests.loop.iterated import ADD, FAIL, MORE, Ran, result
from tests.loop.steering import Followed, assert_the_api_takes_all, join, workers
from tests.loop.test_oracle import EQUAL, differences, sdk_alone, watched
from tests.loop.test_toolsets import Browser, member
from tests.loop.wire import PATIENCE_S, Door, Wire

BOTH = [say("Two sums."), ADD, MORE]


def eager(*replies: Any, **options: Any) -> Ran:
    return Ran(*replies, stream=True, run_tools_eagerly=True, **options)


def order_of(followed: Followed, *kinds: type) -> list[str]:
    return [event.kind for event in followed.events if isinstance(event, kinds)]


@pytest.mark.parametrize("name", EQUAL)
def test_an_eager_run_sends_and_runs_what_the_eager_sdk_does(name: str) -> None:
    replies, params = EQUAL[name]
    params = {**params, "run_tools_eagerly": True}
    theirs = sdk_alone(replies, params, stream=True)
    ours = watched(replies, params, stream=True)
    assert differences(ours.bodies, theirs.bodies) == []
    assert (ours.calls, ours.betas) == (theirs.calls, theirs.betas)


def test_a_call_runs_once_the_model_has_moved_on_and_before_the_reply_is_whole() -> (
    None
):
    ran = eager(BOTH, "3 and 7.")
    followed = Followed(ran.run)
    ran.run.wait(PATIENCE_S)
    kinds = (BlockStarted, CallProposed, CallStarted, CallFinished, ReplyFinished)
    assert order_of(followed, *kinds)[:10] == [
        "block_started",
        "block_started",
        "call_proposed",
        "block_started",
        "call_started",
        "call_finished",
        "call_proposed",
        "call_started",
        "call_finished",
        "reply_finished",
    ]
    calls = ran.run.transcript.iterations[0].tool_calls
    assert [(call.status, call.result) for call in calls] == [("ok", "3"), ("ok", "7")]
    assert ran.calls == [("add", 1, 2), ("add", 3, 4)]
    assert len(ran.bodies) == 2


def test_without_it_no_call_is_proposed_before_the_reply_is_whole() -> None:
    ran = Ran(BOTH, "3 and 7.", stream=True)
    followed = Followed(ran.run)
    ran.run.wait(PATIENCE_S)
    assert followed.of(CallProposed) == []
    kinds = order_of(followed, CallStarted, ReplyFinished)
    assert kinds[:2] == ["reply_finished", "call_started"]


def test_a_call_that_a_person_is_asked_about_waits_and_the_others_run() -> None:
    approver = by_tool({"add": ask, "*": approve_all})
    ran = eager([ADD, use("echo", value="x")], "Done.", approver=approver)
    followed = Followed(ran.run)
    ran.run.start()
    followed.wait_for("reply_finished", iteration=0)
    assert ran.calls == [("echo", "x")]
    assert len(followed.of(CallAsked)) == 1
    add, _ = ran.run.transcript.iterations[0].tool_calls
    assert (add.status, ran.run.transcript.status) == ("asked", "asking")
    ran.run.approve(add.id)
    ran.run.wait(PATIENCE_S)
    assert ran.calls == [("echo", "x"), ("add", 1, 2)]
    results = ran.sent()[-1]["content"]
    assert [block["content"] for block in results] == ["3", "x"]


def test_a_call_can_be_decided_about_while_the_reply_still_streams() -> None:
    door = Door()
    # It stands inside the second block.
    ran = eager([ADD, say("So.")], "Done.", doors={(0, 6): door}, approver=ask)
    run, followed = ran.run, Followed(ran.run)
    run.start()
    followed.wait_for("call_asked")
    door.wait_until_reached()
    assert run.transcript.status == "asking"
    run.approve(run.transcript.iterations[0].tool_calls[0].id, input={"a": 5, "b": 6})
    assert ran.calls == []
    door.open()
    run.wait(PATIENCE_S)
    assert ran.calls == [("add", 5, 6)]
    assert_the_api_takes_all(ran.wire)


def test_a_rejected_call_does_not_run() -> None:
    ran = eager(BOTH, "Oh.", approver=reject_all)
    ran.run.wait(PATIENCE_S)
    assert ran.calls == []
    calls = ran.run.transcript.iterations[0].tool_calls
    assert [call.status for call in calls] == ["rejected", "rejected"]


def test_an_approver_that_says_stop_keeps_the_reply_and_runs_nothing_more() -> None:
    asked: list[str] = []

    def stops_at_the_second(call: Any) -> Any:
        asked.append(call.id)
        return call.approve() if len(asked) == 1 else call.stop()

    ran = eager([ADD, MORE, ADD], "3.", approver=stops_at_the_second)
    ran.run.wait(PATIENCE_S)
    assert ran.calls == [("add", 1, 2)]
    iteration = ran.run.transcript.iterations[0]
    assert [call.id for call in iteration.tool_calls[:2]] == asked
    results = [(call.status, call.result) for call in iteration.tool_calls]
    assert results == [("ok", "3"), *[("interrupted", NOT_RUN)] * 2]
    assert (iteration.has_failed, ran.run.stopped_by) == (False, "person")
    ran.run.inject("Go on.")
    ran.run.start().wait(PATIENCE_S)
    assert ran.run.text == "3."
    assert len(ran.bodies) == 2


def test_calls_that_ran_before_the_stream_broke_are_kept_and_told() -> None:
    # Behind the first block and the start of the second; the tool ran by then.
    ran = eager(cut([ADD, MORE], 7, "drop"), [MORE], "7.", hold_on_failure=True)
    followed = Followed(ran.run)
    ran.run.start()
    followed.wait_for("halted", why="failed")
    iteration = ran.run.transcript.iterations[0]
    failure = iteration.failures[0]
    assert [(call.name, call.result) for call in failure.calls] == [("add", "3")]
    assert failure.advice == (
        "Retry sends the same request again. "
        "What ran already (add) may run a second time."
    )
    assert (iteration.tool_calls, iteration.blocks) == ((), ())
    assert [block["type"] for block in failure.partial] == ["tool_use", "tool_use"]
    ran.run.retry()
    ran.run.wait(PATIENCE_S)
    assert ran.calls == [("add", 1, 2), ("add", 3, 4)]
    assert ran.run.transcript.iterations[0].failures == (failure,)
    assert len(ran.bodies) == 3


def test_a_call_that_was_asked_about_is_gone_with_its_broken_reply() -> None:
    replies = (cut([ADD, MORE], 7, "drop"), [ADD], "3.")
    ran = eager(*replies, approver=ask, hold_on_failure=True)
    followed = Followed(ran.run)
    ran.run.start()
    followed.wait_for("halted", why="failed")
    (failure,) = ran.run.transcript.iterations[0].failures
    assert failure.advice.endswith("no tool runs twice.")
    assert (failure.calls, ran.run.transcript.status) == ((), "failed")
    ran.run.retry()
    followed.wait_for("reply_finished", iteration=0)
    ran.run.approve(ran.run.transcript.iterations[0].tool_calls[0].id)
    ran.run.wait(PATIENCE_S)
    assert ran.calls == [("add", 1, 2)]


def test_an_approval_does_not_outlive_the_reply_that_broke() -> None:
    door = Door()
    named = {**ADD, "id": "toolu_again"}
    broken = cut([named, MORE], 7, "drop")
    ran = eager(
        broken, [named], "3.", doors={(0, 6): door}, approver=ask, hold_on_failure=True
    )
    run, followed = ran.run, Followed(ran.run)
    run.start()
    followed.wait_for("call_asked")
    door.wait_until_reached()
    call_id = run.transcript.iterations[0].tool_calls[0].id
    run.approve(call_id)
    door.open()
    followed.wait_for("halted", why="failed")
    run.retry()
    followed.wait_for("reply_finished", iteration=0)
    (again,) = run.transcript.iterations[0].tool_calls
    assert (again.status, ran.calls) == ("asked", [])
    run.reject(again.id, "no")
    run.wait(PATIENCE_S)


def test_stop_breaks_the_reply_off_and_says_what_ran() -> None:
    door = Door()
    ran = eager([ADD, MORE], [MORE], "7.", doors={(0, 7): door})
    run, followed = ran.run, Followed(ran.run)
    run.start()
    door.wait_until_reached()
    run.stop()
    door.open()
    run.wait(PATIENCE_S)
    assert order_of(followed, CallFinished) == ["call_finished"]
    (failure,) = run.transcript.iterations[0].failures
    assert failure.kind == "stopped"
    assert failure.advice.endswith("What ran already (add) may run a second time.")
    run.start().wait(PATIENCE_S)
    assert (run.text, ran.calls) == ("7.", [("add", 1, 2), ("add", 3, 4)])
    assert_the_api_takes_all(ran.wire)


def test_a_run_left_inside_an_eager_tool_says_that_it_was_interrupted() -> None:
    door = Door()

    @beta_tool
    def linger() -> str:
        """Linger."""
        door.pass_through()
        return "late"

    others = workers()
    wire = Wire([use("linger"), say("So.")], "Done.")
    run = Run(client=wire.client, tools=[linger], messages="?", run_tools_eagerly=True)
    run.start()
    door.wait_until_reached()
    run.stop(now=True)
    run.wait(PATIENCE_S)
    (failure,) = run.transcript.iterations[0].failures
    (call,) = failure.calls
    assert (call.status, call.result) == ("interrupted", INTERRUPTED)
    door.open()
    join([thread for thread in workers() if thread not in others])
    assert run.transcript.iterations[0].failures == (failure,)


def test_a_tool_that_is_interrupted_stops_the_run() -> None:
    @beta_tool
    def interrupted() -> str:
        """Be interrupted."""
        raise KeyboardInterrupt

    wire = Wire([use("interrupted"), ADD], "Done.")
    run = Run(
        client=wire.client, tools=[interrupted], messages="?", run_tools_eagerly=True
    )
    run.wait(PATIENCE_S)
    (failure,) = run.transcript.iterations[0].failures
    assert [call.status for call in failure.calls] == ["interrupted"]
    assert run.stopped_by == "person"
    assert len(wire.bodies) == 1


def test_a_reply_that_max_tokens_cut_off_keeps_the_result_of_what_ran() -> None:
    ran = eager(reply(ADD, MORE, stop_reason="max_tokens"), "3.")
    ran.run.wait(PATIENCE_S)
    assert (ran.calls, ran.run.stopped_by) == ([("add", 1, 2)], "max_tokens")
    ran.run.inject("And?")
    ran.run.start().wait(PATIENCE_S)
    first, second, text = ran.sent()[-1]["content"]
    assert (first["content"], "is_error" in first) == ("3", False)
    assert second["content"].startswith("This call was cut off and not run")
    assert text["text"] == "And?"


def test_a_failed_call_and_one_of_no_tool_are_told_as_ever() -> None:
    ran = eager([FAIL, use("addd", a=1), ADD], "Oh.")
    ran.run.wait(PATIENCE_S)
    calls = ran.run.transcript.iterations[0].tool_calls
    assert [call.status for call in calls] == ["error", "unknown", "ok"]
    assert "Did you mean add?" in ran.sent()[-1]["content"][1]["content"]
    assert calls[0].traceback is not None


@pytest.mark.parametrize("then", [None, ToolError("no"), ValueError("no")])
def test_members_of_a_toolset_run_and_wait_as_they_do_for_the_sdk(
    then: Exception | None,
) -> None:
    replies = ([member("navigate"), ADD, member("screenshot"), ADD], "Seen.")
    params = {"run_tools_eagerly": True}
    theirs = sdk_alone(replies, {**params, "tools": [Browser(then)]}, stream=True)
    ours = watched(replies, {**params, "tools": [Browser(then)]}, stream=True)
    assert differences(ours.bodies, theirs.bodies) == []
    assert ours.calls == theirs.calls


def test_a_toolset_s_member_runs_early_too() -> None:
    browser = Browser()
    wire = Wire([member("navigate"), member("screenshot"), say("So.")], "Done.")
    run = Run(client=wire.client, tools=[browser], messages="?", run_tools_eagerly=True)
    followed = Followed(run)
    run.wait(PATIENCE_S)
    kinds = order_of(followed, CallStarted, ReplyFinished)
    assert kinds[:3] == ["call_started", "call_started", "reply_finished"]
    assert_the_api_takes_all(wire)


def test_only_calls_that_are_left_at_the_end_are_made_side_by_side() -> None:
    approver = by_tool({"add": ask, "*": approve_all})
    echo = use("echo", value="x")
    ran = eager([ADD, echo, MORE, echo], "3.", approver=approver, parallel_calls=True)
    followed = Followed(ran.run)
    ran.run.start()
    followed.wait_for("reply_finished", iteration=0)
    first, _, third, _ = ran.run.transcript.iterations[0].tool_calls
    ran.run.approve(first.id)
    ran.run.approve(third.id)
    ran.run.wait(PATIENCE_S)
    assert ran.calls[:2] == [("echo", "x"), ("echo", "x")]
    assert sorted(ran.calls[2:]) == [("add", 1, 2), ("add", 3, 4)]


def test_asking_again_while_a_call_waits_for_a_person_asks_no_more_about_it() -> None:
    door = Door()
    ran = eager([ADD, MORE], "Done.", doors={(0, 6): door}, approver=ask)
    run, followed = ran.run, Followed(ran.run)
    run.start()
    followed.wait_for("call_asked")
    door.wait_until_reached()
    run.retry()
    door.open()
    run.wait(PATIENCE_S)
    places = [n for n, e in enumerate(followed.events) if e.kind == "iteration_started"]
    assert [followed.transcripts[n].status for n in places] == ["running", "running"]
    assert run.text == "Done."


def test_a_call_that_the_body_defers_runs_at_its_end() -> None:
    ran = eager(BOTH, "3 and 7.")
    held: list[str] = []
    for stream in ran.run:
        for event in stream:
            if event.type == "content_block_start" and event.index == 1:
                ran.run.defer_tool_call(event.content_block)
        held += [block.name for block in ran.run.deferred_tool_calls]
        if stream.get_final_message().stop_reason == "tool_use":
            assert ran.calls == [("add", 3, 4)]
    assert held == ["add"]
    assert ran.calls == [("add", 3, 4), ("add", 1, 2)]
    results = ran.sent()[-1]["content"]
    assert [block["content"] for block in results] == ["3", "7"]
    assert ran.run.deferred_tool_calls == []


def test_a_call_is_deferred_by_its_id_too_and_runs_in_the_response() -> None:
    ran = eager(BOTH, "3 and 7.")
    stream = next(ran.run)
    for event in stream:
        if event.type == "content_block_stop" and event.index == 1:
            ran.run.defer_tool_call(event.content_block.id)
    (deferred,) = ran.run.deferred_tool_calls
    assert (deferred.input, ran.calls) == ({"a": 1, "b": 2}, [("add", 3, 4)])
    response = ran.run.generate_tool_call_response()
    assert [block["content"] for block in response["content"]] == ["3", "7"]
    assert ran.run.deferred_tool_calls == []
    assert ran.run.generate_tool_call_response() is response
    assert ran.run.until_done().content[0].text == "3 and 7."
    assert ran.calls == [("add", 3, 4), ("add", 1, 2)]


def test_a_result_by_hand_stands_for_a_deferred_call() -> None:
    ran = eager(BOTH, "Done.")
    for stream in ran.run:
        for event in stream:
            if event.type == "content_block_stop" and event.index == 1:
                ran.run.defer_tool_call(event.content_block)
        for block in ran.run.deferred_tool_calls:
            ran.run.append_messages(result(block.id, "by hand"))
    results = ran.sent()[-1]["content"]
    assert [block["content"] for block in results] == ["by hand", "7"]
    assert ran.calls == [("add", 3, 4)]


def test_deferring_does_nothing_outside_the_body_or_without_eager_tools() -> None:
    ran = Ran([ADD], "3.", stream=True)
    ran.run.defer_tool_call("toolu_1")
    assert ran.run.deferred_tool_calls == []
    for stream in ran.run:
        for event in stream:
            if event.type == "content_block_start":
                ran.run.defer_tool_call("toolu_1")
        assert ran.run.deferred_tool_calls == []
    assert ran.calls == [("add", 1, 2)]


def test_an_own_loop_that_breaks_inside_a_stream_goes_on_and_runs_each_call_once() -> (
    None
):
    ran = eager(BOTH, "3 and 7.")
    for stream in ran.run:
        for event in stream:
            if event.type == "content_block_start" and event.index == 2:
                break
        break
    assert ran.calls == []
    assert ran.run.until_done().content[0].text == "3 and 7."
    assert ran.calls == [("add", 1, 2), ("add", 3, 4)]


def test_a_tool_that_the_body_removes_does_not_run_early() -> None:
    ran = eager(BOTH, "Oh.")
    for stream in ran.run:
        for event in stream:
            if event.type == "content_block_start" and event.index == 1:
                ran.run.remove_tools("add")
    assert ran.calls == []
    statuses = [c.status for c in ran.run.transcript.iterations[0].tool_calls]
    assert statuses == ["unknown", "unknown"]


def test_a_reply_that_does_not_stream_is_refused() -> None:
    with pytest.raises(UsageError, match="Give stream=True too"):
        Ran([ADD], "3.", run_tools_eagerly=True)


def test_it_is_the_loop_s_and_not_sent_with_a_request() -> None:
    ran = eager([ADD], "3.")
    with pytest.raises(UnknownParameter, match="is the loop's"):
        ran.run.submit(SetParams({"run_tools_eagerly": False}))


def test_the_events_of_a_broken_eager_reply_are_json_in_and_out() -> None:
    ran = eager(cut([ADD, MORE], 7, "drop"))
    followed = Followed(ran.run)
    ran.run.wait(PATIENCE_S)
    events: TypeAdapter[Any] = TypeAdapter(Event)
    read = [events.validate_json(e.model_dump_json()) for e in followed.events]
    assert read == followed.events


def test_edits_of_a_result_whose_reply_still_streams_are_made_before_it_goes_out() -> (
    None
):
    door = Door()
    ran = eager([ADD, MORE], "Done.", doors={(0, 7): door})
    run, followed = ran.run, Followed(ran.run)
    run.start()
    followed.wait_for("call_finished")
    door.wait_until_reached()
    call_id = run.transcript.iterations[0].tool_calls[0].id
    run.submit(EditResult(call_id, "three"))
    run.submit(ToggleCache(call_id))
    door.open()
    run.wait(PATIENCE_S)
    assert followed.of(EditRefused) == []
    edited = ran.bodies[1]["messages"][-1]["content"][0]
    assert edited["content"] == "three"
    assert edited["cache_control"] == {"type": "ephemeral"}


def test_an_edit_of_a_result_whose_reply_broke_is_refused_with_the_reason() -> None:
    door = Door()
    ran = eager(
        cut([ADD, MORE], 8, "drop"), "Done.", doors={(0, 7): door}, hold_on_failure=True
    )
    run, followed = ran.run, Followed(ran.run)
    run.start()
    followed.wait_for("call_finished")
    door.wait_until_reached()
    call_id = run.transcript.iterations[0].tool_calls[0].id
    run.submit(EditResult(call_id, "three"))
    door.open()
    followed.wait_for("halted", why="failed")
    run.retry()
    run.wait(PATIENCE_S)
    (refused,) = followed.of(EditRefused)
    assert call_id in refused.reason
    assert run.text == "Done."


@pytest.mark.parametrize("reads", [True, False])
def test_a_coroutine_tool_runs_early_while_the_loop_blocks_the_notebook_s(
    *, reads: bool
) -> None:
    @beta_async_tool
    async def where() -> str:
        """Tell which thread this is."""
        return threading.current_thread().name

    ran = eager([use("where"), say("So.")], "Done.", tools=[where])

    async def cell() -> None:
        ran.run._places.follow(asyncio.get_running_loop(), is_main=True)
        for stream in ran.run:
            if reads:
                stream.until_done()

    asyncio.run(asyncio.wait_for(cell(), PATIENCE_S))
    (call,) = ran.run.transcript.iterations[0].tool_calls
    assert call.result == "nbrunner-loop"
