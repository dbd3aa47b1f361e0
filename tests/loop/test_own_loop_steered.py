"""The user's own loop, steered from elsewhere, and in an event loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Any

import anthropic
import pytest
from anthropic import beta_tool

from nbrunner import Run
from nbrunner.core.events import CallStarted
from nbrunner.errors import (
    ReplyStopped,
    RunInterrupted,
)
from nbrunner.replay import fail, say, think, use
from tests.loop.iterated import (
    ADD,
    Ran,
    both_ways,
    message_of,
)
from tests.loop.steering import Followed, in_another_thread
from tests.loop.wire import Door, Wire


@both_ways
def test_stop_from_another_thread_ends_the_loop_after_its_body(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        in_another_thread(ran.run.stop)
    assert ran.run.stopped_by == "person"
    assert (ran.calls, len(ran.bodies)) == ([], 1)
    assert list(ran.texts()) == ["Done."]


def test_stop_by_a_listener_ends_the_stream_that_the_body_reads() -> None:
    ran = Ran("One two three four.", "Done.", stream=True)
    unsubscribe = ran.run.subscribe(
        lambda event, _: ran.run.stop() if event.kind == "block_grew" else None
    )
    for stream in ran.run:
        assert len(list(stream.text_stream)) == 1
        with pytest.raises(ReplyStopped):
            stream.get_final_message()
    assert ran.run.stopped_by == "person"
    unsubscribe()
    assert list(ran.texts()) == ["Done."]
    assert ran.bodies[0] == ran.bodies[1]


def test_results_asked_for_of_a_reply_that_is_stopped_say_so() -> None:
    ran = Ran([say("One."), ADD], "Done.", stream=True)
    for _ in ran.run:
        ran.run.stop()
        with pytest.raises(ReplyStopped):
            ran.run.generate_tool_call_response()
    assert ran.run.stopped_by == "person"
    assert ran.calls == []
    assert list(ran.texts()) == ["Done."]


def test_a_retry_while_the_body_reads_a_stream_gives_it_another() -> None:
    ran = Ran("One two three four.", "Done.", stream=True)
    read = []
    for stream in ran.run:
        for text in stream.text_stream:
            read.append(text)
            if len(ran.bodies) == 1:
                ran.run.retry()
    assert len(read) > 1
    assert "".join(read).endswith("Done.")
    assert ran.bodies[0] == ran.bodies[1]
    assert ran.run.transcript.iterations[0].failures[0].kind == "dropped"


@both_ways
def test_a_paused_loop_waits_for_someone_in_another_thread(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    followed = Followed(ran.run)
    for item in ran.run:
        if message_of(item).stop_reason == "tool_use":
            ran.run.pause()
            ran.run.subscribe(
                lambda event, _: ran.run.resume() if event.kind == "halted" else None
            )
    assert [e.kind for e in followed.events].count("halted") == 1
    assert ran.run.stopped_by == "end_turn"


def test_an_interrupt_of_a_paused_loop_leaves_it_to_be_gone_on_with() -> None:
    ran = Ran([ADD], "Done.")
    main = threading.main_thread().ident
    assert main is not None

    def interrupt(event: Any, _: Any) -> None:
        if event.kind == "halted":
            threading.Timer(0.01, signal.pthread_kill, [main, signal.SIGINT]).start()

    ran.run.subscribe(interrupt)
    next(ran.run)
    ran.run.pause()
    with pytest.raises(KeyboardInterrupt):
        next(ran.run)
    assert ran.run.stopped_by == "person"
    assert list(ran.texts()) == ["Done."]
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_a_message_injected_from_another_thread_goes_out_behind_the_results(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        if len(ran.bodies) == 1:
            in_another_thread(lambda: ran.run.inject("Be brief."))
    assert ran.sent()[2]["content"][1] == {"type": "text", "text": "Be brief."}


def test_the_events_of_an_own_loop_are_those_of_a_run_in_a_thread() -> None:
    kinds = []
    for drive in (list, lambda run: run.wait(20)):
        ran = Ran([say("Let me see."), think("Hm", "c2ln"), ADD], "3.", stream=True)
        followed = Followed(ran.run)
        drive(ran.run)
        kinds.append([event.kind for event in followed.events])
    assert kinds[0] == kinds[1]
    assert len(followed.of(CallStarted)) == 1


def test_a_run_of_its_own_can_be_iterated_too() -> None:
    run = Run(client=Wire("Hello.").client, messages="Hi", stream=False)
    assert [message.content[0].text for message in run] == ["Hello."]


def test_an_async_loop_leaves_the_event_loop_free() -> None:
    @beta_tool
    def wait() -> str:
        """Wait for the event loop."""
        door.pass_through()
        return "so"

    door = Door()
    ran = Ran([use("wait")], "Done.", tools=[wait])

    async def open_the_door() -> None:
        await asyncio.to_thread(door.wait_until_reached)
        door.open()

    async def loop() -> list[str]:
        opening = asyncio.create_task(open_the_door())
        seen = [message.stop_reason async for message in ran.run]
        await opening
        return seen

    assert asyncio.run(loop()) == ["tool_use", "end_turn"]


@both_ways
def test_an_async_loop_can_be_left_and_gone_on_with(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)

    async def loop() -> list[str]:
        async for _ in ran.run:
            break
        assert ran.run.stopped_by == "break"
        return [message_of(item).stop_reason async for item in ran.run]

    assert asyncio.run(loop()) == ["end_turn"]
    assert ran.calls == [("add", 1, 2)]


def test_an_api_error_is_raised_in_an_async_loop() -> None:
    ran = Ran(fail(529), "Done.")

    async def loop() -> None:
        async for _ in ran.run:
            pass

    with pytest.raises(anthropic.APIStatusError):
        asyncio.run(loop())
    assert list(ran.texts()) == ["Done."]


def test_an_interrupt_of_an_async_loop_stops_the_run_where_it_can_go_on() -> None:
    @beta_tool
    def interrupt() -> str:
        """Interrupt the kernel."""
        ran.calls.append("interrupt")
        signal.raise_signal(signal.SIGINT)
        return "so"

    ran = Ran([use("interrupt")], "Done.", tools=[interrupt])

    async def loop() -> None:
        async for _ in ran.run:
            pass

    with pytest.raises(RunInterrupted):
        asyncio.run(loop())
    assert ran.run.until_done().content[0].text == "Done."
    assert ran.calls == ["interrupt"]


def test_an_async_loop_that_is_cancelled_stops_the_run() -> None:
    @beta_tool
    def wait() -> str:
        """Wait until the loop is cancelled."""
        door.pass_through()
        return "so"

    door = Door()
    ran = Ran([use("wait")], "Done.", tools=[wait])
    followed = Followed(ran.run)

    async def loop() -> None:
        async for _ in ran.run:
            pass

    async def cancel() -> None:
        looping = asyncio.create_task(loop())
        await asyncio.to_thread(door.wait_until_reached)
        looping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looping
        door.open()
        await asyncio.to_thread(followed.wait_for, "run_finished")

    asyncio.run(cancel())
    assert ran.run.stopped_by == "person"
    assert list(ran.texts()) == ["Done."]
