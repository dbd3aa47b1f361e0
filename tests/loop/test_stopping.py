"""Stop, interrupt, leave: the conversation can go on, and no call runs twice."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from anthropic import beta_tool

from nbrunner import Run
from nbrunner.core.closing import INTERRUPTED, NOT_RUN
from nbrunner.core.events import (
    CallFinished,
    CallPrinted,
    CallStarted,
    ResultsFinished,
    RunFinished,
    RunStarted,
)
from nbrunner.core.request import Settings
from nbrunner.core.transcript import Transcript
from nbrunner.errors import RunInterrupted, WaitInterrupted
from nbrunner.loop.exits import Left
from nbrunner.loop.inbox import Inbox
from nbrunner.loop.interrupts import Interrupts
from nbrunner.loop.ledger import Ledger, Pen
from nbrunner.replay import fail, say, think, use
from tests.loop.steering import (
    Followed,
    assert_the_api_takes_all,
    in_another_thread,
    join,
    workers,
)
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Door, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ADD = use("add", a=1, b=2)
TEN = "one two three four five six seven eight nine ten"


@pytest.fixture(autouse=True)
def nobody_left_behind() -> Iterator[None]:
    yield
    join(workers())


both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


def doored_tool(door: Door, calls: list[str], *, then: Any = "at last") -> Any:
    """A tool that is inside until the test opens its door."""

    @beta_tool
    def linger(name: str) -> str:
        """Linger."""
        calls.append(name)
        door.pass_through()
        print("late")  # noqa: T201 - what it prints is the matter
        if isinstance(then, BaseException):
            raise then
        return f"{name} {then}"

    return linger


def go_on(run: Run, text: str = "Go on.") -> None:
    run.inject(text)
    run.start().wait(20)
    assert run.stopped_by == "end_turn"


@both_ways
def test_stop_inside_a_tool_awaits_it_and_leaves_out_the_calls_behind_it(
    *,
    stream: bool,
) -> None:
    calls: list[str] = []
    door = Door()
    wire = Wire([use("linger", name="a"), use("linger", name="b"), ADD], "Going on.")
    run = Run(
        client=wire.client,
        tools=[doored_tool(door, calls), *counted_tools(calls)],
        messages="?",
        stream=stream,
    )
    run.start()
    door.wait_until_reached()
    in_another_thread(run.stop)
    assert run.is_running
    door.open()
    run.wait(20)
    assert run.stopped_by == "person"
    assert calls == ["a"]
    results = run.transcript.iterations[0].tool_calls
    assert [call.result for call in results] == ["a at last", NOT_RUN, NOT_RUN]
    assert [call.status for call in results] == ["ok", "interrupted", "interrupted"]
    assert [call.executed_input for call in results] == [{"name": "a"}, None, None]
    go_on(run)
    assert calls == ["a"]
    assert_the_api_takes_all(wire)


def test_stop_between_two_calls_leaves_out_the_second() -> None:
    calls: list[Any] = []
    wire = Wire([ADD, ADD], "Going on.")
    run = Run(client=wire.client, tools=counted_tools(calls), messages="?")

    def stop(event: Any, _: Any) -> None:
        if event.kind == "call_finished":
            run.stop()

    run.subscribe(stop)
    run.wait(20)
    assert len(calls) == 1
    assert run.transcript.iterations[0].tool_calls[1].result == NOT_RUN
    go_on(run)
    assert_the_api_takes_all(wire)


@pytest.mark.parametrize("event", range(1, 14))
def test_stop_in_mid_stream_drops_the_half_reply_and_going_on_sends_the_same_again(
    event: int,
) -> None:
    calls: list[Any] = []
    door = Door()
    wire = Wire(
        [think("Hm hm hm hm"), say(TEN), ADD],
        [say("Again."), ADD],
        "3",
        doors={(0, event): door},
    )
    run = Run(client=wire.client, tools=counted_tools(calls), messages="?")
    run.start()
    door.wait_until_reached()
    in_another_thread(run.stop)
    door.open()
    run.wait(20)
    assert run.stopped_by == "person"
    (failure,) = run.transcript.iterations[0].failures
    assert failure.kind == "stopped"
    assert run.messages == [{"role": "user", "content": "?"}]
    assert calls == []
    run.start().wait(20)
    assert (run.text, run.stopped_by) == ("3", "end_turn")
    assert wire.bodies[1] == wire.bodies[0]
    assert len(run.transcript.iterations) == 2
    assert len(calls) == 1


def test_a_stop_before_the_first_request_sends_nothing() -> None:
    wire = Wire("Done.")
    run = Run(client=wire.client, messages="?")
    run.pause()
    followed = Followed(run)
    run.start()
    followed.wait_for("halted")
    run.stop()
    run.wait(20)
    assert (run.stopped_by, wire.bodies) == ("person", [])


def test_a_stop_right_after_the_start_is_not_lost() -> None:
    wire = Wire([ADD], "3")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")

    def stop_at_once(event: Any, _: Any) -> None:
        if event.kind == "run_started":
            run.stop()

    run.subscribe(stop_at_once)
    run.wait(20)
    assert (run.stopped_by, wire.bodies) == ("person", [])


def test_a_stop_that_comes_after_the_end_does_not_stop_the_next_start() -> None:
    wire = Wire("One.", "Two.")
    run = Run(client=wire.client, messages="?")

    def stop_too_late(event: Any, _: Any) -> None:
        if event.kind == "run_finished":
            run.stop()
            run.stop(now=True)

    unsubscribe = run.subscribe(stop_too_late)
    run.wait(20)
    assert run.stopped_by == "end_turn"
    assert run.transcript.asked == ()
    unsubscribe()
    go_on(run)
    assert run.text == "Two."


def test_what_was_asked_during_the_last_reply_is_not_left_over_for_the_next_start() -> (
    None
):
    door = Door()
    wire = Wire("One.", "Two.", doors={(0, 6): door})
    run = Run(client=wire.client, messages="?")
    run.start()
    door.wait_until_reached()
    run.stop()
    door.open()
    run.wait(20)
    assert run.stopped_by == "person"
    assert run.transcript.asked == ()
    run.inject("More.")
    run.start().wait(20)
    assert run.text == "Two."


@both_ways
def test_leaving_a_tool_that_does_not_return_ends_the_run_at_once(
    *, stream: bool
) -> None:
    calls: list[str] = []
    door = Door()
    wire = Wire([ADD, use("linger", name="a"), ADD], [say("Going on."), ADD], "Done.")
    run = Run(
        client=wire.client,
        tools=[doored_tool(door, calls), *counted_tools(calls)],
        messages="?",
        stream=stream,
    )
    followed = Followed(run)
    run.start()
    door.wait_until_reached()
    in_another_thread(lambda: run.stop(now=True))
    run.wait(20)
    assert run.stopped_by == "person"
    first, second, third = run.transcript.iterations[0].tool_calls
    assert (first.result, second.result, third.result) == ("3", INTERRUPTED, NOT_RUN)
    assert (second.status, third.status) == ("interrupted", "interrupted")
    told = len(followed.events)
    go_on(run)
    assert calls == [("add", 1, 2), "a", ("add", 1, 2)]
    assert_the_api_takes_all(wire)
    # The tool comes back at last, into a run that has gone on without it.
    before = run.transcript
    door.open()
    join(workers())
    assert run.transcript is before
    late = followed.events[told:]
    assert not [e for e in late if getattr(e, "call_id", None) == second.id]
    assert "late" not in [e.text for e in followed.of(CallPrinted)]
    assert len(followed.of(RunFinished)) == 2


def test_a_driver_left_behind_takes_nothing_that_is_meant_for_the_next() -> None:
    calls: list[str] = []
    stuck, later = Door(), Door()
    wire = Wire([use("linger", name="a")], TEN, "Done.", doors={(1, 5): later})
    run = Run(client=wire.client, tools=[doored_tool(stuck, calls)], messages="?")
    run.start()
    stuck.wait_until_reached()
    left = workers()
    run.stop(now=True)
    followed = Followed(run)
    run.start()
    later.wait_until_reached()
    run.pause()
    stuck.open()
    join(left)
    later.open()
    followed.wait_for("halted", why="paused")
    run.resume()
    run.wait(20)
    assert run.stopped_by == "end_turn"


def test_leaving_a_paused_run_frees_it_for_the_next_start() -> None:
    wire = Wire("Done.")
    run = Run(client=wire.client, messages="?")
    followed = Followed(run)
    run.pause()
    run.start()
    followed.wait_for("halted", why="paused")
    in_another_thread(lambda: run.stop(now=True))
    run.wait(20)
    assert run.stopped_by == "person"
    run.start().wait(20)
    assert run.text == "Done."
    assert len(followed.of(RunFinished)) == 2


def test_leaving_in_mid_stream_drops_the_half_reply() -> None:
    door = Door()
    wire = Wire(TEN, "Done.", doors={(0, 5): door})
    run = Run(client=wire.client, messages="?")
    run.start()
    door.wait_until_reached()
    left = workers()
    in_another_thread(lambda: run.stop(now=True))
    run.wait(20)
    (failure,) = run.transcript.iterations[0].failures
    assert (failure.kind, run.stopped_by) == ("stopped", "person")
    door.open()
    join(left)
    assert run.transcript.iterations[0].failures == (failure,)
    run.start().wait(20)
    assert run.text == "Done."


def test_leaving_during_a_retry_tells_of_that_attempt_too() -> None:
    door = Door()
    wire = Wire(fail(529), TEN, "Done.", doors={(1, 0): door})
    run = Run(client=wire.client, messages="?")
    run.wait(20)
    run.retry()
    door.wait_until_reached()
    assert not run.transcript.iterations[0].has_failed
    run.stop(now=True)
    kinds = [failure.kind for failure in run.transcript.iterations[0].failures]
    assert kinds == ["api", "stopped"]
    door.open()
    run.start().wait(20)
    assert run.text == "Done."


def test_leaving_twice_ends_once() -> None:
    calls: list[str] = []
    door = Door()
    wire = Wire([use("linger", name="a")])
    run = Run(client=wire.client, tools=[doored_tool(door, calls)], messages="?")
    followed = Followed(run)
    run.start()
    door.wait_until_reached()
    run.stop(now=True)
    run.stop(now=True)
    door.open()
    join(workers())
    assert len(followed.of(RunFinished)) == 1
    assert len(followed.of(ResultsFinished)) == 1


def test_a_pen_that_was_taken_writes_no_more_and_is_taken_once() -> None:
    ledger = Ledger(Transcript(settings=Settings(model="m", max_tokens=1)))
    pen = Pen(ledger)
    pen.write(RunStarted(source="live"))
    pen.take(lambda: [RunFinished(stopped_by="person")])
    pen.take(lambda: [RunFinished(stopped_by="error")])
    with pytest.raises(Left):
        pen.write(RunStarted(source="live"))
    assert ledger.transcript.stopped_by == "person"


def test_who_waits_at_the_inbox_gives_up_when_stirred() -> None:
    inbox, left, waits = Inbox(), threading.Event(), threading.Event()

    def unless() -> bool:
        waits.set()
        return left.is_set()

    waiting = threading.Thread(target=inbox.wait, args=(unless,))
    waiting.start()
    assert waits.wait(20)
    left.set()
    inbox.stir()
    join([waiting])


INTERRUPTIONS = {
    "KeyboardInterrupt": (KeyboardInterrupt(), INTERRUPTED),
    "SystemExit": (
        SystemExit(2),
        "SystemExit(2) ended this call, and its result is lost.",
    ),
    "CancelledError": (
        asyncio.CancelledError(),
        "CancelledError() ended this call, and its result is lost.",
    ),
}


@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_an_interrupt_inside_a_tool_stops_the_run_with_every_call_answered(
    name: str,
) -> None:
    error, told = INTERRUPTIONS[name]
    calls: list[str] = []
    door = Door()
    door.open()
    wire = Wire([use("linger", name="a"), use("linger", name="b")], "Going on.")
    run = Run(
        client=wire.client,
        tools=[doored_tool(door, calls, then=error)],
        messages="?",
    )
    run.wait(20)
    assert run.stopped_by == "person"
    first, second = run.transcript.iterations[0].tool_calls
    assert (first.result, second.result) == (told, NOT_RUN)
    assert first.traceback is not None
    assert name in first.traceback
    go_on(run)
    assert calls == ["a"]
    assert_the_api_takes_all(wire)


def interrupt() -> None:
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


def by_wait(run: Run) -> object:
    return run.wait()


def by_await(run: Run) -> object:
    async def cell() -> object:
        return await run

    return asyncio.run(cell())


INTERRUPTED_WAIT = (RunInterrupted, WaitInterrupted)
either_wait = pytest.mark.parametrize("wait", [by_wait, by_await])


@either_wait
def test_the_first_interrupt_stops_at_the_next_safe_point(
    wait: Callable[[Run], object],
) -> None:
    calls: list[str] = []
    door = Door()
    wire = Wire([use("linger", name="a"), use("linger", name="b")], "Going on.")
    run = Run(client=wire.client, tools=[doored_tool(door, calls)], messages="?")
    followed = Followed(run)

    def person() -> None:
        door.wait_until_reached()
        interrupt()
        followed.wait_for("asked")
        door.open()

    helper = threading.Thread(target=person)
    helper.start()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(INTERRUPTED_WAIT, match=r"run\.start\(\) continues it"):
        wait(run)
    helper.join(20)
    assert signal.getsignal(signal.SIGINT) is before
    assert run.stopped_by == "person"
    results = [call.result for call in run.transcript.iterations[0].tool_calls]
    assert results == ["a at last", NOT_RUN]
    # Nothing interrupts the next wait, nor a wait for what has ended.
    wait(run)
    go_on(run)
    assert_the_api_takes_all(wire)


@either_wait
def test_the_second_interrupt_leaves_at_once(wait: Callable[[Run], object]) -> None:
    calls: list[str] = []
    door = Door()
    wire = Wire([use("linger", name="a"), use("linger", name="b")], "Going on.")
    run = Run(client=wire.client, tools=[doored_tool(door, calls)], messages="?")
    followed = Followed(run)

    def person() -> None:
        door.wait_until_reached()
        interrupt()
        followed.wait_for("asked")
        interrupt()

    helper = threading.Thread(target=person)
    helper.start()
    with pytest.raises(INTERRUPTED_WAIT):
        wait(run)
    helper.join(20)
    results = [call.result for call in run.transcript.iterations[0].tool_calls]
    assert results == [INTERRUPTED, NOT_RUN]
    go_on(run)
    door.open()
    join(workers())
    assert calls == ["a"]
    assert_the_api_takes_all(wire)


def test_an_interrupt_stops_all_runs_that_are_awaited_side_by_side() -> None:
    doors = [Door(), Door()]
    runs = [
        Run(
            client=Wire([use("linger", name="a"), use("linger", name="b")]).client,
            tools=[doored_tool(door, [])],
            messages="?",
        )
        for door in doors
    ]
    followed = [Followed(run) for run in runs]

    def person() -> None:
        for door in doors:
            door.wait_until_reached()
        interrupt()
        for each, door in zip(followed, doors, strict=True):
            each.wait_for("asked")
            door.open()

    async def cell() -> list[Any]:
        return await asyncio.gather(*runs, return_exceptions=True)

    # A KeyboardInterrupt in one of them would end the kernel's event loop.

    helper = threading.Thread(target=person)
    helper.start()
    before = signal.getsignal(signal.SIGINT)
    assert list(map(type, asyncio.run(cell()))) == [RunInterrupted, RunInterrupted]
    helper.join(20)
    assert signal.getsignal(signal.SIGINT) is before
    assert [run.stopped_by for run in runs] == ["person", "person"]


@pytest.mark.parametrize("first_out", [0, 1])
def test_waits_that_end_in_any_order_leave_the_handler_they_found(
    first_out: int,
) -> None:
    heard: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    waits = [
        Interrupts(lambda: heard.append("a")),
        Interrupts(lambda: heard.append("b")),
    ]
    for wait in waits:
        wait.__enter__()
    signal.raise_signal(signal.SIGINT)
    assert sorted(heard) == ["a", "b"]
    heard.clear()
    waits[first_out].__exit__()
    signal.raise_signal(signal.SIGINT)
    assert heard == ["ba"[first_out]]
    waits[1 - first_out].__exit__()
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_the_main_thread_interrupts_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)

    def wait() -> None:
        with Interrupts(lambda: None):
            assert signal.getsignal(signal.SIGINT) is before

    in_another_thread(wait)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_cancelled_wait_stops_the_run_and_its_end_disturbs_nobody() -> None:
    calls: list[str] = []
    door = Door()
    wire = Wire([use("linger", name="a")], "Going on.")
    run = Run(client=wire.client, tools=[doored_tool(door, calls)], messages="?")

    async def cell() -> None:
        task = asyncio.ensure_future(run)
        await asyncio.to_thread(door.wait_until_reached)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cell())
    door.open()
    run.wait(20)
    assert run.stopped_by == "person"
    go_on(run)


def test_a_wait_that_runs_out_of_time_leaves_the_run_going() -> None:
    door = Door()
    wire = Wire([use("linger", name="a")], "Done.")
    run = Run(client=wire.client, tools=[doored_tool(door, [])], messages="?")
    with pytest.raises(TimeoutError, match=r"run still runs after 0\.01 s"):
        run.wait(0.01)
    door.open()
    run.wait(20)
    assert run.text == "Done."


def test_a_call_is_announced_before_it_runs_and_told_once_when_it_has() -> None:
    run = Run(
        client=Wire([ADD, ADD], "3").client, tools=counted_tools([]), messages="?"
    )
    followed = Followed(run)
    run.wait(20)
    started = [event.call_id for event in followed.of(CallStarted)]
    finished = [event.call_id for event in followed.of(CallFinished)]
    assert started == finished == ["toolu_01", "toolu_02"]
