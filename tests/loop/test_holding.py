"""A run that is held open at its end, for a follow-up, until someone finishes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner import Run
from nbrunner.core.events import RunFinished, RunHeld
from nbrunner.replay import use
from nbrunner.views.words import state
from tests.loop.steering import Followed, assert_the_api_takes_all
from tests.loop.toolkit import counted_tools
from tests.loop.wire import PATIENCE_S, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

ADD = use("add", a=1, b=2)


def held_run(wire: Wire, **options: Any) -> tuple[Run, Followed]:
    options = {"hold": True, **options}
    run = Run(client=wire.client, tools=counted_tools([]), messages="1 + 2?", **options)
    return run, Followed(run)


def wait_for_hold(run: Run, followed: Followed, times: int = 1) -> None:
    wait_until(followed, lambda: len(followed.of(RunHeld)) == times)
    assert run.is_running


def wait_until(followed: Followed, condition: Callable[[], bool]) -> None:
    with followed._told:
        assert followed._told.wait_for(condition, PATIENCE_S)


def test_a_retry_asks_a_held_run_for_another_last_reply() -> None:
    wire = Wire([ADD], "4", "3")
    run, followed = held_run(wire)
    run.start()
    wait_for_hold(run, followed)
    run.retry()
    wait_for_hold(run, followed, times=2)
    assert run.text == "3"
    run.stop()
    run.wait(PATIENCE_S)
    assert wire.bodies[1] == wire.bodies[2]
    assert_the_api_takes_all(wire)


def test_a_follow_up_takes_a_held_run_further_and_stop_finishes_it() -> None:
    wire = Wire([ADD], "3", [ADD], "3 again")
    run, followed = held_run(wire)
    run.start()
    wait_for_hold(run, followed)
    assert state(run.transcript) == "done, held open for you"
    assert run.stopped_by == "end_turn"
    run.inject("And again?")
    wait_for_hold(run, followed, times=2)
    run.stop()
    assert run.wait(PATIENCE_S).text == "3 again"
    assert run.stopped_by == "end_turn"
    assert state(run.transcript) == "done"
    assert wire.bodies[2]["messages"][-1]["content"] == [
        {"type": "text", "text": "And again?"}
    ]
    assert_the_api_takes_all(wire)


def test_a_message_that_was_asked_for_earlier_needs_no_hold() -> None:
    wire = Wire([ADD], "3", "4")
    run, followed = held_run(wire)
    run.inject("And 2 + 2?")
    run.start()
    wait_for_hold(run, followed)
    run.stop()
    run.wait(PATIENCE_S)
    assert len(wire.bodies) == 2


def test_a_held_run_that_is_left_at_once_keeps_the_reason_of_its_end() -> None:
    run, followed = held_run(Wire("3"))
    run.start()
    wait_for_hold(run, followed)
    run.stop(now=True)
    run.wait(PATIENCE_S)
    assert run.stopped_by == "end_turn"
    assert len(followed.of(RunFinished)) == 1


def test_a_withdrawn_follow_up_takes_nothing_further() -> None:
    wire = Wire("3", "4")
    run, followed = held_run(wire)
    run.start()
    wait_for_hold(run, followed)
    with run._ledger.lock:
        run.inject("And 2 + 2?").withdraw()
    run.pause()
    run.stop()
    run.wait(PATIENCE_S)
    assert len(wire.bodies) == 1
    assert run.stopped_by == "end_turn"


def test_a_run_held_at_its_limit_goes_on_with_a_fresh_one() -> None:
    wire = Wire([ADD], [ADD], "3")
    run, followed = held_run(wire, max_iterations=1)
    run.start()
    wait_for_hold(run, followed)
    assert run.stopped_by == "max_iterations"
    for times in (2, 3):
        run.resume()
        wait_for_hold(run, followed, times=times)
    run.stop()
    run.wait(PATIENCE_S)
    assert run.stopped_by == "end_turn"
    assert len(wire.bodies) == 3


def test_a_run_that_a_person_stops_is_not_held() -> None:
    run, followed = held_run(Wire([ADD], "3"))
    run.pause()
    run.start()
    followed.wait_for("halted")
    run.stop()
    run.wait(PATIENCE_S)
    assert run.stopped_by == "person"
    assert followed.of(RunHeld) == []
