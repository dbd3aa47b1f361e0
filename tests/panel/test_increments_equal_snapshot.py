from __future__ import annotations

import random

import pytest

from nbrunner.core.events import Event, Halted, Remarked, RequestResent
from nbrunner.core.fold import fold
from nbrunner.replay import say, use
from tests.panel.stage import Stage, meddled, recorded
from tests.views.runs import STORIES

LONG = (
    *([use("get_weather", location=f"city {n}")] for n in range(6)),
    say("First line.\nThen more, " + "word " * 60),
)
ALL = {**STORIES, "many calls": LONG}


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
