from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import pytest

from nbrunner import replay
from nbrunner.errors import (
    NotACassette,
    PaceOutOfRange,
    RepliesExhausted,
    ReplyMismatch,
    Unplayable,
)
from nbrunner.replay import wire
from nbrunner.replay.cassette import Cassette
from nbrunner.replay.episode import Episode, Event, StoredResponse, timed

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = {
    "model": "claude-opus-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hello?"}],
}


def recorded(*pairs: tuple[str, str]) -> Cassette:
    """A cassette of questions and answers, one message each."""
    answers = replay.script(*(answer for _, answer in pairs)).episodes
    return Cassette(
        source="recorded",
        episodes=tuple(
            Episode(
                request={
                    **REQUEST,
                    "messages": [{"role": "user", "content": question}],
                },
                response=episode.response,
            )
            for (question, _), episode in zip(pairs, answers, strict=True)
        ),
    )


def cause(error: Any) -> BaseException:
    assert isinstance(error.value, anthropic.APIConnectionError)
    assert error.value.__cause__ is not None
    return error.value.__cause__


@pytest.mark.parametrize("stream", [False, True])
def test_the_sdks_runner_holds_a_scripted_conversation(
    weather: Any, converse: Any, *, stream: bool
) -> None:
    replies = replay.play(weather)
    final = converse(replay.connect(replies), stream=stream)
    assert final["content"] == [replay.say("It is 20 degrees.")]
    assert final["model"] == "claude-opus-5"
    first, second = replies.requests
    assert first["messages"] == [{"role": "user", "content": "How warm is Paris?"}]
    assert second["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_01",
            "content": "20 degrees in Paris",
        }
    ]
    assert first.get("stream", False) is stream


def test_each_client_starts_from_the_top_and_requests_are_kept_together(
    weather: Any, converse: Any
) -> None:
    replies = replay.play(weather)
    finals = [converse(replay.connect(replies)) for _ in range(3)]
    assert finals[0] == finals[1] == finals[2]
    assert len(replies.requests) == 6
    assert replies.left == 2


def test_what_is_left_is_counted_by_session(weather: Any) -> None:
    session = replay.play(weather).session()
    http = httpx2.Client(transport=session)
    assert session.left == 2
    http.post("https://api.anthropic.com/v1/messages", json=REQUEST)
    assert (session.left, session.session().left) == (1, 2)
    assert session.source == "scripted"


def test_the_requests_are_copies(weather: Any) -> None:
    replies = replay.play(weather)
    message = {"role": "user", "content": "Hello?"}
    replay.connect(replies).messages.create(
        model="claude-opus-5", max_tokens=1, messages=[message]
    )
    message["content"] = "changed"
    assert replies.requests[0]["messages"][0]["content"] == "Hello?"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_recorded_reply_serves_both_kinds_of_request(
    ask: Any, *, stream: bool, is_streamed: bool
) -> None:
    tape = recorded(("Hello?", "one two three four five"))
    if is_streamed:
        message = tape.episodes[0].response.message
        assert message is not None
        response = StoredResponse(events=timed(wire.events_of(message)))
        tape = Cassette(
            source="recorded", episodes=(Episode(request=REQUEST, response=response),)
        )
    message = ask(replay.connect(replay.play(tape)), stream=stream)
    assert message.content[0].text == "one two three four five"


def test_a_recorded_request_must_be_the_same(ask: Any) -> None:
    replies = replay.play(recorded(("Hello?", "Hi."), ("How warm?", "20 degrees.")))
    client = replay.connect(replies)
    ask(client, "Hello?")
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(client, "How cold?")
    error = cause(caught)
    assert isinstance(error, ReplyMismatch)
    assert str(error) == (
        "Request 2 is not the recorded one: at messages[0].content the cassette has "
        '"How warm?", this request has "How cold?". Undo the change, record again with '
        'mode="rewrite" (in a cell: --record rewrite), or play a script, which fits '
        "any request."
    )
    assert (error.number, error.path) == (2, "messages[0].content")
    assert len(replies.requests) == 2


def test_after_a_mismatch_the_recorded_request_is_still_answered(ask: Any) -> None:
    client = replay.connect(replay.play(recorded(("Hello?", "Hi."))))
    with pytest.raises(anthropic.APIConnectionError):
        ask(client, "Hullo?")
    assert ask(client, "Hello?").content[0].text == "Hi."


def test_equal_requests_are_answered_in_the_recorded_order(ask: Any) -> None:
    client = replay.connect(replay.play(recorded(("a", "1"), ("b", "2"), ("a", "3"))))
    answers = [ask(client, question).content[0].text for question in "aab"]
    assert answers == ["1", "3", "2"]


def test_a_later_run_of_a_notebook_can_be_replayed_alone(ask: Any) -> None:
    replies = replay.play(recorded(("first", "1"), ("second", "2")))
    client = replay.connect(replies)
    assert ask(client, "second").content[0].text == "2"
    # Its end is the end: the reply of the earlier run is not what comes next.
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(client, "and then?")
    assert isinstance(cause(caught), RepliesExhausted)


@pytest.mark.parametrize(
    ("cassette", "sentence"),
    [
        (
            replay.script("Hi."),
            (
                "No reply is left: the script has 1 reply, and one more was asked "
                'for, to answer the user message "Hello again?". Add a reply to it, '
                "or make a new run to start from the top."
            ),
        ),
        (
            recorded(("Hello?", "Hi.")),
            (
                "No reply is left: the cassette has 1 reply, and one more was asked "
                'for, to answer the user message "Hello again?". Record it anew '
                "(--record rewrite), or make a new run to start from the top."
            ),
        ),
    ],
)
def test_asking_for_more_replies_than_there_are_is_explained(
    cassette: Any, sentence: str, ask: Any
) -> None:
    client = replay.connect(replay.play(cassette))
    ask(client)
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(client, "Hello again?")
    error = cause(caught)
    assert isinstance(error, RepliesExhausted)
    assert error.count == 1
    assert str(error) == sentence


def test_an_empty_script_has_no_reply(ask: Any) -> None:
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(replay.connect(replay.play(replay.script())))
    assert "the script has 0 replies" in str(cause(caught))


def test_a_request_with_a_secret_matches_its_redacted_recording(
    tmp_path: Path, ask: Any
) -> None:
    question = "Is sk-ant-api03-abcdefghijklmnop a key?"
    recorded((question, "It looks like one.")).save(tmp_path / "tape.json")
    client = replay.connect(replay.play(tmp_path / "tape.json"))
    assert ask(client, question).content[0].text == "It looks like one."


def test_a_request_recorded_before_a_secret_was_recognised_matches(ask: Any) -> None:
    question = "Is sk-ant-api03-abcdefghijklmnop a key?"
    client = replay.connect(replay.play(recorded((question, "Yes."))))
    assert ask(client, question).content[0].text == "Yes."


def test_other_requests_cannot_be_played(weather: Any) -> None:
    client = replay.connect(replay.play(weather))
    with pytest.raises(anthropic.APIConnectionError) as caught:
        client.messages.count_tokens(model="claude-opus-5", messages=[])
    error = cause(caught)
    assert isinstance(error, Unplayable)
    assert str(error) == (
        "Cassettes hold replies to POST /v1/messages only, and this was POST "
        "/v1/messages/count_tokens. Send it with another client."
    )
    with pytest.raises(anthropic.APIConnectionError) as caught:
        client.models.list()
    assert "this was GET /v1/models" in str(cause(caught))


def test_a_request_of_a_thread_cannot_be_played(weather: Any) -> None:
    client = replay.connect(replay.play(weather))
    runner = client.beta.messages.tool_runner(
        model="claude-opus-5", max_tokens=9, tools=[], messages=REQUEST["messages"]
    )
    with pytest.raises(anthropic.APIConnectionError) as caught:
        runner.until_done()
    assert str(cause(caught)) == (
        "This request belongs to a message thread: its history is on the server, not "
        "in the request, so no cassette can tell what it continues. Pass thread=False "
        "to tool_runner()."
    )


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_no_message_is_played_as_it_came(*, stream: bool) -> None:
    page = StoredResponse(
        status=502, headers={"content-type": "text/html"}, body="<p>Bad gateway</p>"
    )
    tape = Cassette(
        source="recorded", episodes=(Episode(request=REQUEST, response=page),)
    )
    http = httpx2.Client(transport=replay.play(tape))
    body = {**REQUEST, "stream": stream}
    response = http.post("https://gateway.example/api/v1/messages", json=body)
    assert (response.status_code, response.text) == (502, "<p>Bad gateway</p>")
    assert response.headers["content-type"] == "text/html"


def test_a_body_that_was_cut_breaks_again(ask: Any) -> None:
    half = StoredResponse(body='{"id": "ms', cut=True)
    tape = Cassette(
        source="recorded", episodes=(Episode(request=REQUEST, response=half),)
    )
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(replay.connect(replay.play(tape)))
    assert isinstance(cause(caught), httpx2.ReadError)


def waits(cassette: Cassette, pace: float, *, stream: bool) -> list[float]:
    slept: list[float] = []
    replies = replay.Replies(cassette, pace, sleep=slept.append)
    body = {**REQUEST, "stream": stream}
    httpx2.Client(transport=replies.session()).post("https://x/v1/messages", json=body)
    return [round(wait_s, 3) for wait_s in slept]


def test_at_pace_0_nothing_waits() -> None:
    assert waits(replay.script("Hello there"), 0, stream=True) == []


def test_recorded_gaps_are_kept_at_the_pace_asked_for() -> None:
    (episode,) = replay.script(replay.cut("a", after=4)).episodes
    events = [
        Event(at_s, event.name, event.data)
        for at_s, event in zip(
            (1.0, 1.0, 1.5, 3.5), episode.response.events or (), strict=True
        )
    ]
    tape = Cassette(
        source="recorded",
        episodes=(
            Episode(request=REQUEST, response=StoredResponse(events=tuple(events))),
        ),
    )
    assert waits(tape, 1, stream=True) == [1.0, 0.5, 2.0]
    assert waits(tape, 0.1, stream=True) == [0.1, 0.05, 0.2]


def test_scripted_replies_have_the_pace_of_a_model() -> None:
    assert waits(replay.script("Hi"), 1, stream=True) == [0.4] + [0.03] * 6
    assert waits(replay.script("Hi"), 0.5, stream=False) == [0.2]


@pytest.mark.parametrize("pace", [-0.1, 1.1, "fast", None, True, float("nan")])
def test_a_pace_that_is_no_part_of_the_time_is_refused(weather: Any, pace: Any) -> None:
    with pytest.raises(PaceOutOfRange) as caught:
        replay.play(weather, pace=pace)
    assert str(caught.value) == (
        f"pace={pace!r} is not a number from 0 to 1. 0 plays at once, 1 takes as long "
        "as the recording did."
    )


def test_only_a_cassette_or_its_path_can_be_played() -> None:
    with pytest.raises(NotACassette) as caught:
        replay.play(["Hi"])  # type: ignore[arg-type]
    assert str(caught.value) == (
        "replay.play() was given ['Hi'], of type list. Give the path of a cassette, or "
        "replay.script(...)."
    )


def test_playing_does_not_change_the_cassette(weather: Any, converse: Any) -> None:
    before = copy.deepcopy(weather)
    converse(replay.connect(replay.play(weather)), stream=True)
    assert weather == before
