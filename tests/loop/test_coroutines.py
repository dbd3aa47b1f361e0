"""Coroutine tools run on the loop they belong to, whoever waits for the run."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from anthropic import beta_async_tool, beta_tool
from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, ToolError

from nbrunner import Run
from nbrunner.core.closing import INTERRUPTED, NOT_RUN
from nbrunner.replay import use
from tests.loop.steering import Followed, assert_the_api_takes_all, join, workers
from tests.loop.wire import PATIENCE_S, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

ADD = use("add", a=1, b=2)


@beta_async_tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    await asyncio.sleep(0)
    return str(a + b)


@beta_tool
async def add_under_the_plain_decorator(a: int, b: int) -> str:
    """Add two numbers."""
    await asyncio.sleep(0)
    return str(a + b)


add_under_the_plain_decorator.name = "add"


class AddObject(BetaAsyncBuiltinFunctionTool):
    def to_dict(self) -> Any:
        return {"name": "add", "input_schema": {"type": "object"}}

    async def call(self, input: Any) -> str:  # noqa: A002 - the SDK names it so
        await asyncio.sleep(0)
        return str(input["a"] + input["b"])


def acting(action: Callable[[], Coroutine[Any, Any, Any]], *replies: Any) -> Run:
    """A run whose coroutine tool `act` does this."""

    @beta_async_tool
    async def act() -> Any:
        """Act."""
        return await action()

    wire = Wire(*(replies or ([use("act")], "Done.")))
    run = Run(client=wire.client, tools=[act], messages="?")
    run.wire = wire  # type: ignore[attr-defined]
    return run


def the_call(run: Run) -> Any:
    return run.transcript.iterations[0].tool_calls[0]


async def awaiting(run: Run) -> None:
    await run


async def thread_name() -> str:
    return threading.current_thread().name


@pytest.mark.parametrize("tool", [add, add_under_the_plain_decorator, AddObject()])
@pytest.mark.parametrize("stream", [False, True])
def test_each_kind_of_coroutine_tool_answers_by_every_way_to_wait(
    tool: Any, *, stream: bool
) -> None:
    for finish in (lambda run: run.wait(20), lambda run: asyncio.run(awaiting(run))):
        wire = Wire([ADD], "3.")
        run = Run(client=wire.client, tools=[tool], messages="?", stream=stream)
        finish(run)
        assert (the_call(run).status, the_call(run).result) == ("ok", "3")
        assert wire.bodies[0]["tools"][0]["name"] == "add"
        assert_the_api_takes_all(wire)


def test_while_someone_awaits_it_runs_on_the_loop_that_waits() -> None:
    loops: list[Any] = []

    async def where() -> str:
        loops.append(asyncio.get_running_loop())
        return "so"

    async def awaited(run: Run) -> None:
        loops.append(asyncio.get_running_loop())
        await run

    asyncio.run(awaited(acting(where)))
    assert loops[0] is loops[1]


def test_where_the_wait_blocks_the_loop_it_runs_on_nbrunner_s_own() -> None:
    run = acting(thread_name)

    async def blocks() -> None:
        run.wait(20)

    asyncio.run(blocks())
    assert the_call(run).result == "nbrunner-loop"


def test_without_any_loop_it_runs_on_nbrunner_s_own_which_stays_the_same() -> None:
    loops: list[Any] = []

    async def where() -> str:
        loops.append(asyncio.get_running_loop())
        return threading.current_thread().name

    for _ in range(2):
        run = acting(where)
        run.wait(20)
        assert the_call(run).result == "nbrunner-loop"
    assert loops[0] is loops[1]


def test_what_it_prints_and_raises_is_caught_on_every_loop() -> None:
    async def fails() -> None:
        print("looking")  # noqa: T201 - a tool may
        await asyncio.sleep(0)
        message = "bad"
        raise ValueError(message)

    for finish in (lambda run: run.wait(20), lambda run: asyncio.run(awaiting(run))):
        run = acting(fails)
        finish(run)
        call = the_call(run)
        assert (call.status, call.result) == ("error", "ValueError('bad')")
        assert call.stdout == "looking\n"
        assert call.elapsed_s is not None
        frames = [line for line in call.traceback.splitlines() if "File" in line]
        assert [frame.rpartition(" ")[2] for frame in frames] == ["act", "fails"]


@pytest.mark.parametrize("tool", [add, add_under_the_plain_decorator])
def test_an_input_that_fails_validation_is_answered_with_the_field(tool: Any) -> None:
    wire = Wire([use("add", a="one")], "Oh.")
    run = Run(client=wire.client, tools=[tool], messages="?")
    run.wait(20)
    assert the_call(run).status == "invalid"
    assert "`b` is required and is missing" in the_call(run).result


def test_a_tool_error_is_told_in_its_own_words() -> None:
    async def refuses() -> None:
        message = "Ask for a city in Europe."
        raise ToolError(message)

    run = acting(refuses)
    run.wait(20)
    assert the_call(run).result == "Ask for a city in Europe."


def test_an_object_of_a_blocked_loop_fails_with_the_way_to_wait() -> None:
    async def cell() -> Run:
        opened = asyncio.get_running_loop().create_future()

        async def uses_it() -> str:
            return str(await opened)

        run = acting(uses_it)
        run.wait(20)
        opened.cancel()
        return run

    call = the_call(asyncio.run(cell()))
    assert call.status == "error"
    assert "attached to a different loop" in call.result
    assert call.remark.endswith("Wait with `await run`.")


def test_a_call_that_has_begun_on_a_loop_fails_when_a_wait_blocks_it() -> None:
    began = threading.Event()

    async def waits() -> None:
        began.set()
        await asyncio.Event().wait()

    run = acting(waits)

    async def cells() -> None:
        run.start()
        await asyncio.to_thread(began.wait, PATIENCE_S)
        run.wait(20)

    asyncio.run(cells())
    call = the_call(run)
    assert call.status == "error"
    assert "`await run`" in call.result
    assert run.text == "Done."


def test_a_call_that_waits_for_a_loop_moves_away_when_a_wait_blocks_it() -> None:
    run = acting(thread_name)
    followed = Followed(run)

    async def cell() -> None:
        run.start()
        followed.wait_for("call_started")
        run.wait(20)

    asyncio.run(cell())
    assert the_call(run).result == "nbrunner-loop"


def test_a_loop_that_ends_before_the_call_begins_is_not_waited_for() -> None:
    run = acting(thread_name)
    followed = Followed(run)

    async def starts() -> None:
        run.start()
        followed.wait_for("call_started")
        asyncio.get_running_loop().stop()

    loop = asyncio.new_event_loop()
    starting = loop.create_task(starts())
    loop.run_forever()
    loop.close()
    assert starting.done()
    run.wait(20)
    assert the_call(run).result == "nbrunner-loop"


def test_a_loop_that_ends_during_the_call_leaves_an_error() -> None:
    began = threading.Event()

    async def endless() -> None:
        began.set()
        await asyncio.get_running_loop().create_future()

    run = acting(endless)

    async def starts() -> None:
        run.start()
        await asyncio.to_thread(began.wait, PATIENCE_S)

    asyncio.run(starts())
    run.wait(20)
    assert the_call(run).is_error
    run.start().wait(20)
    assert run.text == "Done."


def test_between_cells_it_runs_on_the_notebook_s_loop() -> None:
    run = acting(thread_name)

    async def cells() -> None:
        run.start()
        await asyncio.to_thread(run.wait, 20)

    asyncio.run(cells())
    assert the_call(run).result == "MainThread"


@pytest.mark.parametrize("waits_by", ["await", "wait"])
def test_leaving_the_run_cancels_the_call(waits_by: str) -> None:
    began, cancelled = threading.Event(), threading.Event()

    async def endless() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    run = acting(endless, [use("act"), use("act")], "Done.")

    def leaves() -> None:
        assert began.wait(PATIENCE_S)
        run.stop(now=True)

    thread = threading.Thread(target=leaves)
    thread.start()
    if waits_by == "await":
        asyncio.run(awaiting(run))
    else:
        run.wait(20)
    thread.join()
    assert cancelled.wait(PATIENCE_S)
    join(workers())
    first, second = run.transcript.iterations[0].tool_calls
    assert (first.result, second.result) == (INTERRUPTED, NOT_RUN)
    run.start().wait(20)
    assert run.text == "Done."
    assert_the_api_takes_all(run.wire)  # type: ignore[attr-defined]


def test_a_stop_awaits_the_call_in_hand() -> None:
    go_on = threading.Event()
    began = threading.Event()

    async def waits() -> str:
        began.set()
        await asyncio.to_thread(go_on.wait, PATIENCE_S)
        return "so"

    run = acting(waits, [use("act"), use("act")], "Done.")

    def stops() -> None:
        assert began.wait(PATIENCE_S)
        run.stop()
        go_on.set()

    thread = threading.Thread(target=stops)
    thread.start()
    asyncio.run(awaiting(run))
    thread.join()
    first, second = run.transcript.iterations[0].tool_calls
    assert (first.result, second.result) == ("so", NOT_RUN)


def test_a_call_that_cancels_itself_ends_the_run_validly() -> None:
    async def cancels() -> None:
        raise asyncio.CancelledError

    run = acting(cancels)
    asyncio.run(awaiting(run))
    assert run.stopped_by == "person"
    assert the_call(run).status == "interrupted"
    run.start().wait(20)
    assert run.text == "Done."


def test_leaving_at_once_does_not_cancel_a_call_of_an_own_loop_that_came_later() -> (
    None
):
    began, go_on = threading.Event(), threading.Event()

    async def waits() -> str:
        began.set()
        await asyncio.to_thread(go_on.wait, PATIENCE_S)
        return "so"

    run = acting(waits, "Done.", [use("act")], "Done.")
    run.start().wait(20)

    def leaves() -> None:
        assert began.wait(PATIENCE_S)
        run.stop(now=True)
        go_on.set()

    thread = threading.Thread(target=leaves)
    thread.start()
    run.inject("Act.")
    for _ in run:
        pass
    thread.join()
    assert run.stopped_by == "person"
    assert run.transcript.iterations[1].tool_calls[0].result == "so"
