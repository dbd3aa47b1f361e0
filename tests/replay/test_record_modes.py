from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import pytest

from nbrunner import replay
from nbrunner.errors import (
    CassetteUnreadable,
    NotATransport,
    ReplyMismatch,
    UnknownRecordMode,
)
from nbrunner.replay.cassette import Cassette

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key for clients that go live")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tape.json"


def answers(*texts: str) -> httpx2.BaseTransport:
    return replay.play(replay.script(*texts))


def stored(path: Path) -> list[Any]:
    return [episode.response for episode in Cassette.load(path).episodes]


def test_mode_none_only_plays(path: Path, ask: Any) -> None:
    network = replay.play(replay.script("live"))
    with pytest.raises(CassetteUnreadable, match="There is no cassette at"):
        replay.record(path, "none", network)
    ask(replay.connect(replay.record(path, transport=answers("taped"))))
    client = replay.connect(replay.record(path, "none", network))
    assert ask(client).content[0].text == "taped"
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(client, "Something else?")
    assert "No reply is left" in str(caught.value.__cause__)
    assert network.requests == []


def test_mode_once_does_not_record_over_or_after_what_is_there(
    path: Path, ask: Any
) -> None:
    ask(replay.connect(replay.record(path, transport=answers("taped"))))
    before = path.read_text()
    network = replay.play(replay.script("live"))
    client = replay.connect(replay.record(path, "once", network))
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(client, "Something else?")
    assert isinstance(caught.value.__cause__, ReplyMismatch)
    assert path.read_text() == before
    assert network.requests == []


def test_mode_new_episodes_plays_what_is_there_and_records_the_rest(
    path: Path, ask: Any
) -> None:
    ask(replay.connect(replay.record(path, transport=answers("1"))), "one")
    network = replay.play(replay.script("2"))
    recorder = replay.record(path, "new_episodes", network)
    for _ in range(2):
        client = replay.connect(recorder)
        assert ask(client, "one").content[0].text == "1"
        assert ask(client, "two").content[0].text == "2"
    assert len(network.requests) == 1
    assert len(stored(path)) == 2


def test_mode_new_episodes_plays_to_the_next_client_what_it_has_just_recorded(
    path: Path, ask: Any
) -> None:
    network = replay.play(replay.script("1"))
    recorder = replay.record(path, "new_episodes", network)
    told = [ask(replay.connect(recorder)).content[0].text for _ in range(2)]
    assert told == ["1", "1"]
    assert len(network.requests) == 1


def test_mode_rewrite_records_everything_again(path: Path, ask: Any) -> None:
    path.write_text("not even a cassette")
    recorder = replay.record(path, "rewrite", answers("new"))
    assert path.read_text() == "not even a cassette"
    ask(replay.connect(recorder))
    (response,) = stored(path)
    assert response.message["content"] == [replay.say("new")]


def test_several_runs_share_a_recorder_and_its_tape(path: Path, ask: Any) -> None:
    recorder = replay.record(path, transport=answers("1", "2"))
    network_left = [
        ask(replay.connect(recorder), question).content[0].text
        for question in ("one", "two")
    ]
    assert network_left == ["1", "2"]
    assert len(recorder.requests) == 2
    again = replay.record(path)
    assert ask(replay.connect(again), "two").content[0].text == "2"
    assert ask(replay.connect(again), "one").content[0].text == "1"


def test_a_script_can_be_played_by_a_recorder_but_not_grow(
    path: Path, ask: Any
) -> None:
    replay.script("Hi.").save(path)
    client = replay.connect(replay.record(path))
    assert ask(client).content[0].text == "Hi."
    assert replay.source_of(client) == "scripted"
    with pytest.raises(CassetteUnreadable) as caught:
        replay.record(path, "new_episodes")
    assert str(caught.value) == (
        f'{path} is a script, and mode="new_episodes" would add recorded replies to '
        'it. Record to another path, or play the script with mode="none".'
    )


def test_an_unknown_mode_is_refused_with_those_there_are(path: Path) -> None:
    with pytest.raises(UnknownRecordMode) as caught:
        replay.record(path, "all")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "'all' is not a record mode. Use one of none, once, new_episodes, rewrite."
    )


def test_only_a_transport_can_be_recorded_from(path: Path) -> None:
    with pytest.raises(NotATransport, match="Not a transport: 'https://x' is of type"):
        replay.record(path, transport="https://x")  # type: ignore[arg-type]


def test_a_recorder_that_only_plays_holds_no_transport(path: Path, ask: Any) -> None:
    ask(replay.connect(replay.record(path, transport=answers("Hi."))))
    recorder = replay.record(path)
    assert not any(isinstance(v, httpx2.HTTPTransport) for v in vars(recorder).values())
    recorder.close()


def test_without_a_transport_the_network_is_recorded(path: Path) -> None:
    with replay.record(path) as recorder:
        assert isinstance(recorder._upstream, httpx2.HTTPTransport)
