"""Who decides about a call, and that what was decided is what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner import Run, SetParams, SetTools, approve_all, ask, by_tool, reject_all
from nbrunner.core.approval import digest
from nbrunner.core.events import (
    CallAsked,
    CallDecided,
    CallStarted,
    CommandRefused,
    ResultsFinished,
)
from nbrunner.errors import NotAnApprover, NotARule, Ungated, UnknownParameter
from nbrunner.loop.approval import checked_approver
from nbrunner.replay import think, use
from tests.loop.steering import Followed, assert_the_api_takes_all
from tests.loop.test_toolsets import Browser, member
from tests.loop.toolkit import counted_tools
from tests.loop.wire import PATIENCE_S, Wire

if TYPE_CHECKING:
    from nbrunner.core.approval import ProposedCall, Ruling
    from nbrunner.core.tool_call import ToolCall

ADD, MORE = use("add", a=1, b=2), use("add", a=3, b=4)
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
MCP = [{"type": "url", "name": "docs", "url": "https://a.example/"}]


class Asked:
    """A run that asks about the calls of its replies."""

    def __init__(self, *replies: Any, approver: Any = ask, **options: Any) -> None:
        self.ran: list[Any] = []
        self.wire = Wire(*replies)
        self.run = Run(
            client=self.wire.client,
            tools=counted_tools(self.ran),
            messages="?",
            approver=approver,
            **options,
        )
        self.followed = Followed(self.run)

    def start(self, *, asks: int = 1) -> list[str]:
        """Start it; returns the ids of the calls that it asks about."""
        self.run.start()
        with self.followed._told:
            told = self.followed._told
            assert told.wait_for(lambda: len(self.asked) == asks, PATIENCE_S)
        return self.asked

    @property
    def asked(self) -> list[str]:
        return [event.call_id for event in self.followed.of(CallAsked)]

    def refusal(self, number: int = 1) -> str:
        with self.followed._told:
            refused = self.followed.of
            told = self.followed._told
            assert told.wait_for(
                lambda: len(refused(CommandRefused)) == number, PATIENCE_S
            )
        return self.followed.of(CommandRefused)[-1].reason

    def ends(self) -> list[dict[str, Any]]:
        """Wait for its end; returns the results that went out last."""
        self.run.wait(PATIENCE_S)
        assert self.run.stopped_by == "end_turn"
        assert_the_api_takes_all(self.wire)
        results: list[dict[str, Any]] = self.wire.bodies[-1]["messages"][-1]["content"]
        return results

    def calls(self, index: int = 0) -> tuple[ToolCall, ...]:
        return self.run.transcript.iterations[index].tool_calls


def test_a_call_that_is_asked_about_runs_only_once_it_is_approved() -> None:
    asked = Asked([ADD], "3")
    (call_id,) = asked.start()
    assert asked.run.transcript.status == "asking"
    assert asked.ran == []
    asked.run.approve(call_id)
    (result,) = asked.ends()
    assert asked.ran == [("add", 1, 2)]
    assert result["content"] == "3"
    (call,) = asked.calls()
    assert (call.verdict, call.decided_by) == ("approved", "code")


def test_claude_reads_the_reason_of_a_rejected_call_which_never_runs() -> None:
    asked = Asked([ADD], "So be it.")
    (call_id,) = asked.start()
    asked.run.reject(call_id, "Use the other tool.", by="person")
    (result,) = asked.ends()
    assert result["is_error"]
    assert result["content"] == (
        "This call was not allowed, and it was not run. Use the other tool."
    )
    assert asked.ran == []
    (call,) = asked.calls()
    assert (call.status, call.reason) == ("rejected", "Use the other tool.")
    assert call.decided_by == "person"
    assert call.executed_input is None


def test_an_edited_input_runs_once_and_both_inputs_are_kept() -> None:
    asked = Asked([ADD], "30")
    (call_id,) = asked.start()
    asked.run.approve(call_id, input={"a": 10, "b": 20})
    (result,) = asked.ends()
    assert asked.ran == [("add", 10, 20)]
    assert result["content"] == "30"
    (call,) = asked.calls()
    assert call.input == {"a": 1, "b": 2}
    assert call.executed_input == {"a": 10, "b": 20}
    assert call.verdict == "modified"
    # The reply is kept as it came: what Claude proposed is what it reads again.
    assert asked.wire.bodies[1]["messages"][1]["content"][0]["input"] == call.input


def test_an_edited_input_leaves_the_reply_with_its_thinking_as_it_came() -> None:
    asked = Asked([think("Three, I think."), ADD], "It is 4.")
    (call_id,) = asked.start()
    asked.run.approve(call_id, input={"a": 2, "b": 2})
    asked.ends()
    assert asked.run.text == "It is 4."
    reply = asked.run.transcript.iterations[0].reply
    assert reply is not None
    assert asked.wire.bodies[1]["messages"][1]["content"] == reply["content"]
    assert reply["content"][0]["signature"]
    assert asked.ran == [("add", 2, 2)]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"a": "ten", "b": 2}, "`a` has to be of type integer, and is 'ten'."),
        ({"a": 1}, "`b` is required and is missing."),
        ([1, 2], "`input` has to be of type object, and is [1, 2]."),
        (None, "`input` has to be of type object, and is None."),
    ],
)
def test_an_edited_input_that_does_not_fit_is_refused_and_the_call_still_waits(
    changed: Any, why: str
) -> None:
    asked = Asked([ADD], "3")
    (call_id,) = asked.start()
    asked.run.approve(call_id, input=changed)
    expected = f"That input does not fit add: {why} The call still waits."
    assert asked.refusal() == expected
    assert asked.run.transcript.status == "asking"
    assert asked.run.transcript.refused is not None
    asked.run.approve(call_id)
    asked.ends()
    assert asked.ran == [("add", 1, 2)]


def test_calls_of_one_reply_are_decided_one_by_one_in_any_order() -> None:
    asked = Asked([ADD, MORE, use("echo", value="x")], "Done.")
    first, second, third = asked.start(asks=3)
    asked.run.reject(third, "not this")
    asked.followed.wait_for("call_decided", call_id=third)
    assert asked.run.transcript.status == "asking"
    asked.run.approve(second, input={"a": 30, "b": 40})
    asked.followed.wait_for("call_decided", call_id=second)
    assert asked.ran == []
    asked.run.approve(first)
    results = asked.ends()
    assert asked.ran == [("add", 1, 2), ("add", 30, 40)]
    assert [result["tool_use_id"] for result in results] == [first, second, third]
    assert [result.get("is_error", False) for result in results] == [False, False, True]


def test_a_person_may_think_again_until_the_call_begins() -> None:
    asked = Asked([ADD, MORE], "Done.")
    first, second = asked.start(asks=2)
    asked.run.approve(second)
    asked.run.reject(second, "after all not")
    asked.run.approve(first)
    asked.ends()
    assert asked.ran == [("add", 1, 2)]


def test_a_tool_approved_for_the_rest_of_the_run_asks_no_more() -> None:
    asked = Asked([ADD, MORE], [ADD, use("echo", value="x")], "Done.")
    first, second = asked.start(asks=2)
    asked.run.approve(first, for_rest=True)
    asked.followed.wait_for("call_asked", iteration=1)
    (echo,) = (call for call in asked.calls(1) if call.name == "echo")
    assert asked.asked == [first, second, echo.id]
    asked.run.approve(echo.id)
    asked.ends()
    assert len(asked.ran) == 4
    assert asked.run.transcript.trusted == ("add",)


def test_a_call_is_answered_by_hand_in_its_tools_place() -> None:
    asked = Asked([ADD], "42")
    (call_id,) = asked.start()
    asked.run.answer(call_id, "42")
    (result,) = asked.ends()
    assert (result["content"], result.get("is_error", False)) == ("42", False)
    assert asked.ran == []
    assert asked.calls()[0].verdict == "answered"


def test_stopping_while_someone_is_asked_leaves_a_conversation_that_goes_on() -> None:
    asked = Asked([ADD, MORE], "Going on.")
    asked.start(asks=2)
    asked.run.stop()
    asked.run.wait(PATIENCE_S)
    assert asked.run.stopped_by == "person"
    asked.run.start()
    results = asked.ends()
    assert asked.ran == []
    assert all("was not run" in result["content"] for result in results)


# -- what was decided is what runs (CASES C 27, 28) -----------------------------


def test_an_approval_of_another_input_than_the_one_proposed_does_not_count() -> None:
    asked = Asked([ADD], "3")
    (call_id,) = asked.start()
    asked.run.approve(call_id, digest=digest({"a": 1, "b": 999}))
    assert "is not the one that this decision was about" in asked.refusal()
    assert asked.ran == []
    asked.run.approve(call_id, digest=digest({"b": 2, "a": 1}))
    asked.ends()
    assert asked.ran == [("add", 1, 2)]


def test_an_approval_does_not_outlive_the_reply_that_was_dropped() -> None:
    same_id = {"id": "toolu_same"}
    asked = Asked([ADD | same_id], [use("add", a=1, b=999) | same_id], "Done.")
    asked.run.start()
    asked.followed.wait_for("call_asked", iteration=0)
    with asked.run._ledger.lock:  # both are there before the loop looks
        asked.run.approve("toolu_same")
        asked.run.retry()
    asked.followed.wait_for("call_asked", digest=digest({"a": 1, "b": 999}))
    assert asked.ran in ([], [("add", 1, 2)])
    assert asked.run.transcript.status == "asking"
    asked.run.reject("toolu_same", "no")
    asked.ends()
    assert ("add", 1, 999) not in asked.ran


def test_an_approval_given_in_the_loop_is_gone_with_the_reply_that_is_dropped() -> None:
    same_id = {"id": "toolu_same"}
    asked = Asked(
        [ADD | same_id],
        [use("add", a=1, b=999) | same_id],
        "Done.",
        approver=reject_all,
        stream=False,
    )
    for number, _ in enumerate(asked.run):
        if number == 0:
            asked.run.approve("toolu_same")
            asked.run.retry()
    assert asked.ran == []


def test_pauses_and_two_approvals_replay_nothing_and_run_each_call_once() -> None:
    asked = Asked([ADD], [MORE], "Done.")
    asked.run.pause()
    asked.run.start()
    for n, expected in enumerate([[("add", 1, 2)], [("add", 1, 2), ("add", 3, 4)]]):
        asked.run.step()
        asked.followed.wait_for("call_asked", iteration=n)
        (call,) = asked.calls(n)
        asked.run.approve(call.id)
        asked.followed.wait_for("results_finished", iteration=n)
        assert asked.ran == expected
    asked.run.resume()
    asked.ends()
    assert asked.ran == [("add", 1, 2), ("add", 3, 4)]
    assert len(asked.followed.of(CallStarted)) == 2
    assert len(asked.wire.bodies) == 3


def test_a_decision_about_a_call_that_has_run_is_refused() -> None:
    asked = Asked([ADD], [MORE], "Done.")
    (first,) = asked.start()
    asked.run.approve(first)
    asked.followed.wait_for("call_asked", iteration=1)
    asked.run.reject(first, "too late")
    assert "has no call" in asked.refusal()
    asked.run.approve(asked.asked[1])
    asked.ends()
    assert asked.calls()[0].status == "ok"


# -- approvers and rules (CASES C 30) ---------------------------------------------


def test_reject_all_lets_no_call_run_and_nobody_is_asked() -> None:
    asked = Asked([ADD], "So be it.", approver=reject_all)
    asked.run.start()
    (result,) = asked.ends()
    assert "was not allowed" in result["content"]
    assert asked.ran == []
    assert asked.asked == []


def test_rules_per_tool_decide_by_name_and_input_and_the_first_match_wins() -> None:
    rules = by_tool(
        ("echo", lambda given: given["value"] == "bad", reject_all),
        ("a*", lambda given: given["a"] > 5, lambda call: call.reject("too much")),
        {"add": approve_all, "ec*": approve_all, "*": reject_all},
    )
    asked = Asked(
        [ADD, use("add", a=9, b=1), use("echo", value="bad"), use("echo", value="ok")],
        "Done.",
        approver=rules,
    )
    asked.run.start()
    results = asked.ends()
    assert asked.ran == [("add", 1, 2), ("echo", "ok")]
    assert results[1]["content"].endswith("too much")
    decided = [event.verdict for event in asked.followed.of(CallDecided)]
    assert decided == ["approved", "rejected", "rejected", "approved"]


def test_a_call_that_no_rule_fits_is_asked_about() -> None:
    asked = Asked(
        [ADD, use("echo", value="x")], "Done.", approver=by_tool({"echo": approve_all})
    )
    (call_id,) = asked.start()
    assert asked.run.transcript.find_call(call_id)[1].name == "add"  # type: ignore[index]
    asked.run.approve(call_id)
    asked.ends()


def test_an_approver_may_put_another_input_in_place() -> None:
    asked = Asked(
        [ADD], "5", approver=lambda call: call.approve(input={**call.input, "b": 4})
    )
    asked.run.start()
    asked.ends()
    assert asked.ran == [("add", 1, 4)]
    (call,) = asked.calls()
    assert (call.verdict, call.decided_by) == ("modified", "approver")


def test_an_approver_may_stop_the_run_in_a_state_that_goes_on() -> None:
    asked = Asked([ADD, MORE], "Done.", approver=lambda call: call.stop())
    asked.run.start().wait(PATIENCE_S)
    assert asked.run.stopped_by == "person"
    asked.run.start()
    asked.ends()
    assert asked.ran == []


def broken(call: ProposedCall) -> Ruling:
    return call.input["no such"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("approver", "said"),
    [
        (broken, "The approver failed: KeyError('no such')."),
        (by_tool(("*", lambda given: given["no"], ask)), "KeyError('no')"),
        (lambda _: True, "it returned True, not call.approve()"),
        (lambda call: call.approve(input={"a": "x", "b": 2}), "`a` has to be of type"),
    ],
)
def test_an_approver_that_fails_lets_nothing_run_and_says_why(
    approver: Any, said: str
) -> None:
    asked = Asked([ADD], "So be it.", approver=approver)
    asked.run.start()
    (result,) = asked.ends()
    assert said in result["content"]
    assert asked.ran == []


def test_what_an_approver_does_to_its_call_changes_nothing() -> None:
    def meddling(call: ProposedCall) -> Ruling:
        call.input["a"] = 1_000
        return call.approve()

    asked = Asked([ADD], "3", approver=meddling)
    asked.run.start()
    asked.ends()
    assert asked.ran == [("add", 1, 2)]


@pytest.mark.parametrize("wrong", ["ask", None, True, Run])
def test_what_is_no_approver_is_refused_with_those_there_are(wrong: Any) -> None:
    with pytest.raises(NotAnApprover) as caught:
        Run(client=Wire("Hi").client, messages="?", approver=wrong)
    for name in ("approve_all", "reject_all", "ask", "by_tool({...})"):
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ((), "by_tool needs rules"),
        (("delete_*",), "A rule is a mapping"),
        (({1: ask},), "has to be a str"),
        (({"add": "ask"},), "'add' is given to of type str: 'ask'"),
        ((("add", {"a": 1}, ask),), "has to be a function of the input"),
        ((("add",),), "A rule is a mapping"),
    ],
)
def test_what_is_no_rule_is_refused_with_an_example(rules: Any, said: str) -> None:
    with pytest.raises(NotARule) as caught:
        by_tool(*rules)
    assert said in str(caught.value)


def test_by_tool_itself_is_no_approver() -> None:
    with pytest.raises(NotARule, match="needs rules"):
        checked_approver(by_tool)


# -- unknown names (CASES A 13) ----------------------------------------------------


@pytest.mark.parametrize("approver", [ask, reject_all, by_tool({"add": approve_all})])
def test_an_invented_name_is_answered_with_near_ones_whatever_rules_are_set(
    approver: Any,
) -> None:
    asked = Asked([use("ad", a=1, b=2)], "Done.", approver=approver)
    asked.run.start()
    (result,) = asked.ends()
    assert "Did you mean add?" in result["content"]
    assert asked.asked == []


# -- what cannot be gated -----------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"tools": [SEARCH]}, "web_search (server tool) runs without asking"),
        ({"mcp_servers": MCP}, "docs (MCP server) runs"),
        (
            {"tools": [SEARCH], "mcp_servers": MCP},
            "web_search (server tool), docs (MCP server) run without asking",
        ),
    ],
)
def test_tools_that_run_without_asking_are_named_before_anything_is_sent(
    given: Any, named: str
) -> None:
    wire = Wire("Hi")
    with pytest.raises(Ungated, match="allow_ungated=True") as caught:
        Run(client=wire.client, messages="?", approver=ask, **given)
    assert named in str(caught.value)
    Run(client=wire.client, messages="?", approver=ask, allow_ungated=True, **given)
    Run(client=wire.client, messages="?", **given)


@pytest.mark.parametrize("edit", [SetTools((SEARCH,)), SetParams({"mcp_servers": MCP})])
def test_an_edit_cannot_bring_in_a_tool_that_runs_without_asking(edit: Any) -> None:
    run = Run(client=Wire("Hi").client, messages="?", approver=reject_all)
    with pytest.raises(Ungated):
        run.add_tools(SEARCH)
    with pytest.raises(Ungated):
        run.submit(edit)
    with pytest.raises(Ungated):
        run.fork(edits=[edit])


@pytest.mark.parametrize(
    ("params", "hand"),
    [
        ({"tools": [SEARCH]}, "SetTools"),
        ({"system": "Be brief."}, "SetSystem"),
        ({"messages": []}, "SetMessages"),
    ],
)
def test_what_an_edit_of_its_own_changes_is_no_parameter(
    params: dict[str, Any], hand: str
) -> None:
    run = Run(client=Wire("Hi").client, messages="?", approver=reject_all)
    with pytest.raises(UnknownParameter, match=hand):
        run.submit(SetParams(params))
    with pytest.raises(UnknownParameter, match=hand):
        run.fork(edits=[SetParams(params)])


def test_a_raw_definition_that_nothing_runs_needs_no_leave() -> None:
    bash = {"type": "bash_20250124", "name": "bash"}
    Run(client=Wire("Hi").client, messages="?", approver=ask, tools=[bash])


def test_the_members_of_a_toolset_are_asked_about_as_other_tools_are() -> None:
    browser = Browser()
    wire = Wire([member("screenshot"), member("navigate"), ADD], "Seen.")
    run = Run(
        client=wire.client,
        tools=[browser, *counted_tools([])],
        messages="?",
        approver=by_tool({"nav*": reject_all, "screen*": ask, "*": approve_all}),
    )
    followed = Followed(run)
    run.start()
    followed.wait_for("call_asked")
    run.approve(run.transcript.iterations[0].tool_calls[0].id)
    run.wait(PATIENCE_S)
    assert browser.calls == ["screenshot"]
    calls = run.transcript.iterations[0].tool_calls
    assert [call.status for call in calls] == ["ok", "rejected", "ok"]
    assert_the_api_takes_all(wire)


def test_nobody_is_waited_for_about_a_member_whose_toolset_has_failed() -> None:
    # The SDK runs no later member once one has failed in the same reply.
    wire = Wire([member("navigate"), member("screenshot")], "Seen.")
    rules = by_tool({"nav*": reject_all})
    run = Run(client=wire.client, tools=[Browser()], messages="?", approver=rules)
    followed = Followed(run)
    run.wait(PATIENCE_S)
    assert run.stopped_by == "end_turn"
    after = followed.transcripts[followed.events.index(followed.of(ResultsFinished)[0])]
    assert after.status == "running"


def test_calls_side_by_side_are_decided_in_any_order_too() -> None:
    asked = Asked([ADD, MORE, use("echo", value="x")], "Done.", parallel_calls=True)
    first, second, third = asked.start(asks=3)
    asked.run.reject(third, "not this")
    asked.run.approve(second)
    # It runs at once: nothing waits for the call before it.
    asked.followed.wait_for("call_finished", call_id=second)
    assert asked.ran == [("add", 3, 4)]
    asked.run.approve(first)
    results = asked.ends()
    assert [result["tool_use_id"] for result in results] == [first, second, third]
    assert asked.ran == [("add", 3, 4), ("add", 1, 2)]
