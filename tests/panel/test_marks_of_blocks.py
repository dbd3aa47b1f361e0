from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.edits import ToggleCache
from nbrunner.core.events import EditApplied, EditRefused
from nbrunner.core.fold import fold
from nbrunner.replay import use
from tests.panel.stage import Stage, recorded

if TYPE_CHECKING:
    from nbrunner.core.events import Event

CALLS = tuple([use("get_weather", location=f"city {n}")] for n in range(2))
SAID = "messages[5].content[0]"
BEFORE, EVENTS = recorded(*CALLS, "Done.", system="Be brief.")


def ended() -> Stage:
    stage = Stage(BEFORE).play(*EVENTS)
    stage.feed.flush()
    return stage


def patched(stage: Stage, event: Event) -> list[str]:
    """The keys of what an event has changed in the page."""
    (message,) = stage.play((event, fold(stage.transcript, event))).flushed()
    return [change["key"] for change in message["changes"]]


def applied(place: str) -> EditApplied:
    return EditApplied(edit=ToggleCache(place), by="person")


def test_who_asks_for_the_buttons_of_a_block_gets_its_iteration() -> None:
    stage = ended()
    stage.feed.show_all(f"marks.{SAID}")
    (change,) = stage.sent[-1]["changes"]
    assert change["key"] == "it2"
    assert f'run.submit(ToggleCache("{SAID}"))' in stage.view.root.text


def test_before_the_first_request_the_next_one_holds_the_buttons() -> None:
    stage = Stage(BEFORE)
    stage.feed.show_all("marks.messages[0].content[0]")
    (change,) = stage.sent[-1]["changes"]
    assert change["key"] == "next"
    assert 'ToggleCache("messages[0].content[0]")' in stage.view.root.text


def test_a_mark_on_a_block_touches_its_iteration_and_what_counts() -> None:
    keys = patched(ended(), applied(SAID))
    assert [key for key in keys if "call" not in key and "summary" not in key] == [
        "next",
        "it2",
    ]


def test_buttons_that_are_open_count_along() -> None:
    stage = ended()
    stage.feed.show_all(f"marks.{SAID}")
    assert "it2" in patched(stage, applied("system"))
    assert "it2" not in patched(ended(), applied("system"))


def test_a_refusal_touches_the_iteration_of_its_block_alone() -> None:
    refused = EditRefused(edit=ToggleCache(SAID), reason="It cannot be.")
    stage = ended()
    assert patched(stage, refused) == ["it2"]
    assert "It cannot be." in stage.view.root.text
    assert stage.view.root == stage.truth
