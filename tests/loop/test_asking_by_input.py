"""Where the waiting thread owns the loop, the question is put by `input()`."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from nbrunner.core.approval import NOBODY_THERE
from nbrunner.errors import WaitInterrupted
from nbrunner.replay import use
from nbrunner.run import asking
from tests.loop.steering import assert_the_api_takes_all
from tests.loop.test_approvals import ADD, MORE, Asked
from tests.loop.wire import PATIENCE_S
from tests.magic.test_approve import typed


def waiting(asked: Asked) -> None:
    asked.run.wait(PATIENCE_S)


def iterating(asked: Asked) -> None:
    for _ in asked.run:
        pass


def to_the_end(asked: Asked) -> None:
    asked.run.until_done()


def taking_the_results(asked: Asked) -> None:
    for _ in asked.run:
        asked.run.generate_tool_call_response()


ROADS = [waiting, iterating, to_the_end]
Road = "Callable[[Asked], None]"


@pytest.mark.parametrize("road", [*ROADS, taking_the_results])
def test_a_person_decides_each_call_by_a_word(
    monkeypatch: pytest.MonkeyPatch, road: Road
) -> None:
    asked = Asked([ADD, MORE, use("echo", value="x")], "Done.", stream=False)
    prompts = typed(
        monkeypatch, "y", "Edit", '{"a": 30, "b": 40}', "no", "not that one"
    )
    road(asked)
    results = asked.ends()
    assert asked.ran == [("add", 1, 2), ("add", 30, 40)]
    assert results[2]["content"].endswith("not that one")
    assert [prompt.split("\n")[0][:24] for prompt in prompts] == [
        "Claude wants to run add ",
        "Claude wants to run add ",
        "The whole input, as JSON",
        "Claude wants to run echo",
        "The reason, which Claude",
    ]
    assert {call.decided_by for call in asked.calls()} == {"person"}


@pytest.mark.parametrize("road", ROADS)
def test_always_asks_no_more_about_that_tool(
    monkeypatch: pytest.MonkeyPatch, road: Road
) -> None:
    asked = Asked([ADD], [MORE], "Done.", stream=False)
    prompts = typed(monkeypatch, "a")
    road(asked)
    asked.ends()
    assert len(prompts) == 1
    assert asked.ran == [("add", 1, 2), ("add", 3, 4)]


@pytest.mark.parametrize("road", ROADS)
def test_what_does_not_fit_is_said_and_asked_again(
    monkeypatch: pytest.MonkeyPatch, road: Road
) -> None:
    asked = Asked([ADD], "Done.", stream=False)
    answers = ("what?", "e", "{a", "", "e", '{"a": "x", "b": 2}', "y")
    prompts = typed(monkeypatch, *answers)
    road(asked)
    asked.ends()
    assert prompts[3].startswith("That is no JSON (")
    assert prompts[6].startswith("That input does not fit add: `a` has to be of type")
    assert asked.ran == [("add", 1, 2)]


@pytest.mark.parametrize("road", [*ROADS, taking_the_results])
def test_an_interrupt_at_the_question_stops_the_run_validly(
    monkeypatch: pytest.MonkeyPatch, road: Road
) -> None:
    asked = Asked([ADD, MORE], "Going on.", stream=False)
    typed(monkeypatch, "y", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        road(asked)
    assert isinstance(caught.value, WaitInterrupted) == (road is waiting)
    before = list(asked.ran)
    # Where the body of the loop was interrupted, it was the body that left the loop.
    left_by = "break" if road is taking_the_results else "person"
    assert asked.run.stopped_by == left_by
    for _ in asked.run:
        pass
    assert asked.run.text == "Going on."
    results = asked.wire.bodies[-1]["messages"][-1]["content"]
    # A call runs once, whatever was interrupted after it.
    assert asked.ran == before
    assert [len(asked.ran), len(results)] in ([0, 2], [1, 2])
    assert "was not run" in results[1]["content"]
    assert_the_api_takes_all(asked.wire)


def test_nobody_is_asked_about_a_call_whose_decision_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Asked([ADD], "Done.")
    (call_id,) = asked.start()
    prompts = typed(monkeypatch, "y")
    with asked.run._ledger.lock:  # the loop cannot obey it meanwhile
        asked.run.approve(call_id)
        assert not asking.ask_about_next(asked.run)
    asked.ends()
    assert prompts == []


@pytest.mark.parametrize("error", [EOFError(), NotImplementedError()])
def test_a_front_end_without_input_rejects_and_says_so(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    asked = Asked([ADD], "Done.", stream=False)
    typed(monkeypatch, error)
    waiting(asked)
    (result,) = asked.ends()
    assert result["content"].endswith(NOBODY_THERE)
    assert asked.ran == []


def test_nobody_is_asked_by_input_in_another_thread() -> None:
    said: list[Any] = []
    thread = threading.Thread(target=lambda: said.append(asking.can_ask_here()))
    thread.start()
    thread.join(PATIENCE_S)
    assert said == [False]
