from __future__ import annotations

import random

import pytest

from nbrunner.core.commands import Submit
from nbrunner.core.edits import EditResult
from nbrunner.core.events import (
    Asked,
    EditApplied,
    Event,
    Halted,
    Remarked,
    RequestResent,
    ResultsFinished,
)
from nbrunner.core.fold import fold
from nbrunner.replay import cut, say, use
from tests.panel.stage import Stage, meddled, recorded
from tests.views.runs import STORIES

LONG = (
    *([use("get_weather", location=f"city {n}")] for n in range(6)),
    say("First line.\nThen more, " + "word " * 60),
)
ALL = {**STORIES, "many calls": LONG}
PARIS = use("get_weather", location="Paris")
EAGER = {
    "a reply": ([say("I look."), PARIS, use("get_wether"), PARIS], "Warm."),
    "a broken reply": (cut([PARIS, PARIS], 7, "drop"), [PARIS], "Warm."),
}


@pytest.mark.parametrize("title", ALL)
def test_a_view_told_of_every_event_shows_what_a_new_view_is_shown(title: str) -> None:
    before, events = recorded(*ALL[title])
    stage = Stage(before)
    for event, transcript in events:
        stage.play((event, transcript)).feed.flush()
        assert stage.view.root == stage.truth, event.kind


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("title", ALL)
def test_it_does_so_whenever_it_is_told_and_whatever_a_person_asks(
    title: str, seed: int
) -> None:
    before, events = meddled(*ALL[title], seed=seed)
    chance = random.Random(seed)  # noqa: S311 - a seed, not a secret
    stage = Stage(before)
    for event, transcript in events:
        stage.play((event, transcript))
        if chance.random() < 0.4:
            stage.feed.flush()
            assert stage.view.root == stage.truth, event.kind
    stage.feed.flush()
    assert stage.view.root == stage.truth


@pytest.mark.parametrize("title", EAGER)
def test_it_does_so_while_calls_run_before_their_reply_is_whole(title: str) -> None:
    before, events = recorded(*EAGER[title], run_tools_eagerly=True)
    stage = Stage(before)
    for event, transcript in events:
        stage.play((event, transcript)).feed.flush()
        assert stage.view.root == stage.truth, event.kind


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("title", EAGER)
def test_and_so_it_does_with_a_person_in_it(title: str, seed: int) -> None:
    before, events = meddled(*EAGER[title], seed=seed, run_tools_eagerly=True)
    stage = Stage(before)
    for event, transcript in events:
        stage.play((event, transcript)).feed.flush()
        assert stage.view.root == stage.truth, event.kind


@pytest.mark.parametrize(
    "event",
    [
        RequestResent(iteration=0, seen="529"),
        Remarked(iteration=0, remark="Nobody is here."),
        Halted(why="paused", reason="get_weather failed"),
    ],
    ids=lambda event: event.kind,
)
def test_a_view_that_hears_of_what_no_story_tells_shows_the_same(event: Event) -> None:
    _, events = recorded(*LONG)
    transcript = events[len(events) // 2][1]
    stage = Stage(transcript)
    stage.play((event, fold(transcript, event))).feed.flush()
    assert stage.view.root == stage.truth


def test_a_view_that_comes_later_is_shown_the_same() -> None:
    before, events = recorded(*LONG)
    early = Stage(before).play(*events[:20])
    late = Stage(events[19][1])
    for stage in (early, late):
        stage.play(*events[20:]).feed.flush()
    assert early.view.root == late.view.root


def test_a_result_that_is_edited_between_two_flushes_is_shown_edited() -> None:
    _, events = recorded(*LONG)
    transcript = next(it for event, it in events if isinstance(event, ResultsFinished))
    (call,) = transcript.iterations[0].tool_calls
    edit, by = EditResult(call.id, "edited"), "person"
    stage = Stage(transcript)
    for event in (
        Asked(command=Submit(edit=edit), by=by),
        EditApplied(edit=edit, by=by),
    ):
        transcript = fold(transcript, event)
        stage.play((event, transcript))
    stage.feed.flush()
    assert "edited" in str(stage.view.root)
    assert stage.view.root == stage.truth
