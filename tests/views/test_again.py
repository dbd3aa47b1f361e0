"""Replies that are asked for again, and results that are changed, on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner import ask
from nbrunner.core.edits import EditResult
from nbrunner.core.redact import REDACTED
from nbrunner.replay import say, use
from nbrunner.views.form import NotAnInput
from nbrunner.views.page import panel_content
from nbrunner.views.result_form import read_result
from tests.loop.steering import Followed, pause_behind_a_reply
from tests.views.page_parser import Page, parsed
from tests.views.runs import finished, run_of

if TYPE_CHECKING:
    from nbrunner import Run

WARM = use("get_temperature", city="Paris")


def live(run: Run) -> Page:
    return parsed(str(panel_content(run.transcript, name="weather")))


def named(page: Page, key: str) -> list[str]:
    return [given[key] for _, given in page.elements if key in given]


def asked_again() -> Run:
    run = finished(WARM, say("It is hot."), say("It is 20 °C."))
    run.retry()
    run.wait()
    return run


def paused_behind_a_call(**given: Any) -> Run:
    run = run_of(WARM, say("It is warm."), **given)
    followed = Followed(run)
    pause_behind_a_reply(run, followed)
    return run


def test_the_newest_reply_alone_can_be_asked_for_again() -> None:
    run = asked_again()
    page = live(run)
    assert named(page, "data-attempt") == [run.transcript.iterations[-1].attempt]
    assert "in Python: weather.retry()" in named(page, "title")


def test_a_branch_cannot_ask_again_for_a_reply_of_its_parent() -> None:
    assert named(live(asked_again().fork(1)), "data-attempt") == []


def test_a_dropped_reply_is_there_to_be_read_and_said_not_to_be_sent() -> None:
    run = asked_again()
    for page in (live(run), parsed(run.to_html())):
        assert "dropped reply, not sent onIt is hot." in page.text
    assert "(dropped reply, not sent on) It is hot." in run.to_text()
    assert run.text == "It is 20 °C."


def test_what_ran_for_a_dropped_reply_is_named() -> None:
    run = paused_behind_a_call()
    run.retry()
    run.wait()
    assert "get_temperature ran, and its result is dropped" in run.to_text()


def test_a_call_that_waited_for_a_decision_is_not_said_to_have_run() -> None:
    run = run_of(WARM, say("It is warm."), approver=ask)
    followed = Followed(run)
    run.start()
    followed.wait_for("call_asked")
    run.retry()
    run.wait()
    assert run.transcript.iterations[0].dropped[0].tool_calls[0].is_answered
    for said in (run.to_text(), live(run).text, parsed(run.to_html()).text):
        assert "dropped reply, not sent on" in said
        assert "its result is dropped" not in said


def test_a_result_can_be_edited_until_it_goes_out() -> None:
    run = paused_behind_a_call()
    assert "edit_result" in named(live(run), "data-intent")
    run.resume()
    run.wait()
    assert "edit_result" not in named(live(run), "data-intent")
    assert "edit_result" not in named(parsed(run.to_html()), "data-intent")


def test_an_edited_result_stands_beside_what_the_tool_returned() -> None:
    run = paused_behind_a_call()
    (call,) = run.transcript.iterations[0].tool_calls
    run.submit(EditResult(call.id, "30"))
    run.resume()
    run.wait()
    for page in (live(run), parsed(run.to_html())):
        assert "result, edited30before the edit20" in page.text
    assert "<- result, edited: 30\n    (before the edit: 20)" in run.to_text()


@pytest.mark.parametrize(
    ("result", "text", "read"),
    [
        ("20", "30", "30"),
        ("20", "3\r\n0", "3\n0"),
        ([{"type": "text", "text": "a"}], '[{"type": "text", "text": "b"}]', None),
    ],
)
def test_a_form_is_read_as_the_kind_of_content_that_it_showed(
    result: Any, text: str, read: Any
) -> None:
    call = paused_behind_a_call().transcript.iterations[0].tool_calls[0]
    call = call.model_copy(update={"result": result})
    expected = read or [{"type": "text", "text": "b"}]
    assert read_result(call, {"result": text}) == expected


@pytest.mark.parametrize(
    ("result", "text", "said"),
    [
        ([{"type": "text", "text": "a"}], "[", "no JSON"),
        ([{"type": "text", "text": "a"}], '{"type": "text"}', "list of content blocks"),
        ([{"type": "text", "text": "a"}], "[3]", "list of content blocks"),
        (f"key sk-ant-api03-{'a' * 40}", f"key {REDACTED}!", "a secret"),
        ("\x1b[31mred", "\ufffd[31mblue", "a control character"),
        ("two\r\nlines", "two\nlines", "from Python"),
    ],
)
def test_what_is_no_result_is_refused(result: Any, text: str, said: str) -> None:
    call = paused_behind_a_call().transcript.iterations[0].tool_calls[0]
    call = call.model_copy(update={"result": result})
    with pytest.raises(NotAnInput, match=said):
        read_result(call, {"result": text})


@pytest.mark.parametrize("result", ["", "kept", "two\nlines"])
def test_a_form_that_was_not_touched_changes_nothing(result: str) -> None:
    call = paused_behind_a_call().transcript.iterations[0].tool_calls[0]
    call = call.model_copy(update={"result": result})
    assert read_result(call, {"result": result}) == result
