from __future__ import annotations

import re
from pathlib import Path

import pytest

from nbrunner.replay import reply, say, use
from nbrunner.views.page import static_page
from tests.views.page_parser import Page, parsed, strangers
from tests.views.runs import STORIES, finished, run_of, story

VOLATILE = re.compile(
    r"(?:srvtoolu|toolu|msg|req|tmrw)_\d|\bIn\[\d|\d ms\b|\d\.\d s\b|0x[0-9a-f]{6}"
)


def page_of(name: str) -> Page:
    return parsed(story(name).to_html())


def in_order(text: str, *parts: str) -> bool:
    """Whether the parts stand in the text in this order."""
    return bool(re.search(".*?".join(map(re.escape, parts)), text, re.DOTALL))


@pytest.mark.parametrize("name", STORIES)
def test_two_runs_of_the_same_replies_give_the_same_output(name: str) -> None:
    first, second = story(name), story(name)
    assert first.to_html() == second.to_html()
    assert first.to_text() == second.to_text()


@pytest.mark.parametrize("name", STORIES)
def test_a_replayed_page_holds_no_time_no_id_and_no_path(name: str) -> None:
    run = story(name)
    for output in (parsed(run.to_html()).text, run.to_text()):
        assert VOLATILE.findall(output) == []
        assert str(Path.cwd()) not in output
        assert str(Path.home()) not in output


@pytest.mark.parametrize("name", STORIES)
def test_a_static_page_needs_no_kernel_and_no_script(name: str) -> None:
    html = story(name).to_html()
    page = parsed(html)
    attributes = {a for _, given in page.elements for a in given}
    assert strangers(page) == []
    assert {tag for tag, _ in page.elements}.isdisjoint({"button", "textarea"})
    assert not any(attribute.startswith("data-") for attribute in attributes)
    assert "url(" not in html
    assert "@import" not in html


def test_a_page_reads_in_order_without_its_stylesheet() -> None:
    run = story("calls that go well and badly", system="Be brief.", name="weather")
    assert in_order(
        parsed(run.to_html()).text,
        "weather done scripted replies  claude-opus-5",
        "System prompt",
        "Be brief.",
        "you How warm is Paris?",
        "1 get_weather, get_temperature failed — Let me *look*. 1 error tool_use",
        "request 1 · 1 message · 3 tools",
        "Thinking",
        "Which city?",
        "Let me look.",
        'ok get_weather(location="Paris")',
        "20 degrees in Paris",
        "printed",
        "asking about Paris",
        'error get_temperature(city="Oslo")',
        "what happened (for you)",
        "Traceback",
        "KeyError: 'Oslo'",
        "what Claude was told",
        "KeyError('Oslo')",
        "2 get_wether failed, get_weather failed 2 errors tool_use",
        "unknown tool get_wether",
        "Did you mean",
        'invalid input get_weather(place="Paris")',
        "3 It is 20 degrees. end_turn",
    )


def test_the_newest_iteration_and_those_with_errors_are_open() -> None:
    page = page_of("calls that go well and badly")
    cells = [given for _, given in page.elements if given.get("class") == "nbr-it"]
    assert ["open" in given for given in cells] == [True, True, True]
    good = parsed(finished(use("get_weather", location="Rome"), "Warm.").to_html())
    cells = [given for _, given in good.elements if given.get("class") == "nbr-it"]
    assert ["open" in given for given in cells] == [False, True]


def test_a_call_that_was_cut_off_is_said_not_to_have_run() -> None:
    run = story("a call cut off")
    text = parsed(run.to_html()).text
    assert "run cut off by max_tokens" in text
    assert "get_weather not run — I look." in text
    assert 'not run get_weather(location="Paris")' in text
    assert "Cut off and not run: the reply reached max_tokens" in text
    assert "<- Cut off and not run: the reply reached max_tokens" in run.to_text()


def test_a_call_in_a_reply_that_ended_otherwise_is_said_not_to_have_run() -> None:
    run = finished(reply(use("get_weather", location="Rome"), stop_reason="refusal"))
    assert "Not run: the reply ended with refusal." in parsed(run.to_html()).text


def test_a_broken_reply_is_shown_and_said_not_to_be_kept() -> None:
    text = page_of("a broken stream").text
    assert "The API answered overloaded_error (inside the stream)" in text
    assert in_order(text, "what had come of the reply (not kept)", "It is", "20 deg")


def test_a_broken_call_shows_which_tool_it_asked_for() -> None:
    text = page_of("a broken call").text
    assert in_order(text, "what had come of the reply (not kept)", "get_weather")


def test_a_failed_request_says_what_to_do() -> None:
    page = page_of("an error")
    assert "run ended with an error" in page.text
    assert in_order(page.text, "1", "request failed", "authentication_error (401)")
    assert "set ANTHROPIC_API_KEY" in page.text
    assert [given for _, given in page.elements if given.get("role") == "alert"]


def test_an_unknown_block_is_shown_as_it_is_save_its_ids() -> None:
    text = page_of("blocks nobody knows").text
    assert "Thinking, encrypted by the API" in text
    assert in_order(text, "web_search runs at the API", '"id": "kept"')
    assert in_order(text, "tomorrow", '"what": "knows"')


def test_odd_results_have_words() -> None:
    text = page_of("odd results").text
    assert "look returned None: it gave no result." in text
    assert "(an empty text)" in text
    assert "image/png, 8 B" in text
    assert "an empty text block (not sent back)" in text


def test_a_run_that_was_not_started_shows_what_it_would_begin_with() -> None:
    run = run_of("Hello.", system="Be brief.")
    assert "run not started scripted replies" in parsed(run.to_html()).text
    assert "you How warm is Paris?" in parsed(run.to_html()).text
    assert run.to_text() == (
        "tool run run: not started · scripted replies · claude-opus-5\n"
        "user: How warm is Paris?"
    )


def test_a_run_without_tools_says_so() -> None:
    assert "0 tools" in parsed(finished("Hi.", tools=()).to_html()).text


def test_a_message_sent_along_is_not_shown_as_the_first_one_too() -> None:
    run = run_of("Hello.")
    run.inject("Be brief.")
    run.wait()
    opening, _, rest = parsed(run.to_html()).text.partition("request 1")
    assert "Be brief." not in opening
    assert "you, sent with this request Be brief." in rest
    assert run.to_text().count("Be brief.") == 1


def test_first_messages_of_blocks_stay_when_something_is_sent_along() -> None:
    blocks = [{"role": "user", "content": [say("How warm?")]}]
    run = run_of("Hello.", messages=blocks)
    run.inject("Be brief.")
    run.wait()
    opening = parsed(run.to_html()).text.partition("request 1")[0]
    assert "you How warm?" in opening
    assert "Be brief." not in opening


def test_a_megabyte_makes_a_small_page_that_says_so() -> None:
    run = finished(use("look", what="a megabyte"), "Much.")
    html = run.to_html()
    assert len(html.encode()) < 60_000
    assert html.count("1,072,000 more characters, 1.1 MB in all") == 1
    assert len(run.to_text()) < 20_000
    assert "1,072,000 more characters" in run.to_text()


def test_a_page_grows_with_its_run_and_no_faster() -> None:
    calls = [use("get_weather", location=f"city {n}") for n in range(100)]
    few = len(finished(*calls[:10], "Done.").to_html())
    many = len(finished(*calls, "Done.").to_html())
    assert many < 11 * few


def test_a_run_shows_itself_in_html_and_text() -> None:
    run = finished("Hi.")
    assert run._repr_mimebundle_() == {
        "text/html": static_page(run.transcript, name="run"),
        "text/plain": run.to_text(),
    }


def test_a_run_of_its_own_says_that_it_starts_anew_and_how_to_go_on() -> None:
    run = finished(say("Hello."))
    said = "starts anew; to go on with it: %%toolrun --continue"
    assert said in " ".join(parsed(run.to_html()).text.split())
    assert "starts anew" not in parsed(run.fork(0).to_html()).text
