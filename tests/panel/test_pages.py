"""Pages that come, go and are loaded anew, and what a panel holds on to for them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.panel import Panel
from nbrunner.panel.pages import Pages, read_greeting
from tests.panel.recording_comm import PATIENCE_S, RecordingComm
from tests.panel.threads import join, refreshing
from tests.views.runs import finished, run_of

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME, OTHER = {"op": "hello", "page": "home"}, {"op": "hello", "page": "other"}
BYE = {"op": "bye", "page": "home"}


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("comm.create_comm", RecordingComm)
    others = refreshing()
    yield
    join(refreshing() - others)


def followers(run: Any) -> int:
    told = [getattr(it, "__self__", None) for it in run._ledger._listeners]
    return sum(isinstance(follower, Panel) for follower in told)


@pytest.mark.parametrize(
    "message",
    [
        {"op": "helo"},
        {"op": "hello", "page": 7},
        {"op": "hello", "page": "x" * 65},
        {"op": "hello", "intent": "pause"},
        "hello",
        None,
    ],
)
def test_what_is_no_greeting_is_not_taken_for_one(message: Any) -> None:
    assert read_greeting(message) is None


def test_the_page_heard_first_is_the_cells_own_however_often_it_says_hello() -> None:
    pages = Pages()
    assert not pages.has_greeted
    assert not pages.have_left
    assert not pages.has_strangers
    for message in (HOME, HOME, BYE, HOME):
        greeting = read_greeting(message)
        assert greeting is not None
        pages.take(greeting)
    assert pages.home == "home"
    assert not pages.has_strangers
    assert not pages.have_left


def test_a_panel_that_stands_in_for_a_page_tells_whose_that_page_is() -> None:
    panel = Panel(finished("Hi."), stands_in=True)
    panel.comm.hear(HOME)
    panel.comm.hear(OTHER)
    homes = [message["home"] for message in panel.comm.answers()]
    assert homes == ["home", "home"]
    panel.close()


def test_a_panel_that_stays_has_no_home_to_tell() -> None:
    panel = Panel(finished("Hi."))
    panel.comm.hear(OTHER)
    assert "home" not in panel.comm.sent[0]
    panel.close()


def test_a_retired_panel_goes_on_for_a_page_that_was_loaded_anew(held: Any) -> None:
    run, door = held
    panel = Panel(run, stands_in=True)
    panel.comm.hear(HOME)
    panel.comm.hear(OTHER)
    panel.retire()
    door.opened.set()
    run.wait()
    assert panel.comm.shows("run done")
    panel._close_unless_needed()
    panel.comm.hear(OTHER)
    assert panel.comm.sent[-1]["op"] == "snapshot"
    panel.close()


def test_a_retired_panel_that_nobody_needs_is_closed_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nbrunner.panel.widget._LINGER_S", 0.01)
    run = finished("Hi.")
    panel = Panel(run, stands_in=True)
    own = refreshing()
    panel.comm.hear(HOME)
    panel.retire()
    join(refreshing() | own)
    assert panel.comm is None
    assert followers(run) == 0


def test_a_click_that_waited_for_the_end_of_its_cell_does_nothing_then() -> None:
    run = run_of("Hi.")
    panel = Panel(run, stands_in=True)
    panel.retire()
    before = run.transcript
    panel.comm.hear({"intent": "step"})
    panel.comm.hear(HOME)
    panel.comm.hear({"intent": "step"})
    assert run.transcript == before
    panel.comm.hear(OTHER)
    panel.comm.hear({"intent": "send", "text": "But this one is seen."})
    assert len(run.transcript.waiting) == 1
    panel.close()
    for timer in refreshing():
        if isinstance(timer, threading.Timer):
            timer.cancel()


def test_the_thread_ends_with_the_run_and_is_there_again_for_news(held: Any) -> None:
    run, door = held
    others = refreshing()
    panel = Panel(run)
    panel.comm.hear(HOME)
    run.inject("Be brief.")
    assert panel.comm.shows("Be brief.")
    door.opened.set()
    run.wait()
    join(refreshing() - others)
    run.inject("And more.")
    assert panel.comm.shows("And more.")
    panel.close()


def test_a_run_that_is_over_is_followed_until_its_last_view_is_closed() -> None:
    run = finished("Hi.")
    panel = Panel(run)
    assert followers(run) == 1
    panel.comm.hear(HOME)
    panel.comm.hear(OTHER)
    panel.comm.hear(BYE)
    assert followers(run) == 1
    panel.comm.hear({"op": "bye", "page": "other"})
    assert followers(run) == 0
    assert not panel.is_open
    panel.comm.hear(HOME)
    assert followers(run) == 1
    panel.close()


def test_a_run_whose_views_are_closed_is_followed_until_its_end(held: Any) -> None:
    run, door = held
    others = refreshing()
    panel = Panel(run)
    panel.comm.hear(HOME)
    panel.comm.hear(BYE)
    assert followers(run) == 1
    door.opened.set()
    run.wait()
    join(refreshing() - others)
    assert followers(run) == 0
    panel.close()


def test_a_panel_on_a_finished_run_stops_pushing_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nbrunner.panel.refresh._PUSH_AFTER_S", (0.0,) * 9)
    others = refreshing()
    panel = Panel(finished("Hi."))
    join(refreshing() - others)
    assert len(panel.comm.sent) == 3
    panel.close()


def test_an_unheard_view_is_pushed_to_for_as_long_as_the_run_is_at_work(
    held: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nbrunner.panel.refresh._PUSH_AFTER_S", ())
    monkeypatch.setattr("nbrunner.panel.refresh._PUSH_ON_AFTER_S", 0.01)
    run, _ = held
    panel = Panel(run)
    with panel.comm.arrived:
        enough = panel.comm.arrived.wait_for(
            lambda: len(panel.comm.sent) > 5, PATIENCE_S
        )
    assert enough
    panel.close()
