from __future__ import annotations

from typing import Any

from tests.panel.stage import Stage, recorded
from tests.views.runs import counted, use

LOOK = use("get_weather", location="Paris")


def keys_after(event_kind: str, *replies: Any) -> list[set[str]]:
    """The keys of the patch that each event of that kind led to."""
    before, events = recorded(*replies)
    stage, found = Stage(before), []
    for event, transcript in events:
        patches = stage.play((event, transcript)).flushed()
        keys = {c["key"] for p in patches for c in p.get("changes", ())}
        if event.kind == event_kind:
            found.append(keys)
        assert stage.view.root == stage.truth
    return found


def test_a_bar_that_outgrows_the_scale_changes_only_the_lines_of_the_others() -> None:
    replies = (counted(LOOK), counted(LOOK), counted("Warm.", wrote=14_000))
    *_, last = keys_after("reply_finished", *replies)
    assert {"it0.summary", "it1.summary", "it2"} <= last
    assert not {"it0", "it1"} & last


def test_while_the_scale_holds_old_iterations_are_left_alone() -> None:
    replies = (counted(LOOK, wrote=4_000), counted(LOOK, read=4_000), counted("Warm."))
    *_, last = keys_after("reply_finished", *replies)
    assert "it2" in last
    assert not {"it0", "it1", "it0.summary", "it1.summary"} & last
