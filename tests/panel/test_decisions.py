"""A click that decides about a call: validated, and bound to what was seen."""

from __future__ import annotations

from typing import Any

import pytest

from nbrunner import ask
from nbrunner.core.events import CallAsked, CommandRefused, RunFinished
from nbrunner.panel.intents import obey, read_intent
from nbrunner.panel.limits import LONGEST_MESSAGE
from nbrunner.panel.steered import IntentRefused
from tests.panel.stage import Stage
from tests.panel.test_intents import Recorder, refusal
from tests.views.runs import run_of, use
from tests.views.test_decisions import asking

ASKING = asking()
(CALL,) = ASKING.iterations[0].tool_calls
PLACE = {"digest": CALL.digest, "by": "person"}


def click(intent: str, **more: Any) -> dict[str, Any]:
    return {"intent": intent, "call": CALL.id, "digest": CALL.digest, **more}


def asked(message: Any) -> Any:
    run = Recorder(ASKING)
    obey(read_intent(message), run)
    return run.asked


@pytest.mark.parametrize(
    ("message", "name", "arguments", "more"),
    [
        (click("approve"), "approve", (), {}),
        (click("approve_rest"), "approve", (), {"for_rest": True}),
        (click("reject", fields={"reason": "No."}), "reject", ("No.",), {}),
        (click("reject"), "reject", ("",), {}),
        (click("answer", fields={"result": "42"}), "answer", ("42",), {}),
        (
            click("approve_edited", fields={"0": "Oslo"}),
            "approve",
            (),
            {"input": {"location": "Oslo"}},
        ),
        (
            click("approve_edited", fields={"whole": '{"location": "Rome"}'}),
            "approve",
            (),
            {"input": {"location": "Rome"}},
        ),
    ],
)
def test_a_decision_names_the_input_that_the_person_saw(
    message: Any, name: str, arguments: Any, more: Any
) -> None:
    assert asked(message) == [(name, (CALL.id, *arguments), {**more, **PLACE})]


@pytest.mark.parametrize(
    "message",
    [
        {"intent": "approve"},
        {"intent": "approve", "call": CALL.id},
        {"intent": "approve", "call": CALL.id, "digest": None},
        click("approve", by="code"),
        click("approve", input={"location": "Oslo"}),
        click("approve", for_rest=True),
        click("reject", fields=["No."]),
        click("reject", fields={"reason": 1}),
        click("reject", fields={"reason": None}),
        click("reject", fields={"reason": "x" * (LONGEST_MESSAGE + 1)}),
        click("reject", fields={"x" * 41: ""}),
        click("reject", fields={str(n): "" for n in range(51)}),
        click("decide"),
    ],
    ids=lambda message: repr(message)[:60],
)
def test_what_the_panel_never_sends_decides_nothing(message: Any) -> None:
    said = refusal(message, ASKING)
    assert said.startswith("The panel sent something it should not: ")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (click("approve") | {"call": "toolu_none"}, "has no call toolu_none"),
        (click("approve") | {"digest": "0000"}, "is not the one that this decision"),
        (click("reject") | {"digest": ""}, "is not the one that this decision"),
        (
            click("approve_edited", fields={"whole": "{"}),
            "That is no JSON: ",
        ),
        (
            click("approve_edited", fields={"whole": "{}"}),
            "does not fit get_weather: `location` is required and is missing.",
        ),
    ],
)
def test_a_decision_that_cannot_be_made_is_refused_in_place(
    message: Any, why: str
) -> None:
    run = Recorder(ASKING)
    with pytest.raises(IntentRefused) as caught:
        obey(read_intent(message), run)
    assert why in str(caught.value)
    assert run.asked == []


def test_a_click_about_a_call_that_has_run_is_refused() -> None:
    run = asking()
    first = run.iterations[0]
    done = first.tool_calls[0].model_copy(update={"status": "ok"})
    moved = run.model_copy(
        update={"iterations": (first.model_copy(update={"tool_calls": (done,)}),)}
    )
    assert "has no call" in refusal(click("approve"), moved)


def decide(told: Any, run: Any) -> None:
    """Decide in turn: an input that does not fit, then another."""
    event, _ = told
    if isinstance(event, CallAsked):
        run.approve(event.call_id, input={"location": 1})
    elif isinstance(event, CommandRefused):
        run.approve(event.command.call_id, input={"location": "Oslo"})


def test_each_step_of_a_decision_reaches_the_views() -> None:
    run = run_of([use("get_weather", location="Paris")], "Done.", approver=ask)
    before, told = run.transcript, []

    def listen(*heard: Any) -> None:
        told.append(heard)
        decide(heard, run)

    run.subscribe(listen)
    run.start().wait(20)
    stage = Stage(before)
    seen = []
    for happened in told:
        stage.play(happened)
        stage.flushed()
        assert stage.view.root == stage.truth, happened[0].kind
        seen.append(stage.truth.text)
    assert any("waiting for your decision on 1 call" in text for text in seen)
    assert any("`location` has to be of type string" in text for text in seen)
    assert isinstance(told[-1][0], RunFinished)
    assert "Approved by a line of Python, with another input" in seen[-1]
