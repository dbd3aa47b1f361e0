"""Tools named in `main_thread` run on the main thread, whoever it waits for."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import pytest
from anthropic import beta_tool

from nbrunner import Run
from nbrunner.core.closing import INTERRUPTED, NOT_RUN
from nbrunner.errors import RunInterrupted, UnknownTool, WaitInterrupted
from nbrunner.replay import use
from tests.loop.steering import (
    Followed,
    assert_the_api_takes_all,
    in_another_thread,
    join,
    workers,
)
from tests.loop.test_oracle import differences, sdk_alone
from tests.loop.wire import Door, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALL = use("query", sql="select name from city")


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table city (name text)")
    connection.execute("insert into city values ('Paris'), ('Oslo')")
    yield connection
    connection.close()


def query_tool(database: sqlite3.Connection) -> Any:
    @beta_tool
    def query(sql: str) -> Any:
        """Ask the database."""
        print("asking", sql)  # noqa: T201 - a tool may
        return [name for (name,) in database.execute(sql)]

    return query


def query_run(database: sqlite3.Connection, *replies: Any, **options: Any) -> Run:
    wire = Wire(*(replies or ([ALL], "Two.")))
    options = {"main_thread": ["query"], **options}
    return Run(
        client=wire.client, tools=[query_tool(database)], messages="?", **options
    )


def the_call(run: Run) -> Any:
    return run.transcript.iterations[0].tool_calls[0]


def on_main_thread(action: Callable[[], Any], *replies: Any) -> Run:
    """A run whose tool `act` does this on the main thread."""

    @beta_tool
    def act() -> Any:
        """Act."""
        return action()

    wire = Wire(*(replies or ([use("act")], "Done.")))
    run = Run(client=wire.client, tools=[act], messages="?", main_thread="act")
    run.wire = wire  # type: ignore[attr-defined]
    return run


def interrupted_tool() -> str:
    signal.raise_signal(signal.SIGINT)
    return "not reached"


def test_an_open_connection_fails_in_the_run_s_thread_and_the_remark_names_the_option(
    database: sqlite3.Connection,
) -> None:
    run = query_run(database, main_thread=())
    run.wait(20)
    call = the_call(run)
    assert call.status == "error"
    assert call.result.startswith("ProgrammingError('SQLite objects created in a")
    assert '--main-thread query, or Run(main_thread=["query"])' in call.remark


def test_it_is_served_by_a_main_thread_that_waits(
    database: sqlite3.Connection,
) -> None:
    run = query_run(database)
    run.wait(20)
    call = the_call(run)
    assert (call.status, call.result) == ("ok", '["Paris","Oslo"]')
    assert call.stdout == "asking select name from city\n"
    assert call.elapsed_s is not None
    assert call.remark == "returned a list; sent as JSON"


def test_it_is_served_by_a_main_thread_that_awaits(
    database: sqlite3.Connection,
) -> None:
    async def awaiting(run: Run) -> None:
        await run

    run = query_run(database)
    asyncio.run(awaiting(run))
    assert the_call(run).result == '["Paris","Oslo"]'


def test_it_is_served_by_the_loop_of_a_main_thread_that_does_other_things(
    database: sqlite3.Connection,
) -> None:
    async def between_cells(run: Run) -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        run.start(then=lambda: loop.call_soon_threadsafe(ended.set))
        await asyncio.wait_for(ended.wait(), 20)

    run = query_run(database)
    asyncio.run(between_cells(run))
    assert the_call(run).result == '["Paris","Oslo"]'


def test_a_call_that_waits_is_served_by_whoever_comes_later(
    database: sqlite3.Connection,
) -> None:
    async def awaiting(run: Run) -> None:
        await run

    for join_it in (lambda run: run.wait(20), lambda run: asyncio.run(awaiting(run))):
        run = query_run(database)
        followed = Followed(run)
        run.start()
        followed.wait_for("call_started")
        join_it(run)
        assert the_call(run).result == '["Paris","Oslo"]'


def test_a_loop_that_was_closed_is_not_waited_for(
    database: sqlite3.Connection,
) -> None:
    async def starting(run: Run) -> None:
        run.start()

    run = query_run(database)
    asyncio.run(starting(run))
    run.wait(20)
    assert the_call(run).result == '["Paris","Oslo"]'


def test_a_generator_is_read_where_its_tool_runs(database: sqlite3.Connection) -> None:
    def rows() -> Any:
        for (name,) in database.execute("select name from city"):
            yield {"type": "text", "text": name}

    run = on_main_thread(rows)
    run.wait(20)
    assert [block["text"] for block in the_call(run).result] == ["Paris", "Oslo"]


def test_what_is_sent_equals_what_the_sdk_alone_sends(
    database: sqlite3.Connection,
) -> None:
    rows = use("rows", sql="select name from city")
    broken = use("rows", sql="select nothing")

    @beta_tool
    def rows_of(sql: str) -> Any:
        """Ask the database."""
        return [{"type": "text", "text": name} for (name,) in database.execute(sql)]

    rows_of.name = "rows"
    replies = ([rows, broken], [rows], "Two.")
    theirs = sdk_alone(replies, {"tools": [rows_of]}, stream=True)
    wire = Wire(*replies)
    run = Run(
        client=wire.client,
        tools=[rows_of],
        messages=theirs.bodies[0]["messages"],
        max_tokens=theirs.bodies[0]["max_tokens"],
        model=theirs.bodies[0]["model"],
        main_thread="rows",
    )
    run.wait(20)
    sent = [body["messages"] for body in wire.bodies]
    expected = [body["messages"] for body in theirs.bodies]
    assert differences(sent, expected) == []


def test_a_traceback_tells_nothing_of_the_crossing() -> None:
    def fails() -> None:
        message = "bad"
        raise ValueError(message)

    run = on_main_thread(fails)
    run.wait(20)
    call = the_call(run)
    assert call.result == "ValueError('bad')"
    frames = [line for line in call.traceback.splitlines() if "File" in line]
    assert len(frames) == 2
    assert frames[0].endswith("in act")
    assert frames[1].endswith("in fails")


def test_a_main_thread_that_drives_no_loop_is_the_one_that_runs_the_tool() -> None:
    seen: list[Any] = []
    run = on_main_thread(lambda: seen.append(threading.current_thread()))
    run.wait(20)
    assert seen == [threading.main_thread()]


def test_a_wait_in_another_thread_leaves_the_calls_to_the_main_thread() -> None:
    seen: list[Any] = []
    run = on_main_thread(lambda: seen.append(threading.current_thread()))

    async def between_cells() -> None:
        run.start()
        await asyncio.to_thread(run.wait, 20)

    asyncio.run(between_cells())
    assert seen == [threading.main_thread()]


def test_a_stop_while_the_call_waits_for_its_turn_leaves_it_out() -> None:
    calls: list[int] = []
    run = on_main_thread(lambda: calls.append(1), [use("act")], "Done.")
    followed = Followed(run)
    run.start()
    followed.wait_for("call_started")
    run.stop()
    run.wait(20)
    assert (run.stopped_by, calls) == ("person", [])
    assert the_call(run).status == "interrupted"
    assert the_call(run).result == NOT_RUN
    run.start().wait(20)
    assert (run.text, calls) == ("Done.", [])


def test_a_run_left_while_the_call_waits_for_its_turn_never_makes_it() -> None:
    calls: list[int] = []
    run = on_main_thread(lambda: calls.append(1), [use("act")], "Done.")
    followed = Followed(run)
    run.start()
    followed.wait_for("call_started")
    left = workers()
    run.stop(now=True)
    assert the_call(run).result == INTERRUPTED
    join(left)
    run.start().wait(20)
    assert (run.text, calls) == ("Done.", [])


def test_a_stop_while_the_call_runs_awaits_its_result() -> None:
    door = Door()

    def waits() -> str:
        door.pass_through()
        return "so"

    run = on_main_thread(waits, [use("act"), use("act")], "Done.")

    def stops() -> None:
        door.wait_until_reached()
        run.stop()
        door.open()

    thread = threading.Thread(target=stops)
    thread.start()
    run.wait(20)
    thread.join()
    first, second = run.transcript.iterations[0].tool_calls
    assert (first.result, second.result) == ("so", NOT_RUN)


def test_an_interrupt_reaches_a_tool_on_a_main_thread_that_waits() -> None:
    run = on_main_thread(interrupted_tool, [use("act"), use("act")], "Done.")
    with pytest.raises(WaitInterrupted):
        run.wait(20)
    assert run.stopped_by == "person"
    first, second = run.transcript.iterations[0].tool_calls
    assert (first.result, second.result) == (INTERRUPTED, NOT_RUN)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run.start().wait(20)
    assert run.text == "Done."
    assert_the_api_takes_all(run.wire)  # type: ignore[attr-defined]


def test_an_interrupt_reaches_a_tool_on_a_main_thread_that_awaits() -> None:
    run = on_main_thread(interrupted_tool)

    async def awaiting() -> str:
        with pytest.raises(RunInterrupted):
            await run
        await run.start()
        return "the loop goes on"

    assert asyncio.run(awaiting()) == "the loop goes on"
    assert the_call(run).result == INTERRUPTED
    assert run.text == "Done."


def test_an_interrupt_between_cells_reaches_the_tool_and_not_the_loop() -> None:
    run = on_main_thread(interrupted_tool)

    async def between_cells() -> str:
        # As ipykernel has it between cells.
        found = signal.signal(signal.SIGINT, signal.SIG_IGN)
        run.start()
        await asyncio.to_thread(run.wait, 20)
        assert signal.signal(signal.SIGINT, found) is signal.SIG_IGN
        return "the loop goes on"

    assert asyncio.run(between_cells()) == "the loop goes on"
    assert run.stopped_by == "person"
    assert the_call(run).result == INTERRUPTED


@pytest.mark.parametrize(
    ("given", "hint"),
    [("qery", "Did you mean query?"), ("telescope", "Its tools: query.")],
)
def test_an_unknown_name_is_refused_at_once(
    database: sqlite3.Connection, given: str, hint: str
) -> None:
    with pytest.raises(UnknownTool) as refused:
        query_run(database, main_thread=[given])
    assert str(refused.value) == (
        f"main_thread {given}: the run has no tool of that name. {hint} "
        "Give the run the tool, or mend the name."
    )


@pytest.mark.parametrize(
    "message",
    [
        "main thread is not in main loop",
        "Starting a Matplotlib GUI outside of the main thread will likely fail.",
        "signal only works in main thread of the main interpreter",
        "Cannot switch to a different thread",
        "Calling Tcl from different apartment",
    ],
)
def test_errors_of_thread_bound_libraries_name_the_option(message: str) -> None:
    def in_a_cause() -> None:
        raise OSError("no") from RuntimeError(message)

    @beta_tool
    def draw() -> None:
        """Draw."""
        in_a_cause()

    run = Run(client=Wire([use("draw")], "Done.").client, tools=[draw], messages="?")
    run.wait(20)
    assert "--main-thread draw" in the_call(run).remark


def test_a_plain_tool_that_needs_an_event_loop_is_told_two_ways_out() -> None:
    @beta_tool
    def old() -> None:
        """Reach for the loop."""
        asyncio.get_event_loop()

    run = Run(client=Wire([use("old")], "Done.").client, tools=[old], messages="?")
    run.wait(20)
    assert "@beta_async_tool" in the_call(run).remark
    assert "--main-thread old" in the_call(run).remark


def test_other_errors_carry_no_remark() -> None:
    def fails() -> None:
        raise KeyError("Paris")

    @beta_tool
    def look() -> None:
        """Look."""
        fails()

    run = Run(client=Wire([use("look")], "Done.").client, tools=[look], messages="?")
    in_another_thread(lambda: run.wait(20))
    assert the_call(run).remark is None
