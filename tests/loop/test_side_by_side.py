"""With `parallel_calls` the calls of one reply are made side by side."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from anthropic import beta_async_tool, beta_tool

from nbrunner import Run
from nbrunner.core.closing import INTERRUPTED, NOT_RUN
from nbrunner.core.events import CallFinished
from nbrunner.replay import use
from tests.loop.steering import Followed, assert_the_api_takes_all, join
from tests.loop.test_oracle import differences, sdk_alone, watched
from tests.loop.test_toolsets import Browser, member
from tests.loop.toolkit import counted_tools
from tests.loop.wire import PATIENCE_S, Door, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

BOTH = ([use("first"), use("second")], "Done.")


def acting(first: Callable[[], Any], second: Callable[[], Any], **options: Any) -> Run:
    """A run with two calls in its first reply, which do these."""

    @beta_tool(name="first")
    def do_first() -> Any:
        """Act."""
        return first()

    @beta_tool(name="second")
    def do_second() -> Any:
        """Act too."""
        return second()

    wire = Wire(*BOTH)
    tools = [do_first, do_second]
    options = {"parallel_calls": True, **options}
    run = Run(client=wire.client, tools=tools, messages="?", **options)
    run.wire = wire  # type: ignore[attr-defined]
    return run


def the_calls(run: Run) -> Any:
    return run.transcript.iterations[0].tool_calls


def call_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "nbrunner-call"]


def test_two_calls_meet_and_their_results_are_in_the_model_s_order() -> None:
    second_is_done = threading.Event()

    def waits_for_the_second() -> str:
        assert second_is_done.wait(PATIENCE_S)
        return "one"

    run = acting(waits_for_the_second, lambda: "two")
    run.subscribe(
        lambda event, _: (
            second_is_done.set() if isinstance(event, CallFinished) else None
        )
    )
    run.wait(20)
    sent = run.wire.bodies[1]["messages"][-1]["content"]  # type: ignore[attr-defined]
    assert [block["content"] for block in sent] == ["one", "two"]
    assert [block["tool_use_id"] for block in sent] == [c.id for c in the_calls(run)]


def test_without_it_one_call_follows_the_other() -> None:
    order: list[str] = []
    run = acting(
        lambda: order.append("first"),
        lambda: order.append("second"),
        parallel_calls=False,
    )
    threads = Followed(run)
    run.wait(20)
    assert order == ["first", "second"]
    finished = [event.call_id for event in threads.of(CallFinished)]
    assert finished == [call.id for call in the_calls(run)]
    assert call_threads() == []


def test_each_call_has_its_own_prints() -> None:
    meeting = threading.Barrier(2, timeout=PATIENCE_S)

    def says(word: str) -> Callable[[], str]:
        def say() -> str:
            meeting.wait()
            print(word)  # noqa: T201 - a tool may
            meeting.wait()
            return word

        return say

    run = acting(says("one"), says("two"))
    run.wait(20)
    assert [call.stdout for call in the_calls(run)] == ["one\n", "two\n"]


def test_coroutine_tools_meet_on_one_loop() -> None:
    second_began = asyncio.Event()

    @beta_async_tool
    async def first() -> str:
        """Wait for the second."""
        await asyncio.wait_for(second_began.wait(), PATIENCE_S)
        return "one"

    @beta_async_tool
    async def second() -> str:
        """Begin."""
        second_began.set()
        return "two"

    async def cell(run: Run) -> None:
        await run

    wire = Wire(*BOTH)
    tools = [first, second]
    run = Run(client=wire.client, tools=tools, messages="?", parallel_calls=True)
    asyncio.run(cell(run))
    assert [call.result for call in the_calls(run)] == ["one", "two"]


def test_a_tool_of_the_main_thread_is_among_them() -> None:
    second_runs, first_is_done = threading.Event(), threading.Event()

    def on_the_main_thread() -> str:
        assert second_runs.wait(PATIENCE_S)
        first_is_done.set()
        return threading.current_thread().name

    def beside_it() -> str:
        second_runs.set()
        assert first_is_done.wait(PATIENCE_S)
        return threading.current_thread().name

    run = acting(on_the_main_thread, beside_it, main_thread="first")
    run.wait(20)
    names = [call.result for call in the_calls(run)]
    assert names == ["MainThread", "nbrunner-call"]


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_sent_equals_what_the_sdk_alone_sends(*, stream: bool) -> None:
    mixed = [
        member("navigate"),
        use("add", a=1, b=2),
        use("fail", how="plainly"),
        use("add", a=3, b=4),
        member("screenshot"),
    ]
    replies = (mixed, [use("add", a=1, b=2)], "Seen.")
    tools = {"tools": [Browser(), *counted_tools([])]}
    theirs = sdk_alone(replies, tools, stream=stream)
    ours = watched(replies, {**tools, "parallel_calls": True}, stream=stream)
    assert differences(ours.bodies, theirs.bodies) == []


def test_an_unknown_tool_among_them_is_answered_too() -> None:
    calls: list[Any] = []
    wire = Wire([use("add", a=1, b=2), use("ad"), use("add", a=3, b=4)], "Done.")
    tools = counted_tools(calls)
    run = Run(client=wire.client, tools=tools, messages="?", parallel_calls=True)
    run.wait(20)
    first, unknown, third = the_calls(run)
    assert (first.result, third.result) == ("3", "7")
    assert unknown.status == "unknown"
    assert sorted(calls) == [("add", 1, 2), ("add", 3, 4)]


def test_a_stop_awaits_all_that_has_begun() -> None:
    door = Door()

    def waits() -> str:
        door.pass_through()
        return "so"

    run = acting(waits, lambda: "two")

    def stops() -> None:
        door.wait_until_reached()
        run.stop()
        door.open()

    thread = threading.Thread(target=stops)
    thread.start()
    run.wait(20)
    thread.join()
    first, second = the_calls(run)
    assert run.stopped_by == "person"
    assert first.result == "so"
    assert second.result in ("two", NOT_RUN)


def test_an_interrupt_in_one_call_keeps_the_result_of_the_other() -> None:
    second_is_done = threading.Event()

    def interrupted() -> None:
        assert second_is_done.wait(PATIENCE_S)
        raise KeyboardInterrupt

    run = acting(interrupted, lambda: "two")
    run.subscribe(
        lambda event, _: (
            second_is_done.set() if isinstance(event, CallFinished) else None
        )
    )
    run.wait(20)
    first, second = the_calls(run)
    assert (first.result, second.result) == (INTERRUPTED, "two")
    assert run.stopped_by == "person"
    run.start().wait(20)
    assert run.text == "Done."
    assert_the_api_takes_all(run.wire)  # type: ignore[attr-defined]


def test_leaving_marks_every_call_that_is_open() -> None:
    doors = Door(), Door()
    run = acting(doors[0].pass_through, doors[1].pass_through)
    run.start()
    for door in doors:
        door.wait_until_reached()
    left = call_threads()
    run.stop(now=True)
    assert [call.result for call in the_calls(run)] == [INTERRUPTED, INTERRUPTED]
    run.start().wait(20)
    for door in doors:
        door.open()
    join(left)
    assert [call.result for call in the_calls(run)] == [INTERRUPTED, INTERRUPTED]
    assert run.text == "Done."
