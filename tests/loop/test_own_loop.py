"""The user's own `for message in run:`, in their own thread."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import beta_tool

from nbrunner.errors import (
    UsageError,
)
from nbrunner.loop._failures import SilentEnd
from nbrunner.replay import cut, fail, say, use
from tests.loop.iterated import (
    ADD,
    BRIEF,
    MORE,
    Ran,
    both_ways,
    message_of,
)
from tests.loop.steering import Followed
from tests.loop.wire import PATIENCE_S


@both_ways
def test_a_loop_that_reads_nothing_of_its_items_runs_to_the_end(
    *, stream: bool
) -> None:
    ran = Ran([ADD], [MORE], "Done.", stream=stream)
    assert len([item for item in ran.run]) == 3  # noqa: C416 - read by nobody
    assert ran.calls == [("add", 1, 2), ("add", 3, 4)]
    assert ran.run.stopped_by == "end_turn"
    assert len(ran.bodies) == 3


def test_a_stream_that_is_left_half_read_is_read_to_its_end() -> None:
    ran = Ran([say("One two three."), ADD], "Done.", stream=True)
    for stream in ran.run:
        for _ in stream:
            break
    assert ran.run.transcript.iterations[0].text == "One two three."
    assert ran.calls == [("add", 1, 2)]


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
def test_an_exception_in_the_body_leaves_the_loop_as_break_does(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the loop is the statement
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


@both_ways
def test_until_done_gives_the_final_message_and_each_time_the_same(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    final = ran.run.until_done()
    assert final.content[0].text == "Done."
    followed = Followed(ran.run)
    assert ran.run.until_done() is final
    assert (followed.events, len(ran.bodies)) == ([], 2)


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


@both_ways
def test_an_api_error_is_raised_and_iterating_again_sends_the_same_request(
    *, stream: bool
) -> None:
    ran = Ran([ADD], fail(529), "Done.", stream=stream)
    seen = []
    with pytest.raises(anthropic.APIStatusError):  # noqa: PT012 - it is the loop
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
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it is the loop
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


def test_a_stream_that_ends_in_silence_is_an_error_in_the_own_loop() -> None:
    ran = Ran(cut("one two three four five", 4), "Done.", stream=True)
    with pytest.raises(SilentEnd):
        list(ran.run)
    assert ran.run.transcript.last.failures[-1].kind == "stream"
    assert list(ran.texts()) == ["Done."]
    assert ran.bodies[0] == ran.bodies[1]


def test_start_after_break_tells_of_a_stream_left_in_hand_that_breaks() -> None:
    ran = Ran(cut("Half of it.", 3), "Whole.", stream=True)
    for _ in ran.run:
        break
    ran.run.start().wait(PATIENCE_S)
    assert ran.run.stopped_by == "error"
    assert ran.run.transcript.iterations[0].has_failed
    ran.run.start().wait(PATIENCE_S)
    assert ran.run.text == "Whole."


def test_results_asked_for_before_a_break_are_sent_once() -> None:
    ran = Ran([ADD], [MORE], "7.")
    for _ in ran.run:
        ran.run.generate_tool_call_response()
        break
    ran.run.start().wait(PATIENCE_S)
    assert ran.run.text == "7."
    assert ran.calls == [("add", 1, 2), ("add", 3, 4)]
    assert len(ran.bodies) == 3
