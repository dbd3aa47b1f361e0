from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.core.commands import Submit
from nbrunner.core.compaction import SUMMARY_BETA
from nbrunner.core.edits import (
    ChangeTools,
    Compact,
    EditResult,
    SetParams,
    SetSystem,
    ToggleCache,
)
from nbrunner.core.tool_changes import NEEDED_BETA, removal_of
from nbrunner.panel.intents import obey, read_intent
from nbrunner.panel.limits import LONGEST_MESSAGE
from nbrunner.panel.steered import IntentRefused
from tests.views.runs import finished, use

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

DONE = finished([use("get_weather", location="Paris")], "Done.").transcript


(CALL,) = (call.id for call in DONE.iterations[0].tool_calls)


class Recorder:
    """A run that only writes down what it was asked."""

    name = "run"

    def __init__(self, transcript: Transcript, **changes: Any) -> None:
        self.transcript = transcript.model_copy(update=changes)
        self.asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.notes = ["note_1"]

    def __getattr__(self, name: str) -> Any:
        def ask(*args: Any, **kwargs: Any) -> Any:
            self.asked.append((name, args, kwargs))
            return args[0] in self.notes if name == "withdraw" else None

        return ask


def asked(message: Any, transcript: Transcript = DONE, **changes: Any) -> Any:
    run = Recorder(transcript, **changes)
    obey(read_intent(message), run)
    return run.asked


def refusal(message: Any, transcript: Transcript = DONE, **changes: Any) -> str:
    run = Recorder(transcript, **changes)
    with pytest.raises(IntentRefused) as caught:
        obey(read_intent(message), run)
    is_only_a_question = all(name == "withdraw" for name, _, _ in run.asked)
    assert is_only_a_question
    return str(caught.value)


BY = {"by": "person"}


@pytest.mark.parametrize("name", ["pause", "resume", "step", "stop"])
def test_a_button_asks_the_run_once_in_the_name_of_a_person(name: str) -> None:
    assert asked({"intent": name}, status="running") == [(name, (), BY)]


def test_a_retry_names_the_attempt_that_the_person_saw() -> None:
    message = {"intent": "retry", "attempt": "1.2"}
    expected = [("retry", (), {"attempt": "1.2", **BY})]
    assert asked(message, status="failed") == expected


def edit_result(text: str, call: str = CALL) -> dict[str, Any]:
    return {"intent": "edit_result", "call": call, "fields": {"result": text}}


def test_an_edited_result_is_submitted_as_it_was_typed() -> None:
    first = DONE.iterations[:1]
    waiting = {"iterations": first, "messages": DONE.messages[:3], "sent": 1}
    expected = [("submit", (EditResult(CALL, "30 °C\n"),), BY)]
    assert asked(edit_result("30 °C\n"), **waiting) == expected


def test_a_result_that_cannot_be_edited_any_more_is_refused() -> None:
    assert "went out already" in refusal(edit_result("30"))
    assert "no longer part" in refusal(edit_result("30", "toolu_other"))


def change_request(**fields: str) -> dict[str, Any]:
    return {"intent": "change_request", "fields": fields}


def test_what_was_changed_of_the_next_request_is_submitted_and_no_more() -> None:
    message = change_request(
        model=DONE.settings.model, max_tokens=" 99 ", system="Be brief."
    )
    edits = (SetParams(max_tokens=99), SetSystem("Be brief."))
    assert asked(message) == [("submit", (edit,), BY) for edit in edits]


def test_what_is_chosen_for_the_next_request_is_submitted() -> None:
    message = change_request(tool_choice="tool look", effort="high")
    choice = {"type": "tool", "name": "look"}
    edit = SetParams(tool_choice=choice, output_config={"effort": "high"})
    assert asked(message) == [("submit", (edit,), BY)]


def test_settings_that_cannot_be_are_refused() -> None:
    assert "whole number" in refusal(change_request(max_tokens="many"))
    assert "Nothing is changed" in refusal(change_request())


def change_tool(verb: str, name: str) -> dict[str, Any]:
    return {"intent": f"{verb}_tool", "tool": name}


def with_betas(*betas: str) -> dict[str, Any]:
    settings = DONE.settings.model_copy(update={"params": {"betas": list(betas)}})
    return {"settings": settings}


def test_a_tool_is_taken_by_its_name_and_the_beta_comes_with_it_once() -> None:
    edit = ChangeTools(removed=("look",))
    message = change_tool("remove", "look")
    beta = SetParams(betas=[NEEDED_BETA])
    assert asked(message) == [("submit", (beta,), BY), ("submit", (edit,), BY)]
    assert asked(message, **with_betas(NEEDED_BETA)) == [("submit", (edit,), BY)]


def test_a_tool_that_was_taken_is_given_back_by_its_name() -> None:
    taken = {"tool_changes": (removal_of("look"),), **with_betas(NEEDED_BETA)}
    edit = ChangeTools(added=("look",))
    assert asked(change_tool("add", "look"), **taken) == [("submit", (edit,), BY)]


def test_a_summary_is_asked_for_with_its_beta_and_taken_back() -> None:
    beta = SetParams(betas=[SUMMARY_BETA])
    ask = {"intent": "summarize"}
    asks = ("submit", (Compact(),), BY)
    assert asked(ask) == [("submit", (beta,), BY), asks]
    assert asked(ask, **with_betas(SUMMARY_BETA)) == [asks]
    waits = {"asked": (Submit(edit=Compact()),)}
    back = ("submit", (Compact(compaction=None),), BY)
    for stands in (waits, {"compaction": {"type": "summarize"}}):
        assert asked({"intent": "keep"}, **stands) == [back]
        assert refusal(ask, **stands) == "The summary is asked for already."
    assert refusal({"intent": "keep"}) == "The summary is taken back already."


def test_a_summary_that_the_api_makes_already_is_refused() -> None:
    params = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
    settings = DONE.settings.model_copy(update={"params": params})
    assert "the API takes no two" in refusal({"intent": "summarize"}, settings=settings)


def test_a_tool_that_the_run_has_not_or_that_is_so_already_is_refused() -> None:
    assert "no such tool" in refusal(change_tool("add", "rm"))
    assert "no such tool" in refusal(change_tool("remove", "get_wether"))
    assert refusal(change_tool("add", "look")) == "look is offered already."
    taken = {"tool_changes": (removal_of("look"),)}
    said = refusal(change_tool("remove", "look"), **taken)
    assert said == "look is taken from Claude already."


def test_a_toolset_is_not_changed_by_a_forged_click() -> None:
    tools = ({"type": "browser_toolset_20260801"},)
    settings = DONE.settings.model_copy(update={"tools": tools})
    message = change_tool("remove", "browser_toolset_20260801")
    assert "no such tool" in refusal(message, settings=settings)


def test_stop_now_is_a_stop_that_does_not_wait() -> None:
    expected = [("stop", (), {"now": True, **BY})]
    assert asked({"intent": "stop_now"}, status="running") == expected


def test_a_message_is_sent_as_it_was_typed() -> None:
    text = "  two lines\n<b>with markup</b>  "
    sent = asked({"intent": "send", "text": text}, status="running")
    assert sent == [("inject", (text,), BY)]


def test_a_message_for_a_run_that_has_ended_is_refused_with_what_to_do() -> None:
    said = refusal({"intent": "send", "text": "Hi"}, status="finished")
    assert "run.inject(...) and then run.start()" in said


@pytest.mark.parametrize(
    ("stopped_by", "goes_on"), [("person", True), ("end_turn", False)]
)
def test_only_a_run_that_a_person_stopped_goes_on_by_a_click(
    stopped_by: str, *, goes_on: bool
) -> None:
    change = {"status": "finished", "stopped_by": stopped_by}
    if goes_on:
        assert asked({"intent": "resume"}, **change) == [("resume", (), BY)]
    else:
        assert "cannot resume" in refusal({"intent": "resume"}, **change)


def test_a_message_that_waits_is_withdrawn() -> None:
    message = {"intent": "withdraw", "note": "note_1"}
    assert asked(message) == [("withdraw", ("note_1",), BY)]


def test_an_edit_that_waits_is_withdrawn_and_one_that_is_made_is_not() -> None:
    message = {"intent": "withdraw_edit", "edit": "note_1"}
    assert asked(message) == [("withdraw", ("note_1",), BY)]
    said = refusal({**message, "edit": "edit_9"})
    assert said == "That change is made already, or was refused."


def test_a_toggle_becomes_an_edit() -> None:
    edited = asked({"intent": "toggle_cache", "place": "toolu_01"})
    assert edited == [("submit", (ToggleCache("toolu_01"),), BY)]


@pytest.mark.parametrize(
    "place", ["system", "tools", "request", "messages[0].content[0]"]
)
def test_a_toggle_of_any_place_becomes_an_edit(place: str) -> None:
    edited = asked({"intent": "toggle_cache", "place": place, "ttl": "1h"})
    assert edited == [("submit", (ToggleCache(place, "1h"),), BY)]


@pytest.mark.parametrize(
    "message",
    [
        None,
        "pause",
        7,
        [],
        ["pause"],
        b"pause",
        {},
        {"op": "hello", "intent": "pause"},
        {"op": "goodbye"},
        {"intent": None},
        {"intent": 1},
        {"intent": "PAUSE"},
        {"intent": "start"},
        {"intent": "__class__"},
        {"intent": "submit", "edit": {"kind": "toggle_cache", "place": "x"}},
        {"intent": "pause", "by": "code"},
        {"intent": "pause", "text": "x"},
        {"intent": "send"},
        {"intent": "send", "text": None},
        {"intent": "send", "text": 3},
        {"intent": "send", "text": b"x"},
        {"intent": "send", "text": ["x"]},
        {"intent": "send", "text": ""},
        {"intent": "send", "text": " \n\t\u00a0"},
        {"intent": "send", "text": "\ud800"},
        {"intent": "send", "text": "x" * (LONGEST_MESSAGE + 1)},
        {"intent": "withdraw"},
        {"intent": "withdraw", "note": {"id": "note_1"}},
        {"intent": "remove_tool"},
        {"intent": "add_tool", "tool": {"name": "x", "input_schema": {}}},
        {"intent": "add_tool", "tool": "x" * 501},
        {"intent": "toggle_cache"},
        {"intent": "toggle_cache", "place": 1},
        {"intent": "toggle_cache", "place": "x" * 501},
        {"intent": "toggle_cache", "place": "toolu_01", "call_id": "toolu_02"},
    ],
    ids=lambda message: repr(message)[:60],
)
def test_what_the_panel_never_sends_is_refused(message: Any) -> None:
    said = refusal(message, status="running")
    assert said.startswith("The panel sent something it should not: ")
    assert said.endswith(". Nothing was done.")


def test_the_longest_message_is_taken() -> None:
    message = {"intent": "send", "text": "x" * LONGEST_MESSAGE}
    ((_, (text,), _),) = asked(message, status="running")
    assert len(text) == LONGEST_MESSAGE


def test_a_refusal_names_the_field() -> None:
    said = refusal({"intent": "send", "text": 3})
    assert said == (
        "The panel sent something it should not: send text Input should be a valid "
        "string. Nothing was done."
    )


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("pause", "ready", "The run is not started: it cannot pause."),
        ("pause", "paused", "The run is paused: it cannot pause."),
        ("step", "finished", "The run is finished: it cannot step."),
        ("stop", "ready", "The run is not started: it cannot stop."),
        ("stop_now", "finished", "The run is finished: it cannot stop."),
        (
            "pause",
            "failed",
            "The run is waiting for you after a failure: it cannot pause.",
        ),
    ],
)
def test_a_stale_button_says_where_the_run_is(
    name: str, status: str, said: str
) -> None:
    assert refusal({"intent": name}, status=status) == said


def test_a_message_that_went_out_cannot_be_withdrawn() -> None:
    said = refusal({"intent": "withdraw", "note": "note_99"})
    assert said == "That message has gone out already."


def test_an_unknown_call_cannot_be_marked() -> None:
    said = refusal({"intent": "toggle_cache", "place": "toolu_99"})
    assert said == "That call is no longer part of the conversation."


@pytest.mark.parametrize("part", [None, 1, ["it0"], "x" * 501])
def test_what_names_no_part_is_refused(part: Any) -> None:
    said = refusal({"intent": "more", "part": part})
    assert said.startswith("The panel sent something it should not: more part ")


def test_a_toggle_says_how_long_its_mark_lasts() -> None:
    click = {"intent": "toggle_cache", "place": "toolu_01", "ttl": "1h"}
    assert asked(click) == [("submit", (ToggleCache("toolu_01", "1h"),), BY)]
    with pytest.raises(IntentRefused):
        read_intent({**click, "ttl": "2h"})
