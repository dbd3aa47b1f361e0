"""Pause, step, messages and edits from another thread, while the loop is at work."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import beta_tool

from nbrunner import EditResult, Run, SetParams, SetSystem, SetTools, ToggleCache
from nbrunner.core.caching import Mark
from nbrunner.core.commands import Retry
from nbrunner.core.events import (
    CommandRefused,
    EditApplied,
    EditRefused,
    Halted,
    IterationStarted,
    Resumed,
)
from nbrunner.errors import UnknownTool, UsageError
from nbrunner.replay import fail, reply, say, use
from tests.loop.api_rules import marks
from tests.loop.steering import (
    Followed,
    assert_the_api_takes_all,
    in_another_thread,
    join,
    workers,
)
from tests.loop.toolkit import MARK, counted_tools
from tests.loop.wire import Door, Wire

ADD = use("add", a=1, b=2)
TEN = "one two three four five six seven eight nine ten"
SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "weather"},
}
NOTE = {"type": "text", "text": "Be brief."}

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


def doored(door: Door) -> Any:
    @beta_tool
    def linger() -> str:
        """Linger."""
        door.pass_through()
        return "at last"

    return linger


def kinds(content: list[Any]) -> list[str]:
    return [block["type"] for block in content]


# -- messages -----------------------------------------------------------------


@both_ways
def test_a_message_lands_behind_the_results_in_the_same_user_message(
    *,
    stream: bool,
) -> None:
    calls: list[Any] = []
    door = Door()
    wire = Wire([ADD, use("linger"), ADD], [ADD], "3")
    run = Run(
        client=wire.client,
        tools=[doored(door), *counted_tools(calls)],
        messages="?",
        stream=stream,
    )
    run.start()
    door.wait_until_reached()
    in_another_thread(lambda: run.inject("Be brief."))
    door.open()
    run.wait(20)
    content = wire.bodies[1]["messages"][-1]["content"]
    assert kinds(content) == ["tool_result", "tool_result", "tool_result", "text"]
    assert content[-1] == NOTE
    assert wire.bodies[2]["messages"][2]["content"] == content
    assert len(calls) == 3
    assert [i.injected for i in run.transcript.iterations] == [(), ("Be brief.",), ()]
    assert run.transcript.waiting == ()
    assert_the_api_takes_all(wire)


def test_messages_go_out_in_the_order_they_came() -> None:
    door = Door()
    wire = Wire([use("linger")], "Done.")
    run = Run(client=wire.client, tools=[doored(door)], messages="?")
    run.start()
    door.wait_until_reached()
    for text in ("one", "two", "three"):
        run.inject(text)
    door.open()
    run.wait(20)
    texts = [b.get("text") for b in wire.bodies[1]["messages"][-1]["content"]]
    assert texts == [None, "one", "two", "three"]


def test_a_message_taken_back_is_not_sent_and_one_that_is_out_stays() -> None:
    door = Door()
    wire = Wire([use("linger")], "Done.")
    run = Run(client=wire.client, tools=[doored(door)], messages="?")
    run.start()
    door.wait_until_reached()
    first, second = run.inject("one"), run.inject("two")
    assert first.withdraw() is True
    assert first.withdraw() is False
    door.open()
    run.wait(20)
    assert wire.bodies[1]["messages"][-1]["content"][1:] == [say("two")]
    assert second.withdraw() is False
    assert "two" in repr(second)


def test_an_edit_taken_back_while_it_waits_is_not_made_and_one_that_is_made_stays() -> (
    None
):
    door = Door()
    wire = Wire([use("linger")], "Done.")
    run = Run(client=wire.client, tools=[doored(door)], messages="?", max_tokens=9)
    before = run.submit(SetSystem("Be brief."))
    run.start()
    door.wait_until_reached()
    edits = [run.submit(SetParams(max_tokens=n)) for n in (10, 11, 12)]
    waiting = [submit.edit_id for submit in run.transcript.submitted]
    assert waiting == [edit.id for edit in edits]
    assert edits[2].withdraw()
    assert edits[1].withdraw()
    assert not edits[1].withdraw()
    assert not before.withdraw()
    door.open()
    run.wait(20)
    assert [body["max_tokens"] for body in wire.bodies] == [9, 10]
    assert wire.bodies[1]["system"] == "Be brief."
    assert not edits[0].withdraw()
    assert not run.withdraw("edit_0")


def test_an_edit_of_a_result_that_waits_for_the_results_is_taken_back_too() -> None:
    door = Door()
    wire = Wire([ADD, use("linger")], "Done.")
    run = Run(
        client=wire.client, tools=[doored(door), *counted_tools([])], messages="?"
    )
    followed = Followed(run)
    run.start()
    door.wait_until_reached()
    kept, other = (run.submit(EditResult("toolu_01", text)) for text in ("4", "5"))
    run.pause()
    assert other.withdraw()
    door.open()
    followed.wait_for("halted")
    run.resume()
    run.wait(20)
    assert not kept.withdraw()
    assert wire.bodies[1]["messages"][-1]["content"][0]["content"] == "4"


@pytest.mark.parametrize("withdrawn", [False, True])
def test_at_the_end_an_edit_that_was_taken_back_is_not_refused_either(
    *, withdrawn: bool
) -> None:
    door, edits = Door(), []
    wire = Wire([ADD, use("linger")], "Done.")
    run = Run(
        client=wire.client, tools=[doored(door), *counted_tools([])], messages="?"
    )

    def ask(event: Any, _: Any) -> None:
        if event.kind == "reply_finished":
            edits.append(run.submit(EditResult("toolu_01", "4")))

    run.subscribe(ask)
    run.start()
    door.wait_until_reached()
    assert [edit.withdraw() for edit in edits if withdrawn] == [True] * withdrawn
    run.stop(now=True)
    assert (run.transcript.refused is None) is withdrawn
    assert run.transcript.asked == ()
    door.open()
    join(workers())


def test_a_choice_of_a_tool_that_claude_does_not_have_is_refused_at_once() -> None:
    wire = Wire([ADD], "3")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    choice = {"type": "tool", "name": "ad"}
    with pytest.raises(UnknownTool, match=r"tool_choice ad: .* Did you mean add\?"):
        run.submit(SetParams(tool_choice=choice))
    with pytest.raises(UnknownTool, match="tool_choice ad"):
        run.fork(edits=[SetParams(tool_choice=choice)])
    run.remove_tools("add")
    with pytest.raises(UnknownTool, match="tool_choice add"):
        run.submit(SetParams(tool_choice={"type": "tool", "name": "add"}))
    assert not [s for s in run.transcript.submitted if isinstance(s.edit, SetParams)]
    run.submit(SetTools([{"name": "ad"}]))
    run.submit(SetParams(tool_choice=choice))
    run.wait(20)
    assert wire.bodies[0]["tool_choice"] == choice


def test_a_choice_is_not_refused_where_a_toolset_may_have_the_tool() -> None:
    wire = Wire("x")
    browser = {"type": "browser_toolset_20260801"}
    run = Run(client=wire.client, tools=[browser], messages="?")
    run.submit(SetParams(tool_choice={"type": "tool", "name": "click"}))
    run.wait(20)
    assert wire.bodies[0]["tool_choice"]["name"] == "click"


def test_a_waiting_edit_says_what_it_is_without_a_secret() -> None:
    run = Run(client=Wire("x").client, messages="?")
    edit = run.submit(SetSystem(f"The key is sk-ant-api03-{'a' * 40}."))
    assert repr(edit).startswith(f"<WaitingEdit {edit.id}: SetSystem(")
    assert "aaaa" not in repr(edit)


def test_a_message_waits_while_a_reply_is_paused_by_the_api() -> None:
    wire = Wire(
        reply(SEARCH, stop_reason="pause_turn"),
        reply(say("More."), SEARCH, stop_reason="pause_turn"),
        [say("So."), ADD],
        "3",
    )
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")

    def inject(event: Any, _: Any) -> None:
        if event.kind == "iteration_started" and event.iteration == 0:
            run.inject("Be brief.")

    run.subscribe(inject)
    run.wait(20)
    assert [body["messages"][-1]["role"] for body in wire.bodies] == [
        "user",
        "assistant",
        "assistant",
        "user",
    ]
    assert kinds(wire.bodies[3]["messages"][-1]["content"]) == ["tool_result", "text"]


def test_a_message_waits_for_the_retry_of_a_reply_paused_by_the_api_too() -> None:
    wire = Wire(reply(SEARCH, stop_reason="pause_turn"), fail(529), "So.", "Brief.")
    run = Run(client=wire.client, messages="?")
    run.wait(20)
    run.inject("Be brief.")
    run.retry()
    run.wait(20)
    assert wire.bodies[2] == wire.bodies[1]
    assert wire.bodies[3]["messages"][-1] == {"role": "user", "content": [NOTE]}
    assert run.text == "Brief."


def test_a_message_during_the_final_reply_goes_out_in_the_same_run() -> None:
    door = Door()
    wire = Wire(TEN, "Brief.", doors={(0, 5): door})
    run = Run(client=wire.client, messages="?")
    run.start()
    door.wait_until_reached()
    run.inject("Be brief.")
    door.open()
    run.wait(20)
    assert run.text == "Brief."
    assert [m["role"] for m in run.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


def test_a_message_after_the_end_goes_out_with_the_next_start() -> None:
    wire = Wire("One.", "Two.")
    run = Run(client=wire.client, messages="?")
    run.wait(20)
    run.inject("And?")
    assert len(wire.bodies) == 1
    run.resume()
    run.wait(20)
    assert run.text == "Two."
    assert wire.bodies[1]["messages"][1:] == [
        {"role": "assistant", "content": [say("One.")]},
        {"role": "user", "content": [say("And?")]},
    ]


def test_a_message_before_the_start_goes_out_with_the_first_request() -> None:
    wire = Wire("One.")
    run = Run(client=wire.client, messages="?")
    run.inject("Be brief.")
    run.wait(20)
    assert_the_api_takes_all(wire)
    assert wire.bodies[0]["messages"][-1]["content"] == [NOTE]


@pytest.mark.parametrize("reason", ["max_tokens", "end_turn", "refusal"])
def test_a_call_that_was_never_run_is_closed_before_the_follow_up(reason: str) -> None:
    calls: list[Any] = []
    wire = Wire(reply(say("So"), ADD, ADD, stop_reason=reason), "Brief.")
    run = Run(client=wire.client, tools=counted_tools(calls), messages="?")
    run.wait(20)
    assert run.stopped_by == reason
    run.inject("Be brief.")
    run.start().wait(20)
    content = wire.bodies[1]["messages"][-1]["content"]
    assert kinds(content) == ["tool_result", "tool_result", "text"]
    why = f"This call was cut off and not run: the reply ended with {reason}."
    assert [block["content"] for block in content[:2]] == [why, why]
    assert calls == []
    assert_the_api_takes_all(wire)


def test_a_follow_up_to_an_empty_reply_is_valid() -> None:
    wire = Wire([ADD], [], "Done.")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    run.wait(20)
    run.inject("Well?")
    run.start().wait(20)
    assert run.text == "Done."
    assert_the_api_takes_all(wire)


def test_a_message_with_half_a_character_is_mended_before_it_is_sent() -> None:
    wire = Wire("One.", "Two.")
    run = Run(client=wire.client, messages="?")
    run.wait(20)
    run.inject("half \ud83d")
    run.start().wait(20)
    assert run.text == "Two."
    assert_the_api_takes_all(wire)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_message_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="there is nothing to send"):
        Run(client=Wire().client, messages="?").inject(text)


def test_after_max_iterations_the_run_goes_on_without_running_a_call_again() -> None:
    calls: list[Any] = []
    wire = Wire([ADD], [ADD], [ADD], "3")
    run = Run(
        client=wire.client,
        tools=counted_tools(calls),
        messages="?",
        max_iterations=2,
    )
    run.wait(20)
    assert (run.stopped_by, len(wire.bodies), len(calls)) == ("max_iterations", 2, 2)
    run.start().wait(20)
    assert (run.stopped_by, len(wire.bodies), len(calls)) == ("end_turn", 4, 3)


# -- pause, resume, step --------------------------------------------------------


@both_ways
def test_pause_halts_before_the_next_request_and_resume_goes_on(
    *, stream: bool
) -> None:
    door = Door()
    wire = Wire([use("linger")], "Done.")
    run = Run(client=wire.client, tools=[doored(door)], messages="?", stream=stream)
    followed = Followed(run)
    run.start()
    door.wait_until_reached()
    in_another_thread(run.pause)
    door.open()
    followed.wait_for("halted", why="paused")
    assert run.transcript.status == "paused"
    assert run.transcript.asked == ()
    assert len(wire.bodies) == 1
    in_another_thread(run.resume)
    run.wait(20)
    assert run.stopped_by == "end_turn"
    assert len(followed.of(Halted)) == len(followed.of(Resumed)) == 1


def test_step_does_one_iteration_each_and_the_last_can_be_followed_up() -> None:
    wire = Wire([ADD], [ADD], "3", "Again 3.")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    followed = Followed(run)
    for requests in (1, 2, 3):
        in_another_thread(run.step)
        followed.wait_for("halted", why="paused")
        followed.events.clear()
        assert len(wire.bodies) == requests
        assert run.is_running
    run.inject("Sure?")
    run.resume()
    run.wait(20)
    assert run.text == "Again 3."


def test_resume_in_the_middle_of_a_step_goes_on_to_the_end() -> None:
    door = Door()
    wire = Wire([use("linger")], "Done.")
    run = Run(client=wire.client, tools=[doored(door)], messages="?")
    run.step()
    door.wait_until_reached()
    run.resume()
    door.open()
    run.wait(20)
    assert run.stopped_by == "end_turn"


def test_a_paused_run_can_be_stopped() -> None:
    wire = Wire([ADD], "Done.")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    followed = Followed(run)
    run.step()
    followed.wait_for("halted", why="paused")
    in_another_thread(run.stop)
    run.wait(20)
    assert run.stopped_by == "person"
    run.start().wait(20)
    assert run.text == "Done."


def test_a_run_at_work_cannot_be_started_again() -> None:
    door = Door()
    run = Run(
        client=Wire([use("linger")], "x").client, tools=[doored(door)], messages="?"
    )
    run.start()
    door.wait_until_reached()
    with pytest.raises(UsageError, match="run is running already"):
        run.start()
    door.open()
    run.wait(20)


def test_a_run_asked_to_go_on_from_a_listener_of_its_end_goes_on() -> None:
    wire = Wire("One.", "Two.")
    run = Run(client=wire.client, messages="?")

    def go_on(event: Any, _: Any) -> None:
        if event.kind == "run_finished" and len(wire.bodies) == 1:
            run.inject("And?")
            run.resume()

    run.subscribe(go_on)
    run.start()
    while working := workers():
        join(working)
    assert run.text == "Two."
    assert run.stopped_by == "end_turn"


def test_a_listener_that_asks_something_is_told_of_it_after_what_it_heard() -> None:
    run = Run(client=Wire([ADD], "3").client, tools=counted_tools([]), messages="?")

    def ask(event: Any, _: Any) -> None:
        if event.kind == "call_finished":
            run.inject("Be brief.")

    run.subscribe(ask)
    followed = Followed(run)
    run.wait(20)
    told = [event.kind for event in followed.events]
    assert told.index("asked") == told.index("call_finished") + 1
    waiting = [len(transcript.waiting) for transcript in followed.transcripts]
    assert waiting[told.index("call_finished")] == 0
    assert waiting[told.index("asked")] == 1


def test_a_listener_that_fails_or_unsubscribes_disturbs_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = Run(client=Wire("One.").client, messages="?")

    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    heard: list[Any] = []
    run.subscribe(broken)
    unsubscribe = run.subscribe(lambda event, _: heard.append(event))
    unsubscribe()
    unsubscribe()
    followed = Followed(run)
    run.wait(20)
    assert run.text == "One."
    assert heard == []
    assert len(caplog.records) == len(followed.events)


# -- cache marks ---------------------------------------------------------------


@both_ways
def test_a_toggle_marks_that_result_in_the_very_next_request(*, stream: bool) -> None:
    door = Door()
    wire = Wire([ADD, ADD], [use("linger")], "Done.", "Again.")
    run = Run(
        client=wire.client,
        tools=[doored(door), *counted_tools([])],
        messages="?",
        stream=stream,
    )
    run.start()
    door.wait_until_reached()
    in_another_thread(lambda: run.submit(ToggleCache("toolu_02"), by="person"))
    door.open()
    run.wait(20)
    assert [marks(body["messages"]) for body in wire.bodies] == [
        [],
        [],
        ["body[2].content[1]"],
    ]
    block = wire.bodies[2]["messages"][2]["content"][1]
    assert block["tool_use_id"] == "toolu_02"
    assert block["cache_control"] == MARK
    assert run.transcript.marks == (Mark("toolu_02"),)

    run.submit(ToggleCache("toolu_02"), by="person")
    run.inject("Again?")
    run.start().wait(20)
    assert marks(wire.bodies[3]["messages"]) == []
    assert run.transcript.marks == ()
    assert_the_api_takes_all(wire)


def test_marks_asked_for_before_the_start_go_out_with_the_first_request() -> None:
    wire = Wire([ADD], "Done.")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?", system="Hi.")
    for place in ("system", "tools", "messages[0].content[0]"):
        run.submit(ToggleCache(place))
    run.wait(20)
    for body in wire.bodies:
        assert body["system"][-1]["cache_control"] == MARK
        assert body["tools"][-1]["cache_control"] == MARK
        assert marks(body["messages"]) == ["body[0].content[0]"]
    assert_the_api_takes_all(wire)


@both_ways
def test_a_result_can_be_marked_while_the_calls_beside_it_still_run(
    *,
    stream: bool,
) -> None:
    door = Door()
    wire = Wire([ADD, use("linger"), ADD], "Done.")
    run = Run(
        client=wire.client,
        tools=[doored(door), *counted_tools([])],
        messages="?",
        stream=stream,
    )
    followed = Followed(run)
    run.start()
    door.wait_until_reached()
    in_another_thread(lambda: run.submit(ToggleCache("toolu_01"), by="person"))
    door.open()
    run.wait(20)
    assert marks(wire.bodies[1]["messages"]) == ["body[2].content[0]"]
    assert followed.of(EditRefused) == []


def four_results() -> tuple[Wire, Run]:
    wire = Wire([ADD] * 6, "3", "Again.")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    run.wait(20)
    return wire, run


def test_a_fifth_mark_by_click_is_refused_with_the_reason() -> None:
    wire, run = four_results()
    followed = Followed(run)
    for number in range(1, 6):
        run.submit(ToggleCache(f"toolu_0{number}"), by="person")
    run.inject("Again?")
    run.start().wait(20)
    (refused,) = followed.of(EditRefused)
    assert refused.edit == ToggleCache("toolu_05")
    assert refused.reason == (
        "All 4 cache marks that the API allows are set (messages[2].content[0], "
        "messages[2].content[1], messages[2].content[2], messages[2].content[3]). "
        "Take one off first."
    )
    assert len(marks(wire.bodies[2])) == 4
    assert len(followed.of(EditApplied)) == 4


def test_a_fifth_mark_by_code_makes_the_oldest_of_the_messages_give_way() -> None:
    wire, run = four_results()
    followed = Followed(run)
    for number in range(1, 6):
        run.submit(ToggleCache(f"toolu_0{number}"))
    run.inject("Again?")
    run.start().wait(20)
    assert marks(wire.bodies[2]) == [
        f"body.messages[2].content[{number}]" for number in range(1, 5)
    ]
    (started,) = followed.of(IterationStarted)
    assert started.dropped_marks == ("messages[2].content[0]",)
    assert run.transcript.iterations[-1].dropped_marks == started.dropped_marks
    assert_the_api_takes_all(wire)


def test_marks_that_tools_return_give_way_too() -> None:
    gift = use("give", what="a marked text")
    wire = Wire([gift] * 6, "m")
    run = Run(
        client=wire.client,
        tools=counted_tools([]),
        messages="?",
        system=[{"type": "text", "text": "Be brief.", "cache_control": MARK}],
    )
    run.wait(20)
    assert run.stopped_by == "end_turn"
    assert marks(wire.bodies[1]["messages"]) == [
        f"body[2].content[{number}].content[0]" for number in (3, 4, 5)
    ]
    assert run.transcript.iterations[1].dropped_marks == tuple(
        f"messages[2].content[{number}].content[0]" for number in (0, 1, 2)
    )
    assert_the_api_takes_all(wire)


def test_an_edit_of_what_is_no_part_of_the_conversation_is_refused() -> None:
    wire = Wire([ADD], "3")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    run.submit(ToggleCache("toolu_99"), by="person")
    assert len(run.transcript.asked) == 1
    followed = Followed(run)
    run.wait(20)
    (refused,) = followed.of(EditRefused)
    assert refused.reason.startswith("toolu_99 has no result in the conversation")
    assert run.transcript.asked == ()


def test_an_edit_during_the_last_reply_is_made_before_the_run_ends() -> None:
    door = Door()
    wire = Wire([ADD], TEN, "Again.", doors={(1, 8): door})
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    run.start()
    door.wait_until_reached()
    run.submit(ToggleCache("toolu_01"))
    door.open()
    run.wait(20)
    assert run.transcript.marks == (Mark("toolu_01"),)
    assert run.transcript.asked == ()


def test_an_edit_that_waits_when_a_run_is_left_is_made_for_the_next_start() -> None:
    door = Door()
    wire = Wire([ADD], [use("linger")], "Done.")
    run = Run(
        client=wire.client, tools=[doored(door), *counted_tools([])], messages="?"
    )
    run.start()
    door.wait_until_reached()
    run.pause()
    run.submit(ToggleCache("toolu_01"))
    run.stop(now=True)
    assert run.transcript.marks == (Mark("toolu_01"),)
    assert run.transcript.asked == ()
    run.start().wait(20)
    assert run.stopped_by == "end_turn"
    assert marks(wire.bodies[2]["messages"]) == ["body[2].content[0]"]
    door.open()
    join(workers())


def test_a_call_id_that_comes_back_in_a_later_reply_is_another_call() -> None:
    calls: list[Any] = []
    again = {**ADD, "id": "call_0"}
    wire = Wire([again], [{**again, "input": {"a": 2, "b": 2}}], "4")
    run = Run(client=wire.client, tools=counted_tools(calls), messages="?")
    run.wait(20)
    assert calls == [("add", 1, 2), ("add", 2, 2)]
    results = [i.tool_calls[0].result for i in run.transcript.iterations[:2]]
    assert results == ["3", "4"]
    found = run.transcript.find_call("call_0")
    assert found is not None
    assert found[0].index == 1
    assert run.transcript.find_call("call_1") is None
    assert_the_api_takes_all(wire)


def test_two_calls_of_one_reply_with_one_id_are_not_sent_back() -> None:
    wire = Wire([{**ADD, "id": "call_0"}, {**ADD, "id": "call_0"}], "3")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    run.wait(20)
    (failure,) = run.transcript.iterations[1].failures
    assert failure.kind == "history"
    assert "a second tool_result for call_0" in failure.message
    assert len(wire.bodies) == 1


def test_a_command_refused_is_told_with_its_reason() -> None:
    run = Run(client=Wire().client, messages="?")
    followed = Followed(run)
    run.retry()
    (refused,) = followed.of(CommandRefused)
    assert refused.command == Retry()


def test_a_pause_right_behind_a_resume_halts_the_run_once_more() -> None:
    wire = Wire("Done.")
    run = Run(client=wire.client, messages="?")
    followed = Followed(run)

    def waver(event: Any, _: Any) -> None:
        if isinstance(event, Halted):
            run.resume()
            if len(followed.of(Halted)) == 1:
                run.pause()

    run.subscribe(waver)
    run.pause()
    run.wait(20)
    assert len(followed.of(Halted)) == 2
    assert run.text == "Done."


def test_an_edit_of_what_a_call_that_was_cut_off_never_returned_is_refused() -> None:
    wire = Wire(reply(ADD, stop_reason="max_tokens"), "Sorry.")
    run = Run(client=wire.client, tools=counted_tools([]), messages="?")
    run.wait(20)
    run.inject("Again.")
    followed = Followed(run)
    edit = EditResult("toolu_01", "3")
    run.submit(edit)
    run.start().wait(20)
    assert [event.edit for event in followed.of(EditRefused)] == [edit]
    assert run.text == "Sorry."
    assert_the_api_takes_all(wire)


def test_a_result_that_is_an_error_is_not_edited_into_silence() -> None:
    calls: list[Any] = []
    wire = Wire([use("fail", how="plainly")], "Done.")
    run = Run(client=wire.client, tools=counted_tools(calls), messages="?")
    followed = Followed(run)
    for _ in run:
        run.generate_tool_call_response()
        run.submit(EditResult("toolu_01", ""))
    refused, *_ = followed.of(EditRefused)
    assert "is an error, and the API takes none without a text" in refused.reason
    assert_the_api_takes_all(wire)
