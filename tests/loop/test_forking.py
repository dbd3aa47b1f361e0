"""Forks at each kind of place: the old branch stays, and no call runs twice."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import beta_tool

from nbrunner import EditResult, Run, SetParams, SetSystem
from nbrunner.core.comparison import compare
from nbrunner.errors import EditRefused, UsageError
from nbrunner.replay import use
from tests.loop.api_rules import broken_rule
from tests.loop.steering import assert_the_api_takes_all
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Door, Wire

ADD = use("add", a=1, b=2)


def ran(calls: list[Any]) -> tuple[Run, Wire]:
    wire = Wire([ADD], [ADD], "Done.", "Another way.", "And more.")
    run = Run(client=wire.client, tools=counted_tools(calls), messages="?", name="r")
    run.wait(20)
    return run, wire


def call_id(run: Run, index: int) -> str:
    return run.transcript.iterations[index].tool_calls[0].id


def test_a_fork_in_the_middle_of_four_steps_is_a_history_that_the_api_takes() -> None:
    wire = Wire([ADD], [ADD], [ADD], "It is 3.", "It was 3.")
    run = Run(client=wire.client, tools=counted_tools([]), messages="1 + 2?")
    run.wait(20)
    for at in range(4):
        branch = run.fork(at)
        assert len(branch.transcript.next_request().messages) == 1 + 2 * at
    assert branch.wait(20).text == "It was 3."
    assert_the_api_takes_all(wire)


@pytest.mark.parametrize(
    ("at", "place", "sent"), [(0, 0, 1), (1, 1, 3), (-1, 2, 5), (-3, 0, 1), (2, 2, 5)]
)
def test_a_fork_asks_an_iteration_anew_and_the_old_branch_stays(
    at: int, place: int, sent: int
) -> None:
    calls: list[Any] = []
    run, wire = ran(calls)
    before = run.transcript
    fork = run.fork(at=at)
    fork.wait(20)
    assert len(wire.bodies[3]["messages"]) == sent
    assert wire.bodies[3] == wire.bodies[place]
    assert fork.text == "Another way."
    assert len(fork.transcript.own_iterations) == 1
    assert fork.usage == fork.transcript.iterations[-1].usage
    assert len(calls) == 2
    after = run.transcript
    assert (after.messages, after.iterations) == (before.messages, before.iterations)
    assert [(b.name, b.at) for b in after.branches] == [("r.branches[0]", place)]
    assert_the_api_takes_all(wire)


def test_a_fork_at_the_end_goes_on_with_a_message() -> None:
    run, wire = ran([])
    fork = run.fork()
    fork.inject("More, please.")
    fork.wait(20)
    assert wire.bodies[3]["messages"][-1]["content"] in (
        "More, please.",
        [{"type": "text", "text": "More, please."}],
    )
    assert_the_api_takes_all(wire)


@pytest.mark.parametrize("at", [4, -4])
def test_there_is_no_fork_where_there_is_no_iteration(at: int) -> None:
    run, _ = ran([])
    with pytest.raises(UsageError, match="r has 3 iterations, and none at"):
        run.fork(at=at)
    assert run.branches == []


def test_a_fork_may_edit_an_old_result_and_settings() -> None:
    run, wire = ran([])
    old = EditResult(call_id(run, 0), "4")
    edits = [old, SetSystem("Be brief."), SetParams(max_tokens=99)]
    fork = run.fork(at=2, edits=edits)
    fork.wait(20)
    body = wire.bodies[3]
    assert body["messages"][2]["content"][0]["content"] == "4"
    assert (body["system"], body["max_tokens"]) == ("Be brief.", 99)
    edited = fork.transcript.iterations[0].tool_calls[0]
    assert (edited.result, edited.returned, edited.is_edited) == ("4", "3", True)
    assert run.transcript.iterations[0].tool_calls[0].result == "3"
    assert run.messages[2]["content"][0]["content"] != "4"


def test_a_fork_with_an_edit_that_cannot_be_made_leaves_nothing() -> None:
    run, _ = ran([])
    with pytest.raises(EditRefused):
        run.fork(at=0, edits=[EditResult(call_id(run, 0), "4")])
    assert run.branches == []
    assert run.transcript.branches == ()


def test_a_fork_while_a_tool_runs_does_not_run_its_call_again() -> None:
    door, passed = Door(), []

    @beta_tool
    def linger() -> str:
        """Linger."""
        passed.append(1)
        door.pass_through()
        return "at last"

    wire = Wire([ADD, use("linger")], "Forked.", "Done.")
    calls: list[Any] = []
    tools = [linger, *counted_tools(calls)]
    run = Run(client=wire.client, tools=tools, messages="?")
    run.start()
    door.wait_until_reached()
    fork = run.fork()
    fork.wait(20)
    first, second = wire.bodies[1]["messages"][2]["content"]
    assert first["content"] in ("3", [{"type": "text", "text": "3"}])
    assert second["is_error"]
    assert "its tool may have run" in second["content"]
    assert fork.transcript.iterations[0].tool_calls[1].status == "interrupted"
    door.open()
    run.wait(20)
    assert (run.text, fork.text) == ("Done.", "Forked.")
    assert (passed, len(calls)) == ([1], 1)
    assert [broken_rule(body) for body in wire.bodies] == [None] * 3


def test_a_retry_after_the_end_drops_the_reply_and_a_fork_has_the_new_one() -> None:
    run, wire = ran([])
    run.retry()
    run.wait(20)
    assert wire.bodies[3] == wire.bodies[2]
    dropped = run.transcript.iterations[2].dropped
    assert [d.reply["content"][0]["text"] for d in dropped] == ["Done."]
    fork = run.fork()
    assert fork.text == "Another way."
    assert len(fork.messages) == 6


def test_a_diff_names_what_differs_and_where_branches_part() -> None:
    run, _ = ran([])
    fork = run.fork(
        at=2, edits=[EditResult(call_id(run, 0), "4"), SetSystem("Be brief.")]
    )
    fork.wait(20)
    found = run.diff(fork)
    assert [c.where for c in found.settings] == ["system"]
    assert found.parts_at is not None
    assert (found.parts_at.where, found.shared) == ("messages[2].content[0]", 2)
    assert found.replies is not None
    assert (found.replies.before, found.replies.after) == ("Done.", "Another way.")
    text = repr(found)
    assert "r → r.branches[0]" in text
    assert "+ 4" in text
    html = found._repr_mimebundle_()["text/html"]
    assert "Another way." in html


def test_a_branch_is_the_same_as_itself() -> None:
    run, _ = ran([])
    assert compare(run.transcript, run.transcript).is_same
    assert "Both ask the same" in repr(run.diff(run))


def test_branches_stand_in_a_tree_with_the_line_that_reaches_each() -> None:
    run, _ = ran([])
    run.fork(at=1)
    run.branches[0].fork(at=0)
    run.fork(at=2, name="late")
    lines = repr(run.tree()).splitlines()
    assert [line.split(" · ")[0] for line in lines] == [
        "r",
        "├─ r.branches[0]",
        "│  └─ r.branches[0].branches[0]",
        "└─ late",
    ]
    html = run.tree()._repr_mimebundle_()["text/html"]
    assert "r.branches[0].branches[0]" in html
