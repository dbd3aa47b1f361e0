from __future__ import annotations

import gzip
import json
import threading
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import pytest

from nbrunner import replay
from nbrunner.errors import SecretInCassette
from nbrunner.replay import Recorder, secrets, sse
from nbrunner.replay.cassette import Cassette

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

KEY = "sk-ant-api03-" + "Ab1_" * 20
EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tape.json"


class Body(httpx2.SyncByteStream):
    """Chunks of a response; an exception among them is raised."""

    def __init__(self, chunks: Iterable[bytes | Exception]) -> None:
        self.chunks = chunks
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    def close(self) -> None:
        self.is_closed = True


def upstream(
    chunks: Iterable[bytes | Exception], headers: dict[str, str] = EVENT_STREAM
) -> httpx2.MockTransport:
    body = Body(chunks)
    return httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers=headers, stream=body)
    )


def events_of(reply: Any) -> list[bytes]:
    """The events of a reply, as the bytes of a stream."""
    transport = replay.play(replay.script(reply))
    body = {"model": "claude-opus-5", "stream": True}
    with httpx2.Client(transport=transport) as http:
        response = http.post("https://x/v1/messages", json=body)
    return [part + b"\n\n" for part in response.content.split(b"\n\n") if part]


def answers(*texts: str) -> httpx2.BaseTransport:
    return replay.play(replay.script(*texts))


def stored(path: Path) -> list[Any]:
    return [episode.response for episode in Cassette.load(path).episodes]


@pytest.mark.parametrize("stream", [False, True])
def test_a_conversation_is_recorded_once_and_then_played(
    path: Path, weather: Any, converse: Any, *, stream: bool
) -> None:
    network = replay.play(weather)
    live = converse(
        replay.connect(replay.record(path, transport=network)), stream=stream
    )
    recorder = replay.record(path, transport=network)
    played = converse(replay.connect(recorder), stream=stream)
    assert played == live
    assert len(network.requests) == 2
    assert recorder.requests == network.requests
    assert converse(replay.connect(replay.play(path)), stream=stream) == live


def test_what_is_sent_and_received_is_the_same_with_and_without_recording(
    path: Path, weather: Any, converse: Any
) -> None:
    bare, tapped = replay.play(weather), replay.play(weather)
    without = converse(replay.connect(bare), stream=True)
    recorded = converse(
        replay.connect(replay.record(path, transport=tapped)), stream=True
    )
    assert recorded == without
    assert tapped.requests == bare.requests


def test_a_recording_holds_the_request_without_the_kind_of_reply(
    path: Path, ask: Any
) -> None:
    ask(replay.connect(replay.record(path, transport=answers("Hi."))), stream=True)
    (episode,) = Cassette.load(path).episodes
    assert episode.request == {
        "model": "claude-opus-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Hello?"}],
    }
    client = replay.connect(replay.play(path))
    assert ask(client, stream=False).content[0].text == "Hi."


def test_recording_hands_on_each_event_before_the_next_arrives(path: Path) -> None:
    sent: list[bytes] = []

    def one_by_one() -> Iterator[bytes]:
        for chunk in events_of("one two three four five six seven"):
            sent.append(chunk)
            yield chunk

    recorder = replay.record(path, transport=upstream(one_by_one()))
    with replay.connect(recorder).messages.create(
        model="claude-opus-5",
        max_tokens=9,
        messages=[{"role": "user", "content": "Hello?"}],
        stream=True,
    ) as opened:
        assert next(opened).type == "message_start"
        assert len(sent) == 1
        assert not path.exists()
        assert len(list(opened)) == 7
    assert path.exists()


def test_the_arrival_of_each_event_is_kept(path: Path, ask: Any) -> None:
    now_s = 100.0

    def slowly() -> Iterator[bytes]:
        nonlocal now_s
        for chunk in events_of("Hi"):
            now_s += 0.12345
            yield chunk

    recorder = Recorder(path, transport=upstream(slowly()), clock=lambda: now_s)
    ask(replay.connect(recorder), stream=True)
    (response,) = stored(path)
    times = [event.at_s for event in response.events]
    assert times == [0.123, 0.247, 0.37, 0.494, 0.617, 0.741, 0.864]


def test_only_the_headers_that_a_replay_needs_are_kept(path: Path, ask: Any) -> None:
    headers = {
        **EVENT_STREAM,
        "request-id": "req_7",
        "anthropic-organization-id": "org-secret",
        "anthropic-ratelimit-requests-limit": "4000",
        "set-cookie": "session=1",
    }
    recorder = replay.record(path, transport=upstream(events_of("Hi"), headers))
    ask(replay.connect(recorder), stream=True)
    (response,) = stored(path)
    assert response.headers == {**EVENT_STREAM, "request-id": "req_7"}
    for secret in ("org-secret", "ratelimit", "cookie", "authorization", KEY):
        assert secret not in path.read_text()


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_in_the_texts_is_not_recorded_and_the_replay_goes_on(
    path: Path, converse: Any, *, stream: bool
) -> None:
    script = replay.script(
        [replay.say(f"Is it {KEY} ?"), replay.use("get_weather", location=KEY)],
        f"It is {KEY}",
    )
    question = f"My key is {KEY}"
    network = replay.play(script)
    client = replay.connect(replay.record(path, transport=network))
    final = converse(client, question, stream=stream)
    assert final["content"] == [replay.say(f"It is {KEY}")]
    assert "sk-ant" not in path.read_text()
    played = converse(replay.connect(replay.play(path)), question, stream=stream)
    assert played["content"] == [replay.say("It is [redacted]")]


def test_a_recording_that_would_hold_a_key_fails_loudly(
    path: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "redact_json", lambda value: value)
    recorder = replay.record(path, transport=answers(KEY))
    with pytest.raises(SecretInCassette):
        ask(replay.connect(recorder), stream=True)
    assert not path.exists()


def test_a_compressed_stream_is_recorded_as_its_events(path: Path, ask: Any) -> None:
    headers = {**EVENT_STREAM, "content-encoding": "gzip", "content-length": "1"}
    content = gzip.compress(b"".join(events_of("Hi")))
    recorder = replay.record(
        path, transport=upstream([content[:40], content[40:]], headers)
    )
    message = ask(replay.connect(recorder), stream=True)
    assert message.content[0].text == "Hi"
    assert len(stored(path)[0].events) == 7


@pytest.mark.parametrize(
    "failure",
    [httpx2.RemoteProtocolError("peer closed connection"), httpx2.ReadError("reset")],
)
def test_a_stream_that_breaks_is_recorded_as_far_as_it_came(
    path: Path, ask: Any, failure: Exception
) -> None:
    chunks = [*events_of("one two three four")[:4], failure]
    with pytest.raises(type(failure)):
        ask(
            replay.connect(replay.record(path, transport=upstream(chunks))), stream=True
        )
    (response,) = stored(path)
    assert len(response.events) == 4
    assert response.cut
    with pytest.raises(httpx2.RemoteProtocolError):
        ask(replay.connect(replay.play(path)), stream=True)


def open_stream(client: anthropic.Anthropic) -> Any:
    return client.messages.create(
        model="claude-opus-5",
        max_tokens=100,
        messages=[{"role": "user", "content": "Hello?"}],
        stream=True,
    )


def test_a_stream_that_is_left_early_is_recorded_as_cut_and_closed(path: Path) -> None:
    network = Body(events_of("one two three four"))
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers=EVENT_STREAM, stream=network)
    )
    opened = open_stream(replay.connect(replay.record(path, transport=transport)))
    next(opened)
    opened.close()
    (response,) = stored(path)
    assert [event.name for event in response.events] == ["message_start"]
    assert response.cut
    assert network.is_closed


def test_a_stream_that_is_left_after_its_last_event_is_whole(path: Path) -> None:
    opened = open_stream(replay.connect(replay.record(path, transport=answers("Hi"))))
    while next(opened).type != "message_stop":
        pass
    opened.close()
    (response,) = stored(path)
    assert not response.cut


def test_a_stream_that_ends_without_a_word_is_recorded_so(path: Path) -> None:
    chunks = events_of("one two three four")[:4]
    recorder = replay.record(path, transport=upstream(chunks))
    assert len(list(open_stream(replay.connect(recorder)))) == 3
    (response,) = stored(path)
    assert not response.cut
    assert len(list(open_stream(replay.connect(replay.play(path))))) == 3


def test_an_error_event_is_recorded_and_played(path: Path) -> None:
    reply = replay.cut("one two three four", after=4, error="overloaded_error")
    network = replay.play(replay.script(reply))
    for _ in ("recorded", "played"):
        client = replay.connect(replay.record(path, transport=network))
        with pytest.raises(anthropic.APIStatusError, match="overloaded_error"):
            list(open_stream(client))
    assert len(network.requests) == 1


def test_an_api_error_is_recorded_with_its_body(path: Path, ask: Any) -> None:
    network = replay.play(replay.script(replay.fail(400, message="No.")))
    for _ in ("recorded", "played"):
        client = replay.connect(replay.record(path, transport=network))
        with pytest.raises(anthropic.BadRequestError, match=r"No\."):
            ask(client, stream=True)
    assert len(network.requests) == 1


def test_a_body_that_is_no_json_is_recorded_as_text(path: Path, ask: Any) -> None:
    page = httpx2.MockTransport(lambda _: httpx2.Response(403, html="<p>Proxy</p>"))
    for _ in ("recorded", "played"):
        client = replay.connect(replay.record(path, transport=page))
        with pytest.raises(anthropic.PermissionDeniedError, match="<p>Proxy</p>"):
            ask(client)
    assert stored(path)[0].body == "<p>Proxy</p>"


def test_a_retry_of_the_sdk_takes_the_place_of_the_attempt_that_failed(
    path: Path, ask: Any
) -> None:
    again = replay.fail(529, headers={"retry-after-ms": "0"})
    network = replay.play(replay.script(again, again, "Hi.", "Bye."))
    client = replay.connect(replay.record(path, transport=network))
    ask(client)
    ask(client)
    assert len(network.requests) == 4
    assert [response.status for response in stored(path)] == [200, 200]
    assert ask(replay.connect(replay.play(path))).content[0].text == "Hi."


def test_a_failure_that_a_person_tries_again_stays_on_the_tape(
    path: Path, ask: Any
) -> None:
    network = replay.play(replay.script(replay.fail(400), "Hi."))
    client = replay.connect(replay.record(path, transport=network))
    with pytest.raises(anthropic.BadRequestError):
        ask(client)
    ask(client)
    assert [response.status for response in stored(path)] == [400, 200]


def test_a_connection_that_fails_records_nothing(path: Path, ask: Any) -> None:
    def refuse(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    recorder = replay.record(path, transport=httpx2.MockTransport(refuse))
    client = replay.connect(recorder).with_options(max_retries=0)
    with pytest.raises(anthropic.APIConnectionError):
        ask(client)
    assert not path.exists()


def test_requests_of_a_thread_are_refused_before_they_go_out(path: Path) -> None:
    network = replay.play(replay.script("Hi."))
    client = replay.connect(replay.record(path, transport=network))
    runner = client.with_options(max_retries=0).beta.messages.tool_runner(
        model="claude-opus-5",
        max_tokens=9,
        tools=[],
        messages=[{"role": "user", "content": "Hello?"}],
    )
    with pytest.raises(anthropic.APIConnectionError) as caught:
        runner.until_done()
    assert "Pass thread=False" in str(caught.value.__cause__)
    assert network.requests == []


def test_responses_of_several_threads_are_all_recorded(path: Path, ask: Any) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        question = json.loads(request.content)["messages"][0]["content"]
        content = b"".join(events_of(question))
        return httpx2.Response(200, headers=EVENT_STREAM, content=content)

    client = replay.connect(replay.record(path, transport=httpx2.MockTransport(answer)))
    questions = [f"question {number}" for number in range(8)]
    threads = [
        threading.Thread(target=ask, args=(client, question), kwargs={"stream": True})
        for question in questions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [response.message["content"][0]["text"] for response in stored(path)]
    assert sorted(told) == questions


@pytest.mark.parametrize(
    "chunks",
    [
        [sse.encode("content_block_delta", {"index": 5, "delta": {"text": "x"}})],
        [sse.encode("message_start", {}), sse.encode("message_stop", {})],
        [b'event: message\ndata: {"choices": []}\n\n', b"data: [DONE]\n\n"],
    ],
)
def test_a_stream_that_makes_no_sense_is_recorded_and_played_as_it_is(
    path: Path, chunks: list[bytes]
) -> None:
    body: dict[str, Any] = {"model": "m", "stream": True}
    for _ in ("recorded", "played"):
        recorder = replay.record(path, transport=upstream(chunks))
        with httpx2.Client(transport=recorder) as http:
            content = http.post("https://x/v1/messages", json=body).content
        assert content == b"".join(chunks)
