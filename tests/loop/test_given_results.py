"""Results given by hand stand, whatever becomes of the run before they go out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from anthropic import beta_tool

from nbrunner import Run, ask
from nbrunner.core.closing import INTERRUPTED
from nbrunner.core.events import CommandRefused
from nbrunner.errors import UsageError
from nbrunner.replay import reply, use
from tests.loop.iterated import ADD, BRIEF, MORE, Ran, result
from tests.loop.steering import Followed, assert_the_api_takes_all, join, workers
from tests.loop.wire import Door, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

LINGER = use("linger")
TEXT = {"type": "text", "text": "Be brief."}


@pytest.fixture(autouse=True)
def nobody_left_behind() -> Iterator[None]:
    yield
    join(workers())


def lingering(door: Door) -> Any:
    """A tool that is inside until the test opens its door."""

    @beta_tool
    def linger() -> str:
        """Linger."""
        door.pass_through()
        return "at last"

    return linger


def handed_in(ran: Ran, *, content: Any = "by hand", **fields: Any) -> str:
    """Iterate once, hand a result in for the last call, and leave; its id."""
    for message in ran.run:
        call_id = str(message.content[-1].id)
        ran.run.append_messages(result(call_id, content, **fields))
        break
    return call_id


def gone_on(run: Run) -> list[dict[str, Any]]:
    """The results of the first reply, as they go out once the run goes on."""
    run.inject("Go on.")
    run.start().wait(20)
    assert run.stopped_by == "end_turn"
    return [b for b in run.messages[2]["content"] if b["type"] == "tool_result"]


def test_results_handed_in_stand_when_the_run_is_left_inside_another_call() -> None:
    door = Door()
    ran = Ran([LINGER, ADD], "Done.", tools=[lingering(door)])
    handed_in(ran, content="no", is_error=True)
    ran.run.start()
    door.wait_until_reached()
    ran.run.stop(now=True)
    lingers, adds = gone_on(ran.run)
    assert lingers["content"] == INTERRUPTED
    assert (adds["content"], adds["is_error"]) == ("no", True)
    door.open()
    _, call = ran.run.transcript.iterations[0].tool_calls
    assert (call.status, call.decided_by, call.is_error) == ("answered", "code", True)
    assert ran.calls == []
    assert_the_api_takes_all(ran.wire)


def test_results_handed_in_stand_in_a_fork_and_when_the_run_is_closed() -> None:
    ran = Ran([ADD, MORE], "Done.", "Done.")
    for message in ran.run:
        by_hand = result(message.content[1].id)
        by_hand["content"].append(TEXT)
        ran.run.append_messages(by_hand)
        break
    fork = ran.run.fork()
    ran.run.close()
    assert ran.run.messages[2]["content"][1:] == [
        *result(by_id(ran, 1))["content"],
        TEXT,
    ]
    for run in (fork, ran.run.fork()):
        assert run.transcript.iterations[0].tool_calls[1].status == "answered"
        assert gone_on(run)[1]["content"] == "by hand"
        assert TEXT in run.messages[2]["content"]
    assert ran.calls == []
    assert_the_api_takes_all(ran.wire)


def by_id(ran: Ran, number: int) -> str:
    return ran.run.transcript.iterations[0].tool_calls[number].id


def test_a_result_handed_in_for_a_call_that_ran_stands_when_the_run_is_closed() -> None:
    ran = Ran([ADD], "Done.")
    for message in ran.run:
        ran.run.generate_tool_call_response()
        ran.run.append_messages(result(message.content[0].id))
        break
    ran.run.close()
    (call,) = ran.run.transcript.iterations[0].tool_calls
    assert (call.returned, call.result, call.is_edited) == ("3", "by hand", True)
    assert gone_on(ran.run.fork())[0]["content"] == "by hand"


def test_results_handed_in_one_by_one_all_stand_and_the_newer_of_two_for_a_call() -> (
    None
):
    ran = Ran([ADD, MORE], "Done.")
    for message in ran.run:
        if message.stop_reason == "tool_use":
            first, second = (block.id for block in message.content)
            ran.run.append_messages(result(first, "early"))
            ran.run.append_messages(result(second, "second"))
            ran.run.append_messages(result(first, "first"), BRIEF)
    results, brief = ran.sent()[2:]
    assert [b["content"] for b in results["content"]] == ["first", "second"]
    assert brief == BRIEF
    assert ran.calls == []


def test_a_response_that_was_made_shows_what_is_handed_in_later() -> None:
    ran = Ran([ADD, MORE], "Done.")
    for message in ran.run:
        response = ran.run.generate_tool_call_response()
        if response is not None:
            response["content"].append(TEXT)
            by_hand = result(message.content[1].id)
            ran.run.append_messages(by_hand)
            second = by_hand["content"][0]
            assert response["content"][1:] == [second, TEXT]
            ran.run.append_messages(message, response)
            assert response["content"][1:] == [second, TEXT]
            assert ran.run.generate_tool_call_response() is response


def test_a_call_whose_result_was_handed_in_is_no_longer_to_be_decided_about() -> None:
    ran = Ran([ADD], "Done.")
    followed = Followed(ran.run)
    ran.run.approve(handed_in(ran))
    ran.run.until_done()
    (refused,) = followed.of(CommandRefused)
    assert "no call toolu_01 that waits" in refused.reason
    assert ran.calls == []


def test_a_result_handed_in_while_its_tool_runs_stands_for_what_it_returns() -> None:
    door = Door()
    ran = Ran([LINGER], "Done.", tools=[lingering(door)])
    for _ in ran.run:
        break
    ran.run.start()
    door.wait_until_reached()
    ran.run.append_messages(result(by_id(ran, 0)))
    door.open()
    ran.run.wait(20)
    assert ran.sent()[2]["content"][0]["content"] == "by hand"
    (call,) = ran.run.transcript.iterations[0].tool_calls
    assert call.returned == "at last"


def test_a_result_for_a_reply_that_was_left_is_refused() -> None:
    door = Door()
    ran = Ran([LINGER], "Done.", tools=[lingering(door)])
    for _ in ran.run:
        break
    ran.run.start()
    door.wait_until_reached()
    ran.run.stop(now=True)
    with pytest.raises(UsageError, match="Its calls are: none"):
        ran.run.append_messages(result(by_id(ran, 0)))
    door.open()


@pytest.mark.parametrize("is_heard", [True, False])
def test_what_a_person_answered_stands_when_the_run_is_left_inside_another_call(
    *, is_heard: bool
) -> None:
    door = Door()
    wire = Wire([LINGER, LINGER], "Done.")
    run = Run(client=wire.client, tools=[lingering(door)], messages="?", approver=ask)
    followed = Followed(run)
    run.start()
    followed.wait_for("call_asked", call_id="toolu_02")
    if is_heard:
        run.answer("toolu_02", "no", is_error=True)
        followed.wait_for("call_decided", call_id="toolu_02")
    run.approve("toolu_01")
    door.wait_until_reached()
    if not is_heard:
        run.answer("toolu_02", "no", is_error=True)
    run.stop(now=True)
    lingers, answered = gone_on(run)
    door.open()
    assert lingers["content"] == INTERRUPTED
    assert (answered["content"], answered["is_error"]) == ("no", True)
    assert run.transcript.iterations[0].tool_calls[1].verdict == "answered"
    assert_the_api_takes_all(wire)


def test_an_answer_to_a_call_that_was_cut_off_is_refused_and_not_lost() -> None:
    wire = Wire(reply(ADD, stop_reason="max_tokens"), "Done.")
    run = Run(client=wire.client, messages="?")
    followed = Followed(run)
    run.start().wait(20)
    run.answer("toolu_01", "3")
    run.inject("Go on.")
    run.start().wait(20)
    (refused,) = followed.of(CommandRefused)
    assert "no call toolu_01 that waits" in refused.reason
