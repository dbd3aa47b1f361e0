from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.panel.feed import Feed
from nbrunner.replay import use
from tests.panel.mini_dom import tree
from tests.panel.recording_comm import PATIENCE_S
from tests.views.runs import PARIS, finished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbrunner import Run
    from nbrunner.panel import Panel

REPLIES = ([use("get_weather", PARIS)], "It is 20.", "It is 68 °F.", "Bring a coat.")


@pytest.fixture
def shown(shown: Callable[[Run], Panel]) -> Iterator[Callable[[Run], Panel]]:
    """A panel that a view has said hello to; what was forked in it is ended."""
    panels: list[Panel] = []

    def show(run: Run) -> Panel:
        panels.append(shown(run))
        panels[-1].comm.hear({"op": "hello"})
        return panels[-1]

    yield show
    for panel in panels:
        for fork in panel.forked:
            fork.stop()
            fork.wait(PATIENCE_S)


Show = Any


def truth(panel: Panel) -> Any:
    """What a view that has just said hello is shown."""
    panel.comm.hear({"op": "hello"})
    return tree(panel.comm.sent[-1]["html"])


def fork_by_click(panel: Panel, at: int) -> Run:
    panel.comm.hear({"intent": "fork", "at": at})
    fork: Run = panel.forked[-1]
    assert panel.comm.shows(f"paused before request {at + 1}")
    return fork


def test_a_fork_by_click_is_shown_and_waits_before_its_first_request(
    shown: Show,
) -> None:
    run = finished(*REPLIES)
    before = run.transcript
    panel = shown(run)
    fork = fork_by_click(panel, 1)
    assert run.branches == [fork]
    assert fork.parent is run
    assert panel.comm.shows("fork of run, from iteration 2 on")
    assert len(fork.transcript.iterations) == 1
    after = run.transcript
    assert (after.messages, after.iterations) == (before.messages, before.iterations)


def test_what_is_clicked_from_then_on_is_asked_of_the_fork(shown: Show) -> None:
    run = finished(*REPLIES)
    panel = shown(run)
    fork = fork_by_click(panel, 1)
    panel.comm.hear({"intent": "send", "text": "In Fahrenheit."})
    panel.comm.hear({"intent": "resume"})
    fork.wait(PATIENCE_S)
    assert fork.transcript.iterations[1].injected == ("In Fahrenheit.",)
    assert (run.text, fork.text) == ("It is 20.", "It is 68 °F.")
    assert panel.comm.shows("run.branches[0] done")
    assert panel.comm.view.root == truth(panel)


def test_a_button_pressed_twice_makes_one_fork(shown: Show) -> None:
    run = finished(*REPLIES)
    panel = shown(run)
    fork = fork_by_click(panel, 1)
    panel.comm.hear({"intent": "fork", "at": 1})
    assert "branches[0] has no iteration 2" in panel.comm.sent[-1]["reason"]
    assert (run.branches, fork.branches) == ([fork], [])


def test_a_run_at_work_is_forked_and_goes_on_unseen(shown: Show, held: Any) -> None:
    run, door = held
    panel = shown(run)
    fork = fork_by_click(panel, 0)
    known = panel.comm.view.root
    door.opened.set()
    run.wait(PATIENCE_S)
    assert run.text == "Done."
    assert fork.transcript.status == "paused"
    assert "Done." not in panel.comm.view.root.text
    assert panel.comm.view.root == known == truth(panel)


def test_the_way_leads_back_and_to_the_branch_again(shown: Show) -> None:
    run = finished(*REPLIES)
    panel = shown(run)
    fork = fork_by_click(panel, 1)
    assert (list(run.panels), list(fork.panels)) == ([], [panel])
    panel.comm.hear({"intent": "open", "branch": "parent"})
    assert panel.comm.shows("run.branches[0] from iteration 2 on paused before")
    assert (list(run.panels), list(fork.panels)) == ([panel], [])
    panel.comm.hear({"intent": "open", "branch": "0"})
    assert panel.comm.shows("fork of run, from iteration 2 on")
    assert panel.comm.view.root == truth(panel)


@pytest.mark.parametrize("intent", ["open", "compare"])
@pytest.mark.parametrize("branch", ["parent", "0", "sibling.0"])
def test_a_branch_that_is_not_there_is_refused(
    shown: Show, intent: str, branch: str
) -> None:
    panel = shown(finished(*REPLIES))
    panel.comm.hear({"intent": intent, "branch": branch})
    assert panel.comm.sent[-1] == {
        "op": "refused",
        "reason": "run has no such branch.",
        "seq": panel.comm.sent[-1]["seq"],
    }


@pytest.mark.parametrize("branch", ["sibling.0", "sibling.2"])
def test_a_branch_is_no_sibling_of_its_own(shown: Show, branch: str) -> None:
    run = finished(*REPLIES)
    fork, _ = run.fork(1), run.fork(1)
    panel = shown(fork)
    panel.comm.hear({"intent": "compare", "branch": branch})
    assert panel.comm.sent[-1]["reason"] == "run.branches[0] has no such branch."


def test_what_else_was_forked_is_watched_compared_and_opened(shown: Show) -> None:
    run = finished(*REPLIES)
    run.fork(1).wait(PATIENCE_S)
    panel = shown(run.branches[0])
    other = run.fork(1)
    assert panel.comm.shows("run.branches[1] from iteration 2 on not started")
    other.wait(PATIENCE_S)
    assert panel.comm.shows("run.branches[1] from iteration 2 on done")
    panel.comm.hear({"intent": "compare", "branch": "sibling.1"})
    assert panel.comm.shows("+ Bring a coat.")
    assert panel.comm.view.root == truth(panel)
    panel.comm.hear({"intent": "open", "branch": "sibling.1"})
    assert panel.comm.shows("run.branches[0] from iteration 2 on done")
    assert list(other.panels) == [panel]


def test_two_branches_are_compared_as_long_as_someone_wants_it(shown: Show) -> None:
    run = finished(*REPLIES)
    run.fork(1).wait(PATIENCE_S)
    panel = shown(run)
    assert "+ It is 68 °F." not in panel.comm.view.root.text
    panel.comm.hear({"intent": "compare", "branch": "0"})
    assert panel.comm.shows("- It is 20.")
    assert "+ It is 68 °F." in panel.comm.view.root.text
    assert panel.comm.view.root == truth(panel)
    panel.comm.hear({"intent": "compare", "branch": "0"})
    with panel.comm.arrived:
        gone = panel.comm.arrived.wait_for(
            lambda: "68" not in panel.comm.view.root.text, PATIENCE_S
        )
    assert gone


def test_a_branch_made_in_a_cell_is_told_of_and_how_it_ends(shown: Show) -> None:
    run = finished(*REPLIES)
    panel = shown(run)
    fork = run.fork(at=1, name="brief")
    assert panel.comm.shows("brief from iteration 2 on not started 1 iteration")
    fork.wait(PATIENCE_S)
    assert panel.comm.shows("brief from iteration 2 on done 2 iterations")
    assert panel.comm.view.root == truth(panel)


def test_a_closed_panel_follows_no_branch(
    shown: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished(*REPLIES)
    panel = shown(run)
    fork = run.fork(at=1)
    assert panel.comm.shows("not started")
    panel.close()
    told: list[int] = []
    monkeypatch.setattr(Feed, "flush", lambda _: told.append(1))
    fork.wait(PATIENCE_S)
    assert (told, fork._ledger._listeners) == ([], [fork._log])
