"""Results given by hand, and those that are made of the other calls."""

from __future__ import annotations

from nbrunner.core.events import (
    CallFinished,
    IterationStarted,
    ReplyDropped,
    ReplyFinished,
    ResultsFinished,
    ResultsGiven,
)
from nbrunner.core.given import given_too, with_given
from tests.core.values import folded, reply, result, text, use

FIRST, SECOND = result("a", "first"), result("b", "second")
CALLED = (
    IterationStarted(iteration=0),
    ReplyFinished(iteration=0, message=reply(use("a"), use("b")), elapsed_s=1),
)


def said(*blocks: object) -> dict[str, object]:
    return {"role": "user", "content": list(blocks)}


def test_what_is_given_one_by_one_is_one_message_with_the_results_first() -> None:
    before = said(FIRST, text("One."))
    assert given_too(None, before) == before
    given = given_too(before, said(SECOND, text("Two.")))
    assert given == said(FIRST, SECOND, text("One."), text("Two."))


def test_of_two_results_for_a_call_the_newer_stands_and_a_text_stands_once() -> None:
    newer = result("a", "newer")
    given = given_too(said(FIRST, text("One.")), said(newer, text("One.")))
    assert given == said(newer, text("One."))


def test_what_is_given_stands_in_the_place_of_what_is_made() -> None:
    made = said(result("a", "made"), result("b", "made"), text("Behind."))
    assert with_given(made, None) is made
    given = with_given(made, said(SECOND, text("One.")))
    assert given == said(result("a", "made"), SECOND, text("Behind."), text("One."))


def test_what_was_given_is_over_with_its_reply() -> None:
    given = folded(*CALLED, ResultsGiven(iteration=0, message=said(FIRST)))
    assert given.iterations[0].given == said(FIRST)
    answered = ResultsFinished(iteration=0, message=said(FIRST, SECOND))
    for over in (ReplyDropped(iteration=0, by="code"), answered):
        assert folded(over, start=given).iterations[0].given is None


def test_a_fork_keeps_what_was_given_and_leaves_out_what_is_open() -> None:
    ran = CallFinished(iteration=0, call_id="a", outcome="ok", content="3")
    error = result("b", "no", is_error=True)
    given = folded(*CALLED, ran, ResultsGiven(iteration=0, message=said(error)))
    fork = given.branch(None, "run")
    first, second = fork.iterations[0].tool_calls
    assert (first.status, first.result) == ("ok", "3")
    assert (second.status, second.result, second.is_error) == ("answered", "no", True)
    assert fork.iterations[0].given is None
    assert fork.messages[-1]["content"] == [result("a", "3"), error]


def test_what_was_given_for_a_reply_that_was_cut_off_stands_behind_it() -> None:
    message = reply(use("a"), use("b"), stop_reason="max_tokens")
    cut = ReplyFinished(iteration=0, message=message, elapsed_s=1)
    given = ResultsGiven(iteration=0, message=said(FIRST))
    sent = folded(CALLED[0], cut, given).next_request().messages[-1]["content"]
    assert (sent[0], sent[1]["is_error"]) == (FIRST, True)
