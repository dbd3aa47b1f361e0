"""The user's own `for message in run:`, in their own thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from anthropic import beta_tool

from nbrunner import Run, SetParams, tool_runner
from nbrunner.core.events import CallStarted
from nbrunner.errors import ReplyStopped, UnknownParameter, UsageError
from nbrunner.replay import fail, say, think, use
from tests.loop.steering import Followed, assert_the_api_takes_all, in_another_thread
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

ADD = use("add", a=1, b=2)
MORE = use("add", a=3, b=4)
FAIL = use("fail", how="plainly")
BRIEF = {"role": "user", "content": "Be brief."}

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


class Ran:
    """A run over a wire, and the calls that its tools saw."""

    def __init__(self, *replies: Any, stream: bool = False, **params: Any) -> None:
        self.calls: list[Any] = []
        self.wire = Wire(*replies)
        given = {"messages": [{"role": "user", "content": "1 + 2?"}], **params}
        tools = [*counted_tools(self.calls), *given.pop("tools", ())]
        self.run = tool_runner(
            self.wire.client,
            model="claude-opus-5",
            max_tokens=100,
            tools=tools,
            stream=stream,
            **given,
        )

    @property
    def bodies(self) -> list[dict[str, Any]]:
        assert_the_api_takes_all(self.wire)
        return self.wire.bodies

    def sent(self, request: int = -1) -> list[Any]:
        messages: list[Any] = self.bodies[request]["messages"]
        return messages

    def texts(self) -> Iterator[str]:
        """The text of each message of a loop, read to the end where it streams."""
        for item in self.run:
            yield message_of(item).content[-1].to_dict().get("text", "call")


def message_of(item: Any) -> Any:
    return item.get_final_message() if hasattr(item, "text_stream") else item


def result(call_id: str, content: Any = "by hand", **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {"role": "user", "content": [{**block, **fields}]}


# -- iterating ---------------------------------------------------------------


@both_ways
def test_a_loop_that_reads_nothing_of_its_items_runs_to_the_end(*, stream: bool) -> None:
    ran = Ran([ADD], [MORE], "Done.", stream=stream)
    assert len([item for item in ran.run]) == 3  # noqa: C416 - read by nobody
    assert ran.calls == [("add", 1, 2), ("add", 3, 4)]
    assert ran.run.stopped_by == "end_turn"
    assert len(ran.bodies) == 3


@both_ways
def test_break_leaves_the_reply_in_hand_and_iterating_again_goes_on(
    *, stream: bool
) -> None:
    ran = Ran([ADD], [MORE], "Done.", stream=stream)
    for _ in ran.run:
        break
    assert ran.run.stopped_by == "break"
    assert ran.calls == []
    assert len(ran.bodies) == 1
    assert list(ran.texts()) == ["call", "Done."]
    assert ran.calls == [("add", 1, 2), ("add", 3, 4)]
    assert ran.run.stopped_by == "end_turn"


@both_ways
def test_next_gives_one_item_at_a_time(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    assert message_of(next(ran.run)).stop_reason == "tool_use"
    assert message_of(next(ran.run)).content[0].text == "Done."
    with pytest.raises(StopIteration):
        next(ran.run)
    assert len(ran.bodies) == 2


@both_ways
def test_a_loop_takes_over_from_next_and_from_a_loop_around_it(*, stream: bool) -> None:
    ran = Ran([ADD], [MORE], [ADD], "Done.", stream=stream)
    next(ran.run)
    for _ in ran.run:
        assert message_of(next(iter(ran.run))).stop_reason == "tool_use"
        final = ran.run.until_done()
    assert final.content[0].text == "Done."
    assert ran.calls == [("add", 1, 2), ("add", 3, 4), ("add", 1, 2)]


@both_ways
def test_an_exception_in_the_body_leaves_the_loop_as_break_does(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    with pytest.raises(ZeroDivisionError):
        for _ in ran.run:
            _ = 1 / 0
    assert (ran.run.stopped_by, ran.calls) == ("break", [])
    assert list(ran.texts()) == ["Done."]
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_a_follow_up_after_the_final_reply_continues(*, stream: bool) -> None:
    ran = Ran("Three.", "Surely.", stream=stream)
    assert list(ran.texts()) == ["Three."]
    ran.run.append_messages({"role": "user", "content": "Sure?"})
    assert list(ran.texts()) == ["Surely."]
    roles = [message["role"] for message in ran.sent()]
    assert roles == ["user", "assistant", "user"]


@both_ways
def test_a_follow_up_in_the_body_of_the_final_reply_continues(*, stream: bool) -> None:
    ran = Ran("Three.", "Surely.", stream=stream)
    for item in ran.run:
        if len(ran.bodies) == 1:
            ran.run.append_messages(message_of(item), BRIEF)
    assert ran.sent()[2] == BRIEF
    assert ran.run.text == "Surely."


@both_ways
def test_max_iterations_says_that_it_ended_the_loop(*, stream: bool) -> None:
    ran = Ran([ADD], [MORE], "Done.", stream=stream, max_iterations=2)
    assert list(ran.texts()) == ["call", "call"]
    assert ran.run.stopped_by == "max_iterations"
    # As in the SDK the tools of the last reply have run, and nothing more is sent.
    assert ran.calls == [("add", 1, 2), ("add", 3, 4)]
    assert ran.run.until_done().stop_reason == "tool_use"
    assert len(ran.bodies) == 2


@both_ways
def test_max_iterations_counts_on_over_a_break(*, stream: bool) -> None:
    ran = Ran([ADD], [MORE], "Done.", stream=stream, max_iterations=2)
    for _ in ran.run:
        break
    assert list(ran.texts()) == ["call"]
    assert ran.run.stopped_by == "max_iterations"


@both_ways
def test_iterating_a_run_that_is_at_work_raises(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    ran.run.pause()
    followed = Followed(ran.run)
    ran.run.start()
    followed.wait_for("halted")
    with pytest.raises(UsageError, match="is running already"):
        iter(ran.run)
    ran.run.resume()
    assert ran.run.wait(20).stopped_by == "end_turn"


def test_iterating_in_a_tool_of_the_own_loop_raises() -> None:
    @beta_tool
    def loop() -> str:
        """Iterate over the run that calls this."""
        return str(list(ran.run))

    ran = Ran([use("loop")], "Done.", tools=[loop])
    assert list(ran.texts()) == ["call", "Done."]
    assert "is running already" in ran.run.transcript.iterations[0].tool_calls[0].result


@both_ways
def test_start_after_break_goes_on_with_the_reply_in_hand(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for item in ran.run:
        message_of(item)
        break
    assert ran.run.start().wait(20).text == "Done."
    assert ran.calls == [("add", 1, 2)]
    assert len(ran.bodies) == 2
    assert ran.run.until_done().content[0].text == "Done."


@both_ways
def test_start_after_break_sends_the_results_as_the_body_left_them(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        response = ran.run.generate_tool_call_response()
        response["content"][0]["content"] = "EDITED"
        break
    ran.run.wait(20)
    assert ran.calls == [("add", 1, 2)]
    assert ran.sent()[2]["content"][0]["content"] == "EDITED"


# -- until_done and close ----------------------------------------------------


@both_ways
def test_until_done_gives_the_final_message_and_each_time_the_same(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    final = ran.run.until_done()
    assert final.content[0].text == "Done."
    assert ran.run.until_done() is final
    assert len(ran.bodies) == 2


@both_ways
def test_until_done_after_break_goes_on(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        break
    assert ran.run.until_done().content[0].text == "Done."
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_close_is_final(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for item in ran.run:
        message_of(item)
        break
    ran.run.close()
    assert list(ran.run) == []
    assert ran.run.until_done().stop_reason == "tool_use"
    assert ran.calls == []
    assert len(ran.bodies) == 1
    with pytest.raises(UsageError, match="is closed"):
        ran.run.start()


@both_ways
def test_close_in_the_body_ends_the_loop_and_runs_no_tool(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for item in ran.run:
        message_of(item)
        ran.run.close()
    assert ran.calls == []
    assert len(ran.bodies) == 1
    assert ran.run.stopped_by == "person"
    assert ran.run.fork().until_done().content[0].text == "Done."


def test_until_done_of_a_run_closed_before_any_reply_says_so() -> None:
    ran = Ran("Done.")
    ran.run.close()
    with pytest.raises(UsageError, match="ended before any reply was whole"):
        ran.run.until_done()
    assert ran.bodies == []


# -- errors ------------------------------------------------------------------


@both_ways
def test_an_api_error_is_raised_and_iterating_again_sends_the_same_request(
    *, stream: bool
) -> None:
    ran = Ran([ADD], fail(529), "Done.", stream=stream)
    seen = []
    with pytest.raises(anthropic.APIStatusError):
        for item in ran.run:
            seen.append(message_of(item).stop_reason)  # noqa: PERF401 - it raises
    assert (seen, ran.run.stopped_by) == (["tool_use"], "error")
    assert list(ran.texts()) == ["Done."]
    assert ran.calls == [("add", 1, 2)]
    assert ran.bodies[1] == ran.bodies[2]


@both_ways
def test_until_done_after_an_api_error_does_not_pretend_that_all_is_well(
    *, stream: bool
) -> None:
    ran = Ran([ADD], fail(529), fail(529), "Done.", stream=stream)
    for _ in range(2):
        with pytest.raises(anthropic.APIStatusError):
            ran.run.until_done()
    assert ran.run.until_done().content[0].text == "Done."
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_an_interrupt_in_a_tool_ends_the_loop_and_the_call_has_a_result(
    *, stream: bool
) -> None:
    @beta_tool
    def hang() -> str:
        """Be interrupted."""
        raise KeyboardInterrupt

    ran = Ran([use("hang"), ADD], "Done.", stream=stream, tools=[hang])
    with pytest.raises(KeyboardInterrupt):
        list(ran.texts())
    assert ran.run.stopped_by == "person"
    assert list(ran.texts()) == ["Done."]
    interrupted, not_run = ran.sent()[2]["content"]
    assert interrupted["is_error"]
    assert not_run["is_error"]
    assert ran.calls == []


@both_ways
def test_an_interrupt_of_results_asked_for_in_the_body_is_raised_there_once(
    *, stream: bool
) -> None:
    @beta_tool
    def hang() -> str:
        """Be interrupted."""
        ran.calls.append("hang")
        raise KeyboardInterrupt

    ran = Ran([use("hang")], "Done.", stream=stream, tools=[hang])
    with pytest.raises(KeyboardInterrupt):
        for _ in ran.run:
            ran.run.generate_tool_call_response()
    assert ran.run.stopped_by == "break"
    assert list(ran.texts()) == ["Done."]
    assert ran.calls == ["hang"]


@both_ways
def test_an_interrupt_of_a_request_leaves_it_to_be_sent_again(*, stream: bool) -> None:
    def interrupt() -> Any:
        raise KeyboardInterrupt

    ran = Ran([ADD], "Done.", stream=stream)
    ran.wire._faults = {1: interrupt}
    with pytest.raises(KeyboardInterrupt):
        list(ran.texts())
    assert ran.run.transcript.last.failures[-1].kind == "stopped"
    assert list(ran.texts()) == ["Done."]
    assert ran.bodies[1] == ran.bodies[2]


def test_an_interrupt_while_the_body_reads_a_stream_asks_for_the_reply_again() -> None:
    ran = Ran("One two three four.", "Done.", stream=True)

    def interrupt(event: Any, _: Any) -> None:
        if event.kind == "block_grew" and len(ran.wire.bodies) == 1:
            raise KeyboardInterrupt

    ran.run.subscribe(interrupt)
    with pytest.raises(KeyboardInterrupt):
        list(ran.texts())
    assert [f.kind for f in ran.run.transcript.last.failures] == ["stopped"]
    assert list(ran.texts()) == ["Done."]
    assert ran.bodies[0] == ran.bodies[1]


# -- the history -------------------------------------------------------------


@both_ways
def test_a_message_appended_alone_keeps_the_reply_and_its_results(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        if len(ran.bodies) == 1:
            ran.run.append_messages(BRIEF)
    question, reply, results, brief = ran.sent()
    assert (question["content"], reply["role"], brief) == ("1 + 2?", "assistant", BRIEF)
    assert results["content"][0]["content"] == "3"
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_append_without_arguments_drops_the_reply_and_runs_no_tool(
    *, stream: bool
) -> None:
    ran = Ran([ADD], [MORE], "Done.", stream=stream)
    for _ in ran.run:
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
            with pytest.raises(UsageError, match="its calls are: toolu_01|toolu_01"):
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


# -- the results -------------------------------------------------------------


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
            ran.run.append_messages(message_of(item), {**response, "content": [changed]})
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
    from nbrunner.replay import reply  # noqa: PLC0415 - its name is a variable above

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


# -- the parameters ----------------------------------------------------------


@both_ways
def test_parameters_are_replaced_by_a_mapping(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream, system="Be kind.", stop_sequences=["END"])
    for _ in ran.run:
        messages = [{"role": "user", "content": "1 + 2?"}]
        params = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": messages}
        ran.run.set_messages_params(params)
    first, second = ran.bodies
    assert "stop_sequences" in first
    assert {key: second[key] for key in ("model", "max_tokens")} == {
        "model": "claude-haiku-4-5",
        "max_tokens": 9,
    }
    assert second.keys().isdisjoint({"system", "tools", "stop_sequences"})
    assert len(second["messages"]) == 3


@both_ways
def test_parameters_may_be_changed_several_times_before_they_go_out(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for tokens in (7, 100):
        ran.run.set_messages_params(lambda p, n=tokens: {**p, "max_tokens": n})
    for _ in ran.run:
        ran.run.set_messages_params(lambda p: {**p, "max_tokens": p["max_tokens"] + 1})
        ran.run.set_messages_params(lambda p: {**p, "max_tokens": p["max_tokens"] + 1})
    assert [body["max_tokens"] for body in ran.bodies] == [100, 102]


def test_what_was_submitted_before_is_among_the_parameters() -> None:
    ran = Ran("Done.")
    ran.run.submit(SetParams(max_tokens=7))
    ran.run.set_messages_params(lambda p: {**p, "max_tokens": p["max_tokens"] + 1})
    ran.run.until_done()
    assert ran.bodies[0]["max_tokens"] == 8


def test_reading_the_parameters_changes_nothing() -> None:
    ran = Ran([ADD], "Done.", system="Be kind.", thinking={"type": "adaptive"})
    followed = Followed(ran.run)
    for _ in ran.run:
        ran.run.set_messages_params(lambda params: params)
    assert not [e for e in followed.events if e.kind == "edit_applied"]
    assert ran.bodies[0]["system"] == "Be kind."


def test_what_a_function_does_to_the_parameters_it_is_given_stays_its_own() -> None:
    ran = Ran([ADD], "Done.")

    def spoil(params: dict[str, Any]) -> dict[str, Any]:
        kept = dict(params)
        kept["messages"] = [dict(message) for message in params["messages"]]
        params["messages"][0]["content"] = "SPOILED"
        return kept

    for _ in ran.run:
        ran.run.set_messages_params(spoil)
    assert ran.sent()[0]["content"] == "1 + 2?"


def test_betas_stay_where_new_parameters_leave_them_out() -> None:
    ran = Ran([ADD], "Done.", betas=["x-2026-01-01"])
    for _ in ran.run:
        ran.run.set_messages_params(
            lambda params: {k: v for k, v in params.items() if k != "betas"}
        )
    assert ran.wire.betas == ["x-2026-01-01", "x-2026-01-01"]


@pytest.mark.parametrize("name", ["model", "max_tokens", "messages"])
def test_a_needed_parameter_that_is_missing_is_named(name: str) -> None:
    ran = Ran("Done.")
    with pytest.raises(UsageError, match=f"and {name} is missing"):
        ran.run.set_messages_params(
            lambda params: {k: v for k, v in params.items() if k != name}
        )


@pytest.mark.parametrize(
    ("name", "near"), [("temperature", "extra_body"), ("max_token", "max_tokens")]
)
def test_an_unknown_parameter_is_refused_and_nothing_is_changed(
    name: str, near: str
) -> None:
    ran = Ran("Done.")
    with pytest.raises(UnknownParameter, match=near):
        ran.run.set_messages_params(
            lambda params: {**params, name: 1, "system": "Be kind."}
        )
    with pytest.raises(TypeError, match="thread"):
        ran.run.set_messages_params(lambda params: {**params, "thread": True})
    ran.run.until_done()
    assert "system" not in ran.bodies[0]


@pytest.mark.parametrize("name", ["stream", "max_iterations"])
def test_what_is_no_parameter_of_a_request_is_refused(name: str) -> None:
    ran = Ran("Done.")
    with pytest.raises(UnknownParameter, match=name):
        ran.run.set_messages_params(lambda params: {**params, name: 1})


@both_ways
def test_messages_rewritten_stand_before_the_reply_in_hand(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        if len(ran.bodies) == 1:
            rewritten = [{"role": "user", "content": "What is 1 + 2?"}]
            ran.run.set_messages_params(
                lambda params, new=rewritten: {**params, "messages": new}
            )
    assert [m["content"] for m in ran.sent()[:1]] == ["What is 1 + 2?"]
    assert ran.sent()[2]["content"][0]["content"] == "3"
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_a_tool_set_in_the_middle_of_a_run_runs(*, stream: bool) -> None:
    @beta_tool
    def double(n: int) -> str:
        """Double a number."""
        return str(2 * n)

    ran = Ran([ADD], [use("double", n=4)], "8.", stream=stream)
    for _ in ran.run:
        if len(ran.bodies) == 1:
            ran.run.set_messages_params(
                lambda params: {**params, "tools": [*params["tools"], double]}
            )
    assert [t["name"] for t in ran.bodies[1]["tools"]][-1] == "double"
    assert ran.sent()[-1]["content"][0]["content"] == "8"


@both_ways
def test_the_system_prompt_may_change_in_the_middle_of_a_run(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        ran.run.set_messages_params(lambda params: {**params, "system": "Be brief."})
    assert [body.get("system") for body in ran.bodies] == [None, "Be brief."]


# -- hands from elsewhere ----------------------------------------------------


@both_ways
def test_stop_from_another_thread_ends_the_loop_after_its_body(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        in_another_thread(ran.run.stop)
    assert ran.run.stopped_by == "person"
    assert (ran.calls, len(ran.bodies)) == ([], 1)
    assert list(ran.texts()) == ["Done."]


def test_stop_by_a_listener_ends_the_stream_that_the_body_reads() -> None:
    ran = Ran("One two three four.", "Done.", stream=True)
    unsubscribe = ran.run.subscribe(
        lambda event, _: ran.run.stop() if event.kind == "block_grew" else None
    )
    for stream in ran.run:
        assert len(list(stream.text_stream)) == 1
        with pytest.raises(ReplyStopped):
            stream.get_final_message()
    assert ran.run.stopped_by == "person"
    unsubscribe()
    assert list(ran.texts()) == ["Done."]
    assert ran.bodies[0] == ran.bodies[1]


def test_a_retry_while_the_body_reads_a_stream_gives_it_another() -> None:
    ran = Ran("One two three four.", "Done.", stream=True)
    read = []
    for stream in ran.run:
        for text in stream.text_stream:
            read.append(text)
            if len(ran.bodies) == 1:
                ran.run.retry()
    assert len(read) > 1
    assert "".join(read).endswith("Done.")
    assert ran.bodies[0] == ran.bodies[1]
    assert ran.run.transcript.iterations[0].failures[0].kind == "dropped"


@both_ways
def test_a_paused_loop_waits_for_someone_in_another_thread(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    followed = Followed(ran.run)
    for item in ran.run:
        if message_of(item).stop_reason == "tool_use":
            ran.run.pause()
            ran.run.subscribe(
                lambda event, _: ran.run.resume() if event.kind == "halted" else None
            )
    assert [e.kind for e in followed.events].count("halted") == 1
    assert ran.run.stopped_by == "end_turn"


@both_ways
def test_a_message_injected_from_another_thread_goes_out_behind_the_results(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        if len(ran.bodies) == 1:
            in_another_thread(lambda: ran.run.inject("Be brief."))
    assert ran.sent()[2]["content"][1] == {"type": "text", "text": "Be brief."}


def test_the_events_of_an_own_loop_are_those_of_a_run_in_a_thread() -> None:
    kinds = []
    for drive in (list, lambda run: run.wait(20)):
        ran = Ran([say("Let me see."), think("Hm", "c2ln"), ADD], "3.", stream=True)
        followed = Followed(ran.run)
        drive(ran.run)
        kinds.append([event.kind for event in followed.events])
    assert kinds[0] == kinds[1]
    assert len(followed.of(CallStarted)) == 1


def test_a_run_of_its_own_can_be_iterated_too() -> None:
    run = Run(client=Wire("Hello.").client, messages="Hi", stream=False)
    assert [message.content[0].text for message in run] == ["Hello."]
