"""A run that pauses when Claude makes the same call over and over."""

from __future__ import annotations

from typing import Any

import pytest

from nbrunner import Run
from nbrunner.core.edits import SetParams
from nbrunner.core.events import Halted
from nbrunner.replay import use
from nbrunner.views.words import state
from tests.loop.steering import Followed, assert_the_api_takes_all, pause_behind_a_reply
from tests.loop.toolkit import counted_tools
from tests.loop.wire import PATIENCE_S, Wire

ADD = use("add", a=1, b=2)
OTHER = use("add", a=1, b=3)
REASON = "the same call of add 3 times in a row looks like a loop"


def repeating_run(*replies: Any, **options: Any) -> tuple[Run, Followed, Wire]:
    wire = Wire(*replies)
    options = {"break_on_repeats": True, **options}
    run = Run(client=wire.client, tools=counted_tools([]), messages="?", **options)
    return run, Followed(run), wire


@pytest.mark.parametrize("others", [[], [OTHER]])
def test_the_same_call_in_three_replies_in_a_row_pauses_the_run(
    others: list[Any],
) -> None:
    run, followed, wire = repeating_run([ADD], [ADD, *others], [*others, ADD], "3")
    run.start()
    followed.wait_for("halted", why="paused", reason=REASON)
    assert state(run.transcript) == f"paused before request 4: {REASON}"
    run.inject("Stop adding.")
    run.resume()
    assert run.wait(PATIENCE_S).text == "3"
    assert_the_api_takes_all(wire)


def test_who_goes_on_is_left_alone_until_it_has_been_made_as_often_again() -> None:
    run, followed, _ = repeating_run(*[[ADD]] * 6, "3")
    run.start()
    followed.wait_for("halted", why="paused", reason=REASON)
    run.resume()
    reason = REASON.replace("3", "6")
    followed.wait_for("halted", why="paused", reason=reason)
    assert len(run.transcript.iterations) == 6
    run.resume()
    assert run.wait(PATIENCE_S).text == "3"


@pytest.mark.parametrize(
    "replies",
    [
        [[ADD], [ADD], [OTHER], [ADD], "3"],
        [[ADD, ADD, ADD], [OTHER], "3"],
        [[ADD], [ADD], "3"],
    ],
)
def test_calls_that_change_do_not_pause(replies: list[Any]) -> None:
    run, followed, _ = repeating_run(*replies)
    assert run.wait(PATIENCE_S).text == "3"
    assert followed.of(Halted) == []


def test_a_run_that_was_not_asked_to_does_not_pause() -> None:
    run, followed, _ = repeating_run(*[[ADD]] * 4, "3", break_on_repeats=False)
    assert run.wait(PATIENCE_S).text == "3"
    assert followed.of(Halted) == []


def test_where_nobody_is_there_the_run_goes_on_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nbrunner.run.running.is_headless", lambda: True)
    run, _, _ = repeating_run(*[[ADD]] * 3, "3")
    transcript = run.wait(PATIENCE_S)
    assert transcript.text == "3"
    said = f"{REASON}; the run did not pause, since nobody is here to look."
    assert [it.remarks for it in transcript.iterations] == [(), (), (said,), ()]


def test_a_parameter_changed_while_a_call_is_open_repeats_no_call() -> None:
    run, followed, wire = repeating_run([ADD], "3", break_on_repeats=False)
    pause_behind_a_reply(run, followed)
    run.submit(SetParams({"max_tokens": 99}))
    run.resume()
    assert run.wait(PATIENCE_S).text == "3"
    first, second = wire.bodies
    assert second["max_tokens"] == 99
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert len(wire.bodies) == 2
