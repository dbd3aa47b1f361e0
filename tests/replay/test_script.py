from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import pytest

from nbrunner import replay
from nbrunner.errors import NotAReply
from nbrunner.replay import cut, fail, reply, say, script, think, use


def messages(cassette: replay.Cassette) -> list[Any]:
    return [episode.response.message for episode in cassette.episodes]


def test_each_argument_is_one_reply() -> None:
    replies = script("a", say("b"), ["c", use("f")], (think("d"), "e"), reply("f", "g"))
    assert [message["content"] for message in messages(replies)] == [
        [{"type": "text", "text": "a"}],
        [{"type": "text", "text": "b"}],
        [
            {"type": "text", "text": "c"},
            {"type": "tool_use", "id": "toolu_01", "name": "f", "input": {}},
        ],
        [
            {"type": "thinking", "thinking": "d", "signature": "scripted"},
            {"type": "text", "text": "e"},
        ],
        [{"type": "text", "text": "f"}, {"type": "text", "text": "g"}],
    ]
    assert replies.source == "scripted"


def test_the_stop_reason_follows_from_the_blocks_unless_it_is_given() -> None:
    replies = script("a", use("f"), reply(use("f"), stop_reason="max_tokens"))
    reasons = [message["stop_reason"] for message in messages(replies)]
    assert reasons == ["end_turn", "tool_use", "max_tokens"]


def test_ids_are_counted_over_the_script_and_the_same_every_time() -> None:
    replies = ([use("f"), use("g")], cut(use("h"), after=3), use("i"))
    first, second = script(*replies), script(*replies)
    assert first == second
    told = first.model_dump_json()
    assert [f"toolu_0{n}" in told for n in range(1, 6)] == [True] * 4 + [False]
    assert [message["id"] for message in messages(first) if message] == [
        "msg_01",
        "msg_03",
    ]


def test_an_id_that_a_block_brings_along_is_kept_and_not_given_twice() -> None:
    replies = script([use("f"), {**use("g"), "id": "toolu_01"}])
    assert [b["id"] for b in messages(replies)[0]["content"]] == [
        "toolu_02",
        "toolu_01",
    ]


def test_an_input_may_have_keys_that_are_no_identifiers() -> None:
    assert use("f", {"a-b": 1, "name": 2}, c=3)["input"] == {
        "a-b": 1,
        "name": 2,
        "c": 3,
    }
    assert use("f", name="x", input="y")["input"] == {"name": "x", "input": "y"}


def test_usage_that_is_not_given_is_zero_and_fields_are_kept() -> None:
    container = {"id": "c1", "expires_at": "2030-01-01T00:00:00Z"}
    (message,) = messages(
        script(reply("a", usage={"output_tokens": 7}, container=container))
    )
    assert message["usage"] == {
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 7,
    }
    assert message["container"] == container


def test_a_script_holds_copies_of_its_blocks() -> None:
    block = use("f", {"list": [1]})
    replies = script(block)
    block["input"]["list"].append(2)
    assert messages(replies)[0]["content"][0]["input"] == {"list": [1]}


@pytest.mark.parametrize(
    ("failure", "error", "words"),
    [
        (fail(529), anthropic.OverloadedError, "Overloaded"),
        (
            fail(429, headers={"retry-after": "7"}),
            anthropic.RateLimitError,
            "Rate limited",
        ),
        (fail(400, message="No."), anthropic.BadRequestError, "No."),
        (fail(500), anthropic.InternalServerError, "Internal server error"),
        (fail(418, "teapot_error"), anthropic.APIStatusError, "Internal server error"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_is_seen_at_once_as_the_sdks_error(
    failure: Any, error: Any, words: str, *, stream: bool, ask: Any
) -> None:
    replies = replay.play(script(failure))
    with pytest.raises(error) as caught:
        ask(replay.connect(replies), stream=stream)
    assert caught.value.status_code == failure.status
    assert caught.value.body["error"] == {"type": failure.type, "message": words}
    assert caught.value.request_id == "req_01"
    assert dict(failure.headers).items() <= dict(caught.value.response.headers).items()
    assert len(replies.requests) == 1


def events_until_it_breaks(client: anthropic.Anthropic) -> list[str]:
    seen: list[str] = []
    opened = client.beta.messages.create(
        model="claude-opus-5",
        max_tokens=9,
        messages=[{"role": "user", "content": "Hello?"}],
        stream=True,
    )
    try:
        seen.extend(event.type for event in opened)
    except (httpx2.HTTPError, anthropic.APIError) as error:
        seen.append(type(error).__name__)
        seen.extend([error.type] if isinstance(error, anthropic.APIError) else [])
    return seen


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (None, []),
        ("drop", ["RemoteProtocolError"]),
        ("overloaded_error", ["APIStatusError", "overloaded_error"]),
    ],
)
def test_a_cut_stream_breaks_after_so_many_events(error: Any, end: list[str]) -> None:
    replies = script(cut("one two three four", after=4, error=error))
    # The SDK keeps the ping, which is the second event, to itself.
    begin = ["message_start", "content_block_start", "content_block_delta"]
    assert events_until_it_breaks(replay.connect(replay.play(replies))) == begin + end


@pytest.mark.parametrize("error", [None, "drop", "overloaded_error"])
def test_a_cut_reply_that_is_not_streamed_is_a_broken_connection(
    error: Any, ask: Any
) -> None:
    replies = script(cut(["one", use("f")], after=4, error=error))
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(replay.connect(replay.play(replies)))
    assert isinstance(caught.value.__cause__, httpx2.ReadError)


def test_a_cut_may_come_before_the_first_event() -> None:
    client = replay.connect(replay.play(script(cut("a", after=0, error="drop"))))
    assert events_until_it_breaks(client) == ["RemoteProtocolError"]


def circular() -> dict[str, Any]:
    block = say("x")
    block["self"] = block
    return block


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (
            lambda: script("a", 42),
            (
                "Not a reply, argument 2 of script(): 42 is of type int. Give a text, "
                "a block such as say(...) or use(...), a list of blocks, or what "
                "reply(...), fail(...) or cut(...) return."
            ),
        ),
        (
            lambda: script(["a", None]),
            "Not a reply, argument 1 of script(): None is of type NoneType.",
        ),
        (
            lambda: script({"role": "assistant", "content": "a"}),
            (
                "Not a reply, argument 1 of script(): {'role': 'assistant', 'content': "
                "'a'} is of type dict."
            ),
        ),
        (
            lambda: reply("a", ["b"]),
            "Not a reply, argument 2 of reply(): ['b'] is of type list.",
        ),
        (
            lambda: cut(fail(529), after=1),
            "Not a reply, the reply of cut(): Failure(",
        ),
        (
            lambda: script(say(20)),
            (
                "Not a reply, argument 1 of script(): the text block has 20 as its "
                "text. say(...), think(...) and use(...) make whole blocks."
            ),
        ),
        (
            lambda: script({"type": "tool_use", "name": "f"}),
            (
                "Not a reply, argument 1 of script(): the tool_use block has None as "
                "its input."
            ),
        ),
        (
            lambda: script(use("f", when={1, 2})),
            (
                "Not a reply, argument 1 of script(): it cannot be sent as JSON "
                "(Object of type set is not JSON serializable). Use texts, numbers, "
                "booleans, None, lists and dicts."
            ),
        ),
        (lambda: script(use("f", x=float("nan"))), "it cannot be sent as JSON"),
        (lambda: script(circular()), "it cannot be sent as JSON (Circular reference"),
        (lambda: reply("a", usage={"n": b""}), "Not a reply, the usage of reply():"),
        (lambda: reply("a", more=b""), "Not a reply, the fields of reply():"),
        (
            lambda: fail(200),
            (
                "fail(200) is no error: the status of one is from 400 to 599. Give one "
                "such as 529, or use reply(...) for a reply that succeeds."
            ),
        ),
        (lambda: fail("529"), "fail('529') is no error"),
        (
            lambda: cut("a", after=8),
            (
                "cut(..., after=8) breaks nothing: the reply has 7 stream events. Give "
                "a whole number from 0 to 6."
            ),
        ),
        (lambda: cut("a", after=-1), "cut(..., after=-1) breaks nothing"),
        (lambda: cut("a", after="2"), "cut(..., after='2') breaks nothing"),
    ],
)
def test_what_cannot_be_a_reply_is_refused_in_words(write: Any, sentence: str) -> None:
    with pytest.raises(NotAReply) as caught:
        write()
    assert sentence in str(caught.value)


def test_a_long_value_is_cut_in_a_sentence() -> None:
    with pytest.raises(NotAReply, match=r"x{50,59}… is of type bytes"):
        script(b"x" * 500)
