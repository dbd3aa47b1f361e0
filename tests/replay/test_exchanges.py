from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from nbrunner import Run, replay
from nbrunner.errors import CassetteUnreadable, NotAnExchange, RepliesExhausted
from nbrunner.replay import wire
from tests.recordings import NAMES, exchanges, recording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from nbrunner.replay import Cassette

BODY = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "?"}]}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "It is 20 degrees."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
STREAM = "".join(
    f"event: {name}\ndata: {json.dumps(data)}  \n\n"
    for name, data in wire.events_of(MESSAGE)
)
SHAPES: dict[str, dict[str, Any]] = {
    "bodies alone": {"request": BODY, "response": MESSAGE},
    "bodies under body": {
        "request": {"method": "POST", "path": "/v1/messages", "body": BODY},
        "response": {"status": 200, "body": MESSAGE},
    },
    "a stream alone": {"request": BODY, "response": STREAM},
    "a stream under body": {
        "request": {"body": {**BODY, "stream": True}},
        "response": {"content_type": "text/event-stream", "body": STREAM},
    },
}


@pytest.fixture
def imported() -> Cassette:
    return replay.import_exchanges([SHAPES["bodies alone"]])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_an_exchange_of_each_shape_answers_both_kinds_of_request(
    shape: str, ask: Callable[..., Any], *, stream: bool
) -> None:
    replies = replay.play(replay.import_exchanges([SHAPES[shape]]))
    message = ask(replay.connect(replies), stream=stream)
    assert message.content[0].text == "It is 20 degrees."
    assert message.usage.output_tokens == 2


def test_replies_answer_whatever_is_asked_in_their_order(
    ask: Callable[..., Any],
) -> None:
    second = {**MESSAGE, "content": [{"type": "text", "text": "Twenty."}]}
    listed = [
        {"request": BODY, "response": MESSAGE},
        {"request": BODY, "response": second},
    ]
    client = replay.connect(replay.play(replay.import_exchanges(listed)))
    said = [ask(client, f"Another question {n}").content[0].text for n in range(2)]
    assert said == ["It is 20 degrees.", "Twenty."]
    with pytest.raises(Exception, match="Connection error") as caught:
        ask(client)
    assert isinstance(caught.value.__cause__, RepliesExhausted)


def test_the_requests_are_kept_without_stream() -> None:
    cassette = replay.import_exchanges([SHAPES["a stream under body"]])
    assert cassette.episodes[0].request == BODY


def test_a_stream_that_broke_off_is_cut() -> None:
    half = STREAM[: STREAM.index("event: message_delta")]
    cassette = replay.import_exchanges([{"request": BODY, "response": half}])
    assert cassette.episodes[0].response.cut
    whole = replay.import_exchanges([SHAPES["a stream alone"]])
    assert not whole.episodes[0].response.cut


def test_an_error_is_an_answer_too(ask: Callable[..., Any]) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}
    listed = [{"request": BODY, "response": {"status": 529, "body": error}}]
    client = replay.connect(replay.play(replay.import_exchanges(listed)))
    with pytest.raises(Exception, match="Busy") as caught:
        ask(client)
    assert caught.value.status_code == 529  # type: ignore[attr-defined]


def test_a_saved_import_is_still_matched_by_order(
    imported: Cassette, tmp_path: Path, ask: Callable[..., Any]
) -> None:
    path = tmp_path / "imported.json"
    imported.save(path)
    assert replay.Cassette.load(path) == imported
    for transport in (replay.play(path), replay.record(path, "none")):
        assert transport.matched_by_order
        client = replay.connect(transport)
        assert ask(client, "Something else").content[0].text == "It is 20 degrees."


def test_other_cassettes_say_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    replay.script("Hi.").save(path)
    assert "matched_by" not in path.read_text()
    assert not replay.play(path).matched_by_order


def test_an_import_does_not_grow(imported: Cassette, tmp_path: Path) -> None:
    path = tmp_path / "imported.json"
    imported.save(path)
    with pytest.raises(CassetteUnreadable, match="cannot tell which requests are new"):
        replay.record(path, "new_episodes")


def test_a_run_over_an_import_says_so(imported: Cassette) -> None:
    run = Run(client=imported, messages="Another question")
    assert run.source == "recorded"
    run.wait(20)
    assert run.stopped_by == "end_turn"
    assert "recorded replies, matched by order" in run.to_html()
    assert "recorded replies, matched by order" in run.to_text()


def test_a_run_over_other_replies_does_not() -> None:
    run = Run(client=replay.script("Hi."), messages="?")
    assert "matched by order" not in run.to_html() + run.to_text()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([SHAPES["bodies alone"], 7], "Exchange 2 cannot be imported: 7"),
        ([{"request": BODY}], "Exchange 1 cannot"),
        ([{"request": BODY, "response": {"body": 7}}], "Exchange 1 cannot"),
        ([{"request": {"body": "?"}, "response": MESSAGE}], "Exchange 1 cannot"),
        ({"request": BODY, "response": MESSAGE}, "Give a list of {request, response}"),
        (7, "This cannot be imported: 7"),
    ],
)
def test_what_is_no_exchange_is_refused_by_its_number(given: Any, named: str) -> None:
    with pytest.raises(NotAnExchange, match=named):
        replay.import_exchanges(given)


def test_a_file_of_exchanges_is_read_and_a_missing_one_named(tmp_path: Path) -> None:
    path = tmp_path / "exchanges.json"
    with pytest.raises(CassetteUnreadable, match="no cassette at"):
        replay.import_exchanges(path)
    path.write_text("[")
    with pytest.raises(CassetteUnreadable, match=r"exchanges\.json"):
        replay.import_exchanges(path)
    path.write_text(json.dumps([SHAPES["bodies alone"]]))
    assert len(replay.import_exchanges(path).episodes) == 1


def test_playing_a_file_of_exchanges_names_the_importer(tmp_path: Path) -> None:
    path = tmp_path / "exchanges.json"
    path.write_text(json.dumps([SHAPES["bodies alone"]]))
    with pytest.raises(CassetteUnreadable, match=r"replay\.import_exchanges"):
        replay.play(path)


@pytest.mark.parametrize("name", NAMES)
def test_each_real_exchange_is_imported_whole(name: str) -> None:
    cassette = replay.import_exchanges(recording(name))
    kept = exchanges(name)
    assert len(cassette.episodes) == len(kept)
    for episode, exchange in zip(cassette.episodes, kept, strict=True):
        body = exchange["response"]["body"]
        assert episode.response.message is not None
        assert isinstance(body, str) or episode.response.message == body
        assert isinstance(body, str) == (episode.response.events is not None)
        assert not episode.response.cut
