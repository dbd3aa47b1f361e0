"""What the user's own loop does to the conversation and to results."""

from __future__ import annotations

import pytest

from nbrunner.errors import (
    UsageError,
)
from nbrunner.replay import reply
from tests.loop.iterated import (
    ADD,
    BRIEF,
    FAIL,
    MORE,
    Ran,
    both_ways,
    message_of,
    result,
)


@both_ways
def test_a_message_appended_alone_keeps_the_reply_and_its_results(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        if len(ran.bodies) == 1:
            ran.run.append_messages(BRIEF)
    question, _, results, brief = ran.sent()
    assert (question["content"], brief) == ("1 + 2?", BRIEF)
    assert results["content"][0]["content"] == "3"
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_append_without_arguments_drops_the_reply_and_runs_no_tool(
    *, stream: bool
) -> None:
    ran = Ran([ADD], [MORE], "Done.", stream=stream)
    for item in ran.run:
        message_of(item)
        if len(ran.bodies) == 1:
            ran.run.append_messages()
    assert ran.bodies[0] == ran.bodies[1]
    assert ran.calls == [("add", 3, 4)]
    (dropped,) = ran.run.transcript.iterations[0].dropped
    assert dropped.reply["content"][0]["input"] == {"a": 1, "b": 2}


@both_ways
def test_a_final_reply_can_be_dropped_and_asked_for_again(*, stream: bool) -> None:
    ran = Ran("Four.", "Three.", stream=stream)
    for item in ran.run:
        if message_of(item).content[0].text == "Four.":
            ran.run.append_messages()
    assert ran.run.messages[-1]["content"][0]["text"] == "Three."
    assert ran.bodies[0] == ran.bodies[1]
    ran = Ran("Four.", "Three.", stream=stream)
    ran.run.until_done()
    ran.run.append_messages()
    assert list(ran.texts()) == ["Three."]


@both_ways
def test_results_made_by_hand_stand_and_their_tools_do_not_run(*, stream: bool) -> None:
    ran = Ran([ADD, MORE], "Done.", stream=stream)
    for item in ran.run:
        if len(ran.bodies) == 1:
            message = message_of(item)
            ran.run.append_messages(message, result(message.content[0].id))
    by_hand, by_tool = ran.sent()[2]["content"]
    assert (by_hand["content"], by_tool["content"]) == ("by hand", "7")
    assert ran.calls == [("add", 3, 4)]
    first, _ = ran.run.transcript.iterations[0].tool_calls
    assert (first.status, first.decided_by) == ("answered", "code")


@both_ways
def test_results_made_by_hand_are_those_that_the_response_has_too(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for item in ran.run:
        if len(ran.bodies) == 1:
            call_id = message_of(item).content[0].id
            ran.run.append_messages(result(call_id, is_error=True))
            response = ran.run.generate_tool_call_response()
            assert response == result(call_id, is_error=True)
    assert ran.sent()[2] == response
    assert ran.calls == []


@both_ways
def test_a_result_made_by_hand_for_a_call_that_was_cut_off_is_refused_and_not_lost(
    *, stream: bool
) -> None:
    ran = Ran(reply(ADD, stop_reason="max_tokens"), stream=stream)
    item = next(iter(ran.run))
    call_id = message_of(item).content[0].id
    result = {"type": "tool_result", "tool_use_id": call_id, "content": "3"}
    with pytest.raises(UsageError, match="ended with max_tokens: that call may be"):
        ran.run.append_messages({"role": "user", "content": [result]})
    assert not ran.run.transcript.waiting


def test_what_stands_behind_results_made_by_hand_goes_out_with_them() -> None:
    ran = Ran([ADD], "Done.")
    text = {"type": "text", "text": "Be brief."}
    for message in ran.run:
        if message.stop_reason == "tool_use":
            by_hand = result(message.content[0].id)
            by_hand["content"].append(text)
            ran.run.append_messages(message, by_hand)
    assert ran.sent()[2]["content"][1] == text


def test_a_result_for_a_call_that_nobody_made_is_refused() -> None:
    ran = Ran([ADD], "Done.")
    for _ in ran.run:
        if len(ran.bodies) == 1:
            with pytest.raises(UsageError, match="Its calls are: toolu_01"):
                ran.run.append_messages(result("toolu_99"))
    assert ran.calls == [("add", 1, 2)]


def test_another_reply_than_the_one_in_hand_is_refused() -> None:
    ran = Ran([ADD], "Done.")
    for _ in ran.run:
        with pytest.raises(UsageError, match="not the reply in hand"):
            ran.run.append_messages({"role": "assistant", "content": "I was here."})
    assert [len(body["messages"]) for body in ran.bodies] == [1, 3]


def test_messages_appended_before_anything_was_asked_are_history() -> None:
    ran = Ran("Done.")
    said = {"role": "assistant", "content": "Three."}
    ran.run.append_messages(said, {"role": "user", "content": "Sure?"})
    ran.run.until_done()
    assert [m["content"] for m in ran.sent()] == ["1 + 2?", "Three.", "Sure?"]


@both_ways
def test_the_response_is_made_once_and_changes_in_place_go_out(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    assert ran.run.generate_tool_call_response() is None
    for _ in ran.run:
        response = ran.run.generate_tool_call_response()
        if response is not None:
            assert ran.run.generate_tool_call_response() is response
            response["content"][0]["cache_control"] = {"type": "ephemeral"}
            response["content"].append({"type": "text", "text": "Be brief."})
    assert ran.run.generate_tool_call_response() is None
    marked, text = ran.sent()[2]["content"]
    assert marked["cache_control"] == {"type": "ephemeral"}
    assert text == {"type": "text", "text": "Be brief."}
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_a_response_handed_back_changed_goes_out_and_both_texts_are_kept(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for item in ran.run:
        response = ran.run.generate_tool_call_response()
        if response is not None:
            changed = {**response["content"][0], "content": "CHANGED"}
            ran.run.append_messages(
                message_of(item), {**response, "content": [changed]}
            )
    assert ran.sent()[2]["content"][0]["content"] == "CHANGED"
    (call,) = ran.run.transcript.iterations[0].tool_calls
    assert (call.returned, call.result, call.is_edited) == ("3", "CHANGED", True)
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_an_error_can_be_made_none_before_claude_reads_it(*, stream: bool) -> None:
    ran = Ran([FAIL], "Done.", stream=stream)
    for _ in ran.run:
        response = ran.run.generate_tool_call_response()
        for block in response["content"] if response else ():
            assert block.pop("is_error")
            block["content"] = "Nothing found."
    (block,) = ran.sent()[2]["content"]
    assert (block["content"], block.get("is_error")) == ("Nothing found.", None)
    (call,) = ran.run.transcript.iterations[0].tool_calls
    assert not call.is_error
    assert "ValueError" in call.traceback


@both_ways
def test_a_reply_cut_off_inside_a_call_has_no_response(*, stream: bool) -> None:
    ran = Ran(reply(ADD, stop_reason="max_tokens"), stream=stream)
    for _ in ran.run:
        assert ran.run.generate_tool_call_response() is None
    assert (ran.calls, ran.run.stopped_by) == ([], "max_tokens")


@both_ways
def test_an_input_edited_in_the_message_is_what_the_tool_gets_and_the_reply_stays(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for item in ran.run:
        message = message_of(item)
        if message.stop_reason == "tool_use":
            message.content[0].input = {"a": 10, "b": 20}
    assert ran.calls == [("add", 10, 20)]
    assert ran.sent()[1]["content"][0]["input"] == {"a": 1, "b": 2}
    (call,) = ran.run.transcript.iterations[0].tool_calls
    assert (call.input, call.executed_input) == ({"a": 1, "b": 2}, {"a": 10, "b": 20})


@both_ways
def test_a_fifth_mark_makes_the_oldest_give_way(*, stream: bool) -> None:
    ran = Ran(*[[ADD]] * 5, "Done.", stream=stream)
    for _ in ran.run:
        response = ran.run.generate_tool_call_response()
        for block in response["content"] if response else ():
            block["cache_control"] = {"type": "ephemeral"}
    assert [str(body).count("cache_control") for body in ran.bodies] == [
        0,
        1,
        2,
        3,
        4,
        4,
    ]
    last = ran.run.transcript.iterations[-1]
    assert last.dropped_marks == ("messages[2].content[0]",)
