"""Requests that bring no whole reply: told with advice, and the run can go on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import pytest

from nbrunner import Run, replay
from nbrunner.core.commands import Pause, Retry, Stop
from nbrunner.core.events import CommandRefused, Failure
from nbrunner.core.request import Settings
from nbrunner.core.transcript import Transcript
from nbrunner.core.validity import check
from nbrunner.loop.controls import NOTHING_TO_RETRY, Controls
from nbrunner.loop.exits import StopAsked
from nbrunner.loop.inbox import Inbox
from nbrunner.loop.ledger import Ledger, Pen
from nbrunner.replay import cut, fail, say, think, use
from nbrunner.replay.sse import encode
from tests.loop.steering import (
    Followed,
    assert_the_api_takes_all,
    in_another_thread,
)
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire, answering, streaming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ADD = use("add", a=1, b=2)
FIVE = "one two three four five six seven eight nine ten"
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [],
    "stop_reason": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
START = ("message_start", {"type": "message_start", "message": MESSAGE})
TEXT = {"type": "text", "text": ""}


def block_start(block: Any) -> tuple[str, Any]:
    event = {"type": "content_block_start", "index": 0, "content_block": block}
    return "content_block_start", event


def delta(**fields: Any) -> tuple[str, Any]:
    event = {"type": "content_block_delta", "index": 0, "delta": fields}
    return "content_block_delta", event


def raising(error: Exception) -> Callable[[], httpx2.Response]:
    def answer() -> httpx2.Response:
        raise error

    return answer


class _Breaking(httpx2.SyncByteStream):
    def __init__(self, content: bytes, error: Exception) -> None:
        self._content, self._error = content, error

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        raise self._error


def breaking(
    code: int, content: bytes, error: Exception, kind: str = "application/json"
) -> Callable[[], httpx2.Response]:
    """What answers with those bytes, and then breaks."""

    def answer() -> httpx2.Response:
        stream = _Breaking(content, error)
        return httpx2.Response(code, stream=stream, headers={"content-type": kind})

    return answer


class Fault:
    """A fault in the place of a reply, and how it is told."""

    def __init__(  # noqa: PLR0913 - one fact each
        self,
        kind: str,
        says: str,
        advises: str,
        *,
        reply: Any = None,
        answer: Callable[[], httpx2.Response] | None = None,
        retryable: bool = True,
        status: int | None = None,
    ) -> None:
        self.kind, self.says, self.advises = kind, says, advises
        self.reply, self.answer = reply, answer
        self.retryable, self.status = retryable, status

    def wire(self, *replies: Any, at: int) -> Wire:
        """The replies, with the fault before the one of that number."""
        if self.answer is not None:
            return Wire(*replies, faults={at: self.answer})
        return Wire(*replies[:at], self.reply, *replies[at:])


def status(code: int, error: str, advises: str, *, retryable: bool = False) -> Fault:
    says = f"The API answered {error} ({code}): The server says no."
    return Fault(
        "api",
        says,
        advises,
        reply=fail(code, error, "The server says no."),
        retryable=retryable,
        status=code,
    )


PASSING = "The service is at fault, and it passes: wait a moment, then retry."
SAME_AGAIN = "Retry sends the same request again; no tool runs twice."
NETWORK = "Check the network and the address, then retry."
NO_API = "Retry; if it comes again, what answers is not the Messages API."
UNREADABLE = "The reply is no message of the API: reading it raised"

HALF_AN_ERROR = breaking(500, b'{"error": {"type": "api_', httpx2.ReadError("cut off"))

EITHER: dict[str, Fault] = {
    "400": status(400, "invalid_request_error", "Mend the request, then retry."),
    "401": status(
        401,
        "authentication_error",
        "The key is wrong or not set: set ANTHROPIC_API_KEY, then run the cell again.",
    ),
    "403": status(
        403,
        "permission_error",
        "This key may not do that: use another key or model.",
    ),
    "404": status(404, "not_found_error", "Check the name of the model."),
    "413": status(
        413, "request_too_large", "Send less: shorter results, fewer images."
    ),
    "408": status(408, "timeout_error", PASSING, retryable=True),
    "409": status(409, "conflict_error", "Mend the request, then retry."),
    "429": status(
        429,
        "rate_limit_error",
        "Too many requests for this key: wait, then retry.",
        retryable=True,
    ),
    "500": status(500, "api_error", PASSING, retryable=True),
    "503, of no known type": status(503, "strange_error", PASSING, retryable=True),
    "504": status(504, "timeout_error", PASSING, retryable=True),
    "529": status(529, "overloaded_error", PASSING, retryable=True),
    "an error that is not JSON": Fault(
        "api",
        "The API answered error (502): ",
        PASSING,
        answer=lambda: httpx2.Response(502, content=b"<html>Bad gateway</html>"),
        status=502,
    ),
    "no headers": Fault(
        "connection",
        "Connection error. (RemoteProtocolError('Server disconnected",
        NETWORK,
        answer=raising(
            httpx2.RemoteProtocolError("Server disconnected without a response")
        ),
    ),
    "a request that is cut off while it is sent": Fault(
        "connection",
        "Connection error. (WriteError('broken pipe'))",
        NETWORK,
        answer=raising(httpx2.WriteError("broken pipe")),
    ),
    "no connection in time": Fault(
        "connection",
        "Request timed out",
        NETWORK,
        answer=raising(httpx2.ConnectTimeout("too late")),
    ),
    "no connection": Fault(
        "connection",
        "Connection error. (ConnectError('refused'))",
        NETWORK,
        answer=raising(httpx2.ConnectError("refused")),
    ),
    "no answer in time": Fault(
        "connection",
        "Request timed out",
        NETWORK,
        answer=raising(httpx2.ReadTimeout("too late")),
    ),
}

PLAIN: dict[str, Fault] = {
    "an empty body": Fault(
        "api", f"{UNREADABLE} JSONDecodeError(", NO_API, answer=answering(b"")
    ),
    "a page": Fault(
        "api", f"{UNREADABLE} JSONDecodeError(", NO_API, answer=answering(b"<html>")
    ),
    "an empty object": Fault(
        "api", f"{UNREADABLE} TypeError(", NO_API, answer=answering(b"{}")
    ),
    "a list": Fault(
        "api", f"{UNREADABLE} AttributeError(", NO_API, answer=answering(b"[]")
    ),
    "a text as content": Fault(
        "api",
        f"{UNREADABLE} AttributeError(",
        NO_API,
        answer=answering(b'{"role": "assistant", "content": "hi"}'),
    ),
    "a call without id, name and input": Fault(
        "api",
        f"{UNREADABLE} KeyError('id')",
        NO_API,
        answer=answering(
            b'{"role": "assistant", "stop_reason": "tool_use", '
            b'"content": [{"type": "tool_use"}]}'
        ),
    ),
    "an error whose body breaks off": Fault(
        "connection",
        "Connection error. (ReadError('cut off'))",
        NETWORK,
        answer=HALF_AN_ERROR,
    ),
    "a reply cut off": Fault(
        "connection", "Connection error.", NETWORK, reply=cut(FIVE, 4, "drop")
    ),
}

STREAM: dict[str, Fault] = {
    "an error whose body breaks off": Fault(
        "connection",
        "The connection broke: cut off.",
        NETWORK,
        answer=HALF_AN_ERROR,
    ),
    "a stream that ends without a word": Fault(
        "stream",
        "The stream ended before the reply was whole.",
        SAME_AGAIN,
        reply=cut(FIVE, 5),
    ),
    "a stream that ends inside a call": Fault(
        "stream",
        "The stream ended before the reply was whole.",
        SAME_AGAIN,
        reply=cut([say("So."), ADD], 8),
    ),
    "a stream that ends after a whole call": Fault(
        "stream",
        "The stream ended before the reply was whole.",
        SAME_AGAIN,
        reply=cut([ADD, say(FIVE)], 8),
    ),
    "a stream that ends inside the thinking": Fault(
        "stream",
        "The stream ended before the reply was whole.",
        SAME_AGAIN,
        reply=cut([think(FIVE), ADD], 5),
    ),
    "a stream that ends before a word": Fault(
        "stream",
        "The stream ended before the reply was whole.",
        SAME_AGAIN,
        reply=cut(FIVE, 1),
    ),
    "a stream that stalls": Fault(
        "stream",
        "The connection broke: too late.",
        SAME_AGAIN,
        answer=breaking(
            200,
            b"".join(
                encode(name, data)
                for name, data in (START, block_start({**TEXT, "text": "one"}))
            ),
            httpx2.ReadTimeout("too late"),
            "text/event-stream",
        ),
    ),
    "a stream that stalls before a word": Fault(
        "connection",
        "The connection broke: too late.",
        NETWORK,
        answer=breaking(
            200,
            encode(*START),
            httpx2.ReadTimeout("too late"),
            "text/event-stream",
        ),
    ),
    "a connection that drops": Fault(
        "stream",
        "The connection broke: peer closed",
        SAME_AGAIN,
        reply=cut(FIVE, 5, "drop"),
    ),
    "a connection that drops before a word": Fault(
        "connection",
        "The connection broke: peer closed",
        NETWORK,
        reply=cut(FIVE, 0, "drop"),
    ),
    "an error in the stream": Fault(
        "api",
        "The API answered overloaded_error (inside the stream): "
        "The scripted reply breaks here.",
        PASSING,
        reply=cut(FIVE, 5, "overloaded_error"),
    ),
    "an error of no known type in the stream": Fault(
        "api",
        "The API answered strange_error (inside the stream): ",
        PASSING,
        reply=cut(FIVE, 5, "strange_error"),
    ),
    "an empty stream": Fault(
        "api", f"{UNREADABLE} AssertionError()", NO_API, answer=streaming()
    ),
    "a line that is not JSON": Fault(
        "stream",
        f"{UNREADABLE} JSONDecodeError(",
        SAME_AGAIN,
        answer=streaming(START, block_start(TEXT), (delta()[0], "{not json")),
    ),
    "a call whose input is not JSON": Fault(
        "stream",
        "ValueError(",
        SAME_AGAIN,
        answer=streaming(
            START,
            block_start({"type": "tool_use", "id": "t", "name": "add", "input": {}}),
            delta(type="input_json_delta", partial_json="{nope"),
        ),
    ),
    "a stream that starts in the middle": Fault(
        "api",
        f"{UNREADABLE} IndexError(",
        NO_API,
        answer=streaming(delta(type="text_delta", text="x")),
    ),
    "a delta of no block": Fault(
        "api",
        f"{UNREADABLE} IndexError(",
        NO_API,
        answer=streaming(START, delta(type="text_delta", text="x")),
    ),
    "a block of nothing": Fault(
        "api",
        f"{UNREADABLE} AttributeError(",
        NO_API,
        answer=streaming(START, block_start(None)),
    ),
    "a page in place of a stream": Fault(
        "api",
        f"{UNREADABLE} AssertionError()",
        NO_API,
        answer=answering(b"<html>", "text/html"),
    ),
}

CASES = [
    pytest.param(fault, stream, id=f"{name}, {'stream' if stream else 'plain'}")
    for faults, ways in ((EITHER, (False, True)), (PLAIN, (False,)), (STREAM, (True,)))
    for name, fault in faults.items()
    for stream in ways
]
each_fault = pytest.mark.parametrize(("fault", "stream"), CASES)
either_request = pytest.mark.parametrize("at", [0, 1], ids=["first", "second"])
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


def failure_at(run: Run, iteration: int) -> Failure:
    (failure,) = run.transcript.iterations[iteration].failures
    return failure


@each_fault
@either_request
def test_a_fault_is_told_in_its_iteration_with_advice_and_retry_goes_on(
    fault: Fault, *, stream: bool, at: int
) -> None:
    calls: list[Any] = []
    wire = fault.wire([say("So."), ADD], "It is 3.", at=at)
    run = Run(
        client=wire.client, tools=counted_tools(calls), messages="?", stream=stream
    )
    run.wait(20)
    assert run.stopped_by == "error"
    assert run.transcript.iterations[at].has_failed
    failure = failure_at(run, at)
    assert failure.message.startswith(fault.says), failure.message
    assert failure.advice == fault.advises
    assert (failure.kind, failure.status) == (fault.kind, fault.status)
    assert failure.retryable is fault.retryable
    check(run.transcript.next_request().body(), at)

    run.retry()
    run.wait(20)
    assert run.stopped_by == "end_turn"
    assert run.text == "It is 3."
    assert calls == [("add", 1, 2)]
    assert wire.bodies[at + 1] == wire.bodies[at]
    assert len(wire.bodies) == 3
    assert len(run.transcript.iterations) == 2
    assert run.transcript.iterations[at].attempts == 2
    assert not run.transcript.iterations[at].has_failed
    assert_the_api_takes_all(wire)


@pytest.mark.parametrize(
    ("after", "partial"),
    [
        (3, [say("")]),
        (5, [say("one two three four five six ")]),
    ],
)
def test_the_half_reply_is_kept_beside_the_failure_and_is_no_history(
    after: int, partial: list[Any]
) -> None:
    wire = Wire(cut(FIVE, after, "drop"), "Whole.")
    run = Run(client=wire.client, messages="?")
    run.wait(20)
    assert list(failure_at(run, 0).partial) == partial
    assert run.messages == [{"role": "user", "content": "?"}]
    assert run.text == ""
    run.retry()
    run.wait(20)
    assert run.messages[1:] == [{"role": "assistant", "content": [say("Whole.")]}]


def test_a_stream_that_ends_after_its_stop_reason_is_whole() -> None:
    # Only `message_stop` is missing, which tells nothing.
    run = Run(client=Wire(cut(FIVE, 9)).client, messages="?")
    assert run.wait(20).stopped_by == "end_turn"
    assert run.text == FIVE
    assert run.transcript.iterations[0].failures == ()


def test_a_reply_that_failed_twice_keeps_both_failures() -> None:
    wire = Wire(fail(529), fail(500), "Done.")
    run = Run(client=wire.client, messages="?")
    run.wait(20)
    run.retry()
    run.wait(20)
    run.retry()
    run.wait(20)
    iteration = run.transcript.iterations[0]
    assert [failure.status for failure in iteration.failures] == [529, 500]
    assert (iteration.attempts, run.text) == (3, "Done.")


@both_ways
def test_a_fault_with_hold_on_failure_halts_the_run_and_retry_goes_on(
    *,
    stream: bool,
) -> None:
    calls: list[Any] = []
    wire = Wire([ADD], fail(529), fail(529), "It is 3.")
    run = Run(
        client=wire.client,
        tools=counted_tools(calls),
        messages="?",
        stream=stream,
        hold_on_failure=True,
    )
    followed = Followed(run)
    run.start()
    for attempt in (1, 2):
        followed.wait_for("request_failed", iteration=1)
        followed.wait_for("halted", why="failed")
        assert run.transcript.status == "failed"
        assert run.is_running
        assert run.transcript.iterations[1].attempts == attempt
        followed.events.clear()
        in_another_thread(run.retry)
    run.wait(20)
    assert run.stopped_by == "end_turn"
    assert calls == [("add", 1, 2)]
    assert wire.bodies[1] == wire.bodies[2] == wire.bodies[3]


def test_a_held_run_can_be_stopped_and_continued_later() -> None:
    wire = Wire(fail(529), "Done.")
    run = Run(client=wire.client, messages="?", hold_on_failure=True)
    followed = Followed(run)
    run.start()
    followed.wait_for("halted", why="failed")
    in_another_thread(run.stop)
    run.wait(20)
    assert run.stopped_by == "error"
    run.start().wait(20)
    assert run.text == "Done."


def test_a_message_sent_while_a_run_is_held_goes_out_with_the_retry() -> None:
    wire = Wire([ADD], fail(529), "It is 3.")
    run = Run(
        client=wire.client,
        tools=counted_tools([]),
        messages="?",
        hold_on_failure=True,
    )
    followed = Followed(run)
    run.start()
    followed.wait_for("halted", why="failed")
    run.inject("Be brief.")
    run.resume()
    run.wait(20)
    kinds = [block["type"] for block in wire.bodies[2]["messages"][-1]["content"]]
    assert kinds == ["tool_result", "text"]
    assert run.transcript.iterations[1].injected == ("Be brief.",)
    assert_the_api_takes_all(wire)


def test_a_step_after_a_failure_sends_it_again_and_then_halts() -> None:
    wire = Wire(fail(529), [ADD], "It is 3.")
    run = Run(
        client=wire.client,
        tools=counted_tools([]),
        messages="?",
        hold_on_failure=True,
    )
    followed = Followed(run)
    run.start()
    followed.wait_for("halted", why="failed")
    run.step()
    followed.wait_for("halted", why="paused")
    assert len(wire.bodies) == 2
    run.resume()
    run.wait(20)
    assert run.stopped_by == "end_turn"


def test_a_fault_that_retrying_cannot_mend_is_not_held() -> None:
    run = Run(client=Wire(fail(404)).client, messages="?", hold_on_failure=True)
    run.wait(20)
    assert run.stopped_by == "error"


def test_a_retry_where_nothing_was_asked_is_refused_and_sends_nothing() -> None:
    wire = Wire("Done.")
    run = Run(client=wire.client, messages="?")
    run.retry()
    assert run.transcript.status == "ready"
    assert run.transcript.refused == (Retry(), NOTHING_TO_RETRY)
    assert not run.is_running
    assert wire.bodies == []


def test_a_second_retry_is_refused_once_the_first_is_on_its_way() -> None:
    wire = Wire(fail(529), "Done.")
    run = Run(client=wire.client, messages="?")
    run.wait(20)
    followed = Followed(run)

    def ask_again(event: Any, _: Any) -> None:
        if event.kind == "iteration_started":
            run.retry(attempt="0.1")

    run.subscribe(ask_again)
    run.retry(attempt="0.1")
    run.wait(20)
    (refused,) = followed.of(CommandRefused)
    assert refused.command == Retry(attempt="0.1")
    assert (len(wire.bodies), run.text) == (2, "Done.")


def test_a_retry_that_comes_too_late_is_refused_and_ends_no_pause() -> None:
    ledger = Ledger(Transcript(settings=Settings(model="m", max_tokens=1)))
    inbox = Inbox()
    controls = Controls(inbox, Pen(ledger))
    inbox.put(Pause(), "person")
    inbox.put(Retry(), "person")
    inbox.put(Stop(), "person")
    with pytest.raises(StopAsked):
        controls.safe_point()
    assert ledger.transcript.refused == (Retry(), NOTHING_TO_RETRY)
    assert controls.is_paused


def test_what_the_replies_at_hand_do_not_serve_is_told_in_their_own_words() -> None:
    run = Run(client=replay.script([ADD]), tools=counted_tools([]), messages="?")
    run.wait(20)
    failure = failure_at(run, 1)
    assert failure.kind == "replay"
    assert failure.message.startswith("No reply is left: the script has 1 reply")


def test_a_history_that_the_api_would_refuse_is_not_sent() -> None:
    wire = Wire("Done.")
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": [{**ADD, "id": "toolu_9"}]},
        {"role": "user", "content": "And?"},
    ]
    run = Run(client=wire.client, messages=messages)
    run.wait(20)
    failure = failure_at(run, 0)
    assert failure.kind == "history"
    assert failure.message == (
        "The request of iteration 1 was not sent: no tool_result for toolu_9, at "
        "messages[1].content[0]. Mend the conversation there."
    )
    assert wire.bodies == []


@pytest.mark.parametrize(
    "params", [{"metadata": {"user_id": object()}}, {"system": "half \ud83d"}]
)
@both_ways
def test_what_the_sdk_cannot_send_is_told_and_nothing_goes_out(
    params: dict[str, Any], *, stream: bool
) -> None:
    wire = Wire("Done.")
    run = Run(client=wire.client, messages="?", stream=stream, **params)
    run.wait(20)
    advice = "The SDK did not send it: mend what it names, then retry."
    assert failure_at(run, 0).advice == advice
    assert wire.bodies == []


@both_ways
def test_a_client_without_a_key_is_told_to_be_the_fault_and_not_the_reply(
    monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    run = Run(client=anthropic.Anthropic(), messages="?", stream=stream)
    run.wait(20)
    failure = failure_at(run, 0)
    assert "Could not resolve authentication method" in failure.message
    assert failure.advice.startswith("The SDK did not send it")
    assert not failure.retryable


def test_more_tokens_than_a_plain_request_may_ask_for_are_told() -> None:
    run = Run(client=Wire("x").client, messages="?", stream=False, max_tokens=1_000_000)
    run.wait(20)
    failure = failure_at(run, 0)
    assert "Streaming is required" in failure.message
    assert failure.advice.startswith("The SDK did not send it")


def test_an_error_of_our_own_ends_the_run_validly_and_is_raised_by_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Any] = []
    wire = Wire([ADD], "It is 3.")
    run = Run(client=wire.client, tools=counted_tools(calls), messages="?")
    with monkeypatch.context() as patched:
        patched.setattr(
            "nbrunner.loop._sdk.Exchange.answer_calls",
            lambda *_: (_ for _ in ()).throw(ZeroDivisionError("a bug of ours")),
        )
        with pytest.raises(ZeroDivisionError):
            run.wait(20)
    assert run.stopped_by == "error"
    assert not run.is_running
    assert run.transcript.iterations[0].tool_calls[0].status == "interrupted"
    run.start().wait(20)
    assert run.text == "It is 3."
    assert calls == []
    assert_the_api_takes_all(wire)


def test_an_unreadable_error_body_is_told_by_its_status() -> None:
    def answer() -> httpx2.Response:
        return httpx2.Response(500, content=json.dumps({"error": None}).encode())

    run = Run(client=Wire(faults={0: answer}).client, messages="?")
    run.wait(20)
    assert failure_at(run, 0).message.startswith("The API answered error (500): ")
