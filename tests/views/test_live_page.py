from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.core.caching import Mark
from nbrunner.core.commands import Pause, Resume, Retry, Stop, Submit
from nbrunner.core.edits import ToggleCache
from nbrunner.core.events import Failure
from nbrunner.core.note import Note
from nbrunner.views.page import panel_content
from tests.views.page_parser import Page, parsed
from tests.views.runs import finished, run_of, story, use

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

WEATHER = (use("get_weather", location="Paris"), "Done.")


def live(transcript: Transcript, name: str = "weather") -> Page:
    return parsed(panel_content(transcript, name=name))


def changed(transcript: Transcript, **changes: Any) -> Page:
    return live(transcript.model_copy(update=changes))


def with_call(transcript: Transcript, **changes: Any) -> Page:
    """The page of a run with its first call changed."""
    first, *rest = transcript.iterations
    call = first.tool_calls[0].model_copy(update=changes)
    first = first.model_copy(update={"tool_calls": (call,)})
    return changed(transcript, iterations=(first, *rest))


def controls(page: Page) -> list[dict[str, str | None]]:
    """The buttons, those left out that change the next request outside of calls."""
    found = [given for tag, given in page.elements if tag == "button"]
    keys = ("data-place", "data-part", "data-key")
    named = [" ".join(str(given.get(key)) for key in keys) for given in found]
    return [
        given
        for given, places in zip(found, named, strict=True)
        if not re.search(r"system|tools|request|messages\[|next\.", places)
    ]


def buttons(page: Page) -> list[str]:
    """What these ask for."""
    return [str(given["data-intent"]) for given in controls(page)]


@pytest.mark.parametrize(
    ("status", "asked", "expected"),
    [
        ("ready", (), []),
        ("running", (), ["pause", "stop"]),
        ("running", (Pause(),), ["resume", "stop"]),
        ("running", (Pause(), Stop()), ["stop_now"]),
        ("running", (Pause(), Resume()), ["pause", "stop"]),
        ("running", (Resume(), Pause()), ["resume", "stop"]),
        ("paused", (), ["resume", "step", "stop"]),
        ("failed", (), ["stop"]),
        ("finished", (), []),
    ],
)
def test_the_bar_offers_what_does_something(
    status: str, asked: Any, expected: list[str]
) -> None:
    transcript = run_of("Hi.").transcript
    page = changed(transcript, status=status, asked=asked)
    tools = ["remove_tool"] * 3
    assert buttons(page) == [*expected, *tools, "change_request", "send"]


def test_a_run_that_a_person_stopped_can_go_on() -> None:
    transcript = run_of("Hi.").transcript
    page = changed(transcript, status="finished", stopped_by="person")
    assert "resume" in buttons(page)
    assert "weather stopped by you" in page.text


@pytest.mark.parametrize(
    ("status", "asked", "words"),
    [
        ("running", (), "running, iteration 1"),
        ("running", (Pause(),), "pausing before the next request"),
        ("running", (Pause(), Resume()), "running, iteration 1"),
        ("running", (Stop(),), "stopping when this step is done"),
        ("paused", (), "paused before request 1"),
        ("failed", (), "request 0 failed, waiting for you"),
    ],
)
def test_the_state_is_told_in_words(status: str, asked: Any, words: str) -> None:
    page = changed(run_of("Hi.").transcript, status=status, asked=asked)
    assert words in page.text


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("proposed", "waits"),
        ("running", "running"),
        ("ok", "ok"),
        ("error", "error"),
        ("invalid", "invalid input"),
        ("unknown", "unknown tool"),
        ("interrupted", "interrupted"),
    ],
)
def test_the_state_of_a_call_is_told_in_words(status: str, words: str) -> None:
    page = with_call(finished(*WEATHER).transcript, status=status, result="why")
    assert f'{words} get_weather(location="Paris")' in page.text
    is_answered = status not in ("proposed", "running")
    assert ("toggle_cache" in buttons(page)) is is_answered


@pytest.mark.parametrize("call_input", ["half of it", None, ["Paris"], 3])
def test_an_input_that_is_no_object_is_shown(call_input: Any) -> None:
    page = with_call(finished(*WEATHER).transcript, input=call_input)
    assert "get_weather(input=" in page.text


def test_an_input_of_very_many_arguments_is_cut_in_the_signature() -> None:
    given = {f"argument{n}": n for n in range(1_000)}
    page = with_call(finished(*WEATHER).transcript, input=given)
    assert "argument11=11, … 988 more)" in page.text


def test_the_input_a_call_ran_with_is_shown_beside_what_claude_asked() -> None:
    ran = {"location": "Rome"}
    page = with_call(finished(*WEATHER).transcript, executed_input=ran)
    assert page.text.index("Paris") < page.text.index("input it ran with")
    assert page.text.count("input it ran with") == 1
    assert "input it ran with" not in live(finished(*WEATHER).transcript).text


def test_the_toggle_says_what_it_does_and_how_python_says_it() -> None:
    page = live(finished(*WEATHER).transcript)
    toggle = next(g for g in controls(page) if g["data-intent"] == "toggle_cache")
    assert toggle["aria-pressed"] == "false"
    assert toggle["aria-label"] == "cache mark on the result of get_weather"
    assert toggle["data-place"] == "toolu_01"
    assert "0 of 4 marks" in page.text
    assert 'weather.submit(ToggleCache("toolu_01"))' in page.text


def test_a_mark_is_shown_at_its_call_and_on_its_iteration() -> None:
    page = changed(finished(*WEATHER).transcript, marks=(Mark("toolu_01"),))
    pressed = [g["aria-pressed"] for g in controls(page) if "aria-pressed" in g]
    assert pressed == ["true", "false"]
    for words in ("cached to here", "cache 5 min", "1 of 4 marks"):
        assert words in page.text


def test_an_edit_that_waits_is_shown_at_its_call() -> None:
    waits = (Submit(edit=ToggleCache("toolu_01")),)
    page = changed(finished(*WEATHER).transcript, asked=waits)
    assert "waits for the next safe point" in page.text


@pytest.mark.parametrize("status", ["ok", "running"])
def test_a_refused_edit_says_why_at_its_call(status: str) -> None:
    transcript = finished(*WEATHER).transcript
    refused = (ToggleCache("toolu_01"), "All four are set.")
    page = with_call(transcript.model_copy(update={"refused": refused}), status=status)
    assert page.text.count("All four are set.") == 1


@pytest.mark.parametrize("asked", [ToggleCache("toolu_99"), Retry()])
def test_any_other_refusal_is_shown_in_the_bar(asked: Any) -> None:
    page = changed(finished(*WEATHER).transcript, refused=(asked, "It cannot be."))
    assert page.text.count("It cannot be.") == 1
    assert page.text.index("It cannot be.") < page.text.index("How warm is Paris?")


def test_with_all_marks_set_the_toggle_says_so_beforehand() -> None:
    calls = [use("get_weather", location=f"city {n}") for n in range(5)]
    marks = tuple(Mark(f"toolu_0{number}") for number in range(1, 5))
    page = changed(finished(calls, "Done.").transcript, marks=marks)
    titles = [g.get("title") for g in controls(page) if "aria-pressed" in g]
    full = "All four marks are set: take one off first."
    assert titles[8:] == [full, full]
    assert full not in titles[:8]


def test_a_failed_request_can_be_retried_where_it_failed() -> None:
    page = live(story("an error").transcript)
    assert "retry" in buttons(page)
    assert "weather.retry()" in page.text


def test_a_failure_that_was_overcome_cannot_be_retried() -> None:
    page = live(story("a broken stream").transcript)
    names = [g.get("aria-label") for _, g in page.elements if "data-attempt" in g]
    assert names == ["Ask again, and drop reply 2"]
    failures = [g for _, g in page.elements if g.get("class") == "nbr-failure"]
    assert ["role" in given for given in failures] == [False]


def test_a_message_that_waits_can_be_withdrawn() -> None:
    page = changed(run_of("Hi.").transcript, waiting=(Note(id="note_1", text="Stop"),))
    assert "goes out with the next request Stop Withdraw" in page.text
    withdraw = next(g for _, g in page.elements if g.get("data-intent") == "withdraw")
    assert withdraw["data-note"] == "note_1"
    assert withdraw["title"] == "in Python: weather.withdraw('note_1')"


def test_while_a_reply_streams_its_first_words_are_its_line() -> None:
    transcript = story("a broken stream").transcript
    *before, last = transcript.iterations
    streaming = last.model_copy(update={"reply": None, "failures": ()})
    empty = streaming.model_copy(update={"blocks": ()})
    running = {"status": "running", "stopped_by": None}
    page = changed(transcript, iterations=(*before, streaming), **running)
    assert "2 It is 20 degrees." in page.text
    page = changed(transcript, iterations=(*before, empty), **running)
    assert "2 waiting for the first words" in page.text


def test_the_front_end_counts_seconds_only_while_a_reply_or_a_call_is_awaited() -> None:
    def clocks(page: Page) -> int:
        return sum("data-clock" in given for _, given in page.elements)

    transcript = story("a broken stream").transcript
    *before, last = transcript.iterations
    streaming = last.model_copy(update={"reply": None, "failures": ()})
    awaited = {"iterations": (*before, streaming), "stopped_by": None}
    assert clocks(changed(transcript, status="running", **awaited)) == 1
    assert clocks(changed(transcript, status="paused", **awaited)) == 0
    assert clocks(with_call(transcript, status="running")) == 1
    assert clocks(live(transcript)) == 0


def test_a_row_says_in_a_few_words_what_failed_and_what_was_interrupted() -> None:
    assert "1 the API said no (401)" in live(story("an error").transcript).text
    run = finished(*WEATHER)
    page = with_call(run.transcript, status="interrupted", is_error=True)
    assert "get_weather interrupted" in page.text
    assert "1 error" not in page.text


def test_what_scrolls_is_reached_by_the_keyboard() -> None:
    run = finished(*WEATHER).transcript
    for stdout, more in (("short", 0), ("line\n" * 40, 1), ("long " * 400, 1)):
        page = with_call(run, stdout=stdout)
        places = sum("tabindex" in given for _, given in page.elements)
        assert places == 1 + more  # the settings are long


def failed_once(**changes: Any) -> Any:
    failure = Failure(kind="api", message="It said no.", advice="Mend it.")
    transcript = finished("Hi.").transcript
    failed = {"failures": (failure,), **changes}
    last = transcript.iterations[-1].model_copy(update=failed)
    return changed(transcript, iterations=(last,))


def test_a_failed_request_shows_all_of_its_advice() -> None:
    page = failed_once(reply=None, has_failed=True)
    assert "It said no.Mend it." in page.text


def test_what_a_retry_has_mended_asks_nothing_of_a_person() -> None:
    page = failed_once()
    assert "It said no.It was asked again." in page.text


def test_every_control_has_a_name_and_every_region_a_role() -> None:
    page = live(finished(*WEATHER).transcript)
    roles = [given["role"] for _, given in page.elements if "role" in given]
    tools = [*["checkbox"] * 3, "alert"]
    assert roles == ["group", "status", "alert", "alert", *tools, "alert"]
    labels = [
        given["aria-label"] for _, given in page.elements if "aria-label" in given
    ]
    assert labels == [
        "tool run weather",
        "controls of the run",
        "cache marks of the text, block 1 of message 1",
        "cache marks of the tool_use, block 1 of reply 1",
        "cache mark on the result of get_weather",
        "1-hour cache mark on the result of get_weather",
        "Fork here, from iteration 1 on",
        "cache marks of the text, block 1 of reply 2",
        "Fork here, from iteration 2 on",
        "Ask again, and drop reply 2",
        "cache mark on the tools",
        "1-hour cache mark on the tools",
        "cache mark on the whole request",
        "1-hour cache mark on the whole request",
        "Summarize the conversation before the next reply",
        "Claude has get_weather",
        "Claude has get_temperature",
        "Claude has look",
        "model of the next request",
        "max_tokens of the next request",
        "system of the next request",
        "thinking of the next request",
        "budget of the next request",
        "effort of the next request",
        "tool_choice of the next request",
        "parameters of the next request",
        "message to Claude",
    ]


def test_every_key_of_a_page_is_its_own() -> None:
    page = live(story("calls that go well and badly", system="Be brief.").transcript)
    keys = [given["data-key"] for _, given in page.elements if "data-key" in given]
    assert len(keys) == len(set(keys))


def test_whatever_can_be_opened_has_a_key_to_be_remembered_by() -> None:
    transcript = story("blocks nobody knows", system="Be brief.").transcript
    page = live(transcript)
    opened = [given for tag, given in page.elements if tag == "details"]
    assert all("data-key" in given for given in opened)
