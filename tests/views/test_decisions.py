"""How a call that someone decides about is shown: live, on the page, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner import Run, ask, by_tool, reject_all, replay
from nbrunner.core.approval import NOBODY_THERE, digest
from nbrunner.core.commands import Approve
from nbrunner.core.events import CallAsked, CallDecided, CommandRefused
from nbrunner.core.fold import fold
from nbrunner.replay import say, script, use
from nbrunner.views.page import panel_content, static_page
from nbrunner.views.text import as_text
from nbrunner.views.verdict import verdict_words
from tests.views.page_parser import Page, parsed
from tests.views.runs import TOOLS, finished

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

PARIS, OSLO = {"location": "Paris"}, {"city": "Oslo"}
CALLS = ([use("get_weather", PARIS), use("get_temperature", OSLO)], "Done.")


def asking(*inputs: dict[str, Any]) -> Transcript:
    """A run that waits for decisions on its calls."""
    calls = [use("get_weather", given) for given in inputs or (PARIS,)]
    done = finished(calls, "Done.").transcript
    first = done.iterations[0]
    proposed = tuple(
        type(call)(id=call.id, name=call.name, input=call.input)
        for call in first.tool_calls
    )
    first = first.model_copy(update={"tool_calls": proposed})
    transcript = done.model_copy(
        update={
            "iterations": (first,),
            "status": "running",
            "stopped_by": None,
            "messages": done.messages[:2],
        }
    )
    for call in proposed:
        event = CallAsked(iteration=0, call_id=call.id, digest=digest(call.input))
        transcript = fold(transcript, event)
    return transcript


def live(transcript: Transcript) -> Page:
    return parsed(panel_content(transcript, name="weather"))


def decided(verdict: Any, by: Any, **more: Any) -> Transcript:
    transcript = asking()
    call_id = transcript.iterations[0].tool_calls[0].id
    event = CallDecided(iteration=0, call_id=call_id, verdict=verdict, by=by, **more)
    return fold(transcript, event)


def test_a_call_that_waits_offers_every_way_to_decide_with_its_line_of_python() -> None:
    transcript = asking()
    (call,) = transcript.iterations[0].tool_calls
    page = live(transcript)
    offered = [g for tag, g in page.elements if tag == "button" and "data-digest" in g]
    assert [given["data-intent"] for given in offered] == [
        *("approve", "approve_rest", "reject", "approve_edited", "answer"),
    ]
    assert {g["data-call"] for g in offered} == {call.id}
    assert {g["data-digest"] for g in offered} == {digest(call.input)}
    assert all(given["aria-label"] for given in offered)
    for line in ("approve", "reject", "answer"):
        assert f'weather.{line}("{call.id}"' in page.text
    assert f'weather.approve("{call.id}", input={{…}})' in page.text
    titles = [given.get("title") for given in offered]
    assert f'in Python: weather.approve("{call.id}", for_rest=True)' in titles


def test_a_screen_reader_is_told_on_how_many_calls_a_decision_is_waited_for() -> None:
    transcript = asking(PARIS, {"location": "Oslo"})
    page = live(transcript)
    assert "waiting for your decision on 2 calls" in page.text
    roles = [(tag, given.get("role")) for tag, given in page.elements]
    assert ("span", "status") in roles
    groups = [given for _, given in page.elements if given.get("role") == "group"]
    assert "your decision on get_weather" in [g["aria-label"] for g in groups]
    assert "waiting for your decision on 1 call" in live(asking()).text


def test_a_flat_input_has_a_field_for_each_parameter() -> None:
    page = live(asking())
    fields = [g for tag, g in page.elements if tag == "textarea" and "data-field" in g]
    labels = [str(given["aria-label"]) for given in fields]
    assert [label for label in labels if "get_weather" in label] == [
        "why get_weather is rejected",
        "location of get_weather",
        "the result of get_weather, by hand",
    ]


def test_a_line_break_that_html_would_swallow_stays_in_its_field() -> None:
    page = panel_content(asking({"location": "\n\nParis"}), name="weather")
    assert ">\n\n\nParis</textarea>" in page


def test_the_static_page_of_a_run_that_waits_offers_nothing() -> None:
    page = parsed(static_page(asking(), name="weather"))
    assert "waits for you" in page.text
    assert not [tag for tag, _ in page.elements if tag in ("button", "textarea")]
    assert "<- waits for your decision" in as_text(asking(), name="weather")


@pytest.mark.parametrize(
    ("verdict", "by", "more", "words"),
    [
        ("approved", "person", {}, "Approved by you."),
        ("approved", "code", {}, "Approved by a line of Python."),
        ("approved", "approver", {}, "Approved by the run's approver."),
        (
            "modified",
            "person",
            {},
            "Approved by you, with another input than Claude proposed.",
        ),
        ("rejected", "person", {"reason": "Not today."}, "Rejected by you: Not today."),
        (
            "rejected",
            "approver",
            {"reason": ""},
            "Rejected by the run's approver, without a reason.",
        ),
        ("answered", "person", {}, "Answered by you: the tool did not run."),
        (
            "rejected",
            "approver",
            {"reason": NOBODY_THERE},
            "Rejected: nobody was there to ask. ",
        ),
    ],
)
def test_a_verdict_says_who_decided_in_each_rendering(
    verdict: str, by: str, more: dict[str, Any], words: str
) -> None:
    transcript = decided(verdict, by, **more)
    for shown in (
        live(transcript).text,
        parsed(static_page(transcript, name="weather")).text,
        as_text(transcript, name="weather"),
    ):
        assert words in shown


def test_a_tool_that_was_approved_for_the_rest_says_so() -> None:
    (call,) = decided("approved", "trust").iterations[0].tool_calls
    said = "get_weather was approved for the rest of the run."
    assert verdict_words(call) == said


def test_the_input_that_ran_stands_beside_the_one_that_was_proposed() -> None:
    run = Run(
        client=replay.play(script(use("get_weather", PARIS), say("Done."))),
        tools=TOOLS,
        messages="?",
        approver=lambda call: call.approve(input={"location": "Lyon"}),
    )
    run.wait()
    page = parsed(run.to_html())
    proposed = page.text.index("input Claude proposed")
    assert proposed < page.text.index('"Paris"', proposed)
    ran = page.text.index("input it ran with")
    assert ran < page.text.index('"Lyon"', ran)
    assert 'ran with: {\n      "location": "Lyon"' in run.to_text()


def test_a_rejected_call_is_no_failure_of_its_tool() -> None:
    run = Run(
        client=replay.play(script(use("get_weather", PARIS), say("Done."))),
        tools=TOOLS,
        messages="?",
        approver=reject_all,
    )
    run.wait()
    page = parsed(run.to_html())
    assert "get_weather rejected" in page.text
    assert "failed" not in page.text
    assert "1 error" not in page.text
    assert "what Claude was told" in page.text


def test_why_a_decision_did_not_count_stands_at_its_call() -> None:
    transcript = asking()
    (call,) = transcript.iterations[0].tool_calls
    command = Approve(call_id=call.id, input={}, is_modified=True)
    refused = fold(transcript, CommandRefused(command=command, reason="It is empty."))
    page = panel_content(refused, name="weather")
    assert parsed(page).text.count("It is empty.") == 1
    assert page.index("nbr-decide") < page.index("It is empty.")
    elsewhere = command.model_copy(update={"call_id": "toolu_none"})
    refused = fold(transcript, CommandRefused(command=elsewhere, reason="No call."))
    page = panel_content(refused, name="weather")
    assert page.index("No call.") < page.index("nbr-opening")


def test_the_header_names_the_tools_that_run_without_asking() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}

    def page_of(**options: Any) -> str:
        client = replay.play(script(say("Hi.")))
        run = Run(client=client, tools=[search], messages="?", **options)
        return parsed(run.to_html()).text + run.to_text()

    said = page_of(approver=by_tool({"*": ask}), allow_ungated=True)
    assert said.count("without asking: web_search (server tool)") == 2
    assert "without asking" not in page_of()
