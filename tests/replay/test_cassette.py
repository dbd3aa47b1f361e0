from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner import replay
from nbrunner.errors import CassetteUnreadable, SecretInCassette
from nbrunner.replay import secrets, wire
from nbrunner.replay.cassette import Cassette
from nbrunner.replay.episode import Episode, Event, StoredResponse, timed

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-ant-api03-" + "Ab1_" * 20


def streamed(message: dict[str, Any], request: Any = None) -> Cassette:
    response = StoredResponse(events=timed(wire.events_of(message)))
    return Cassette(
        source="recorded", episodes=(Episode(request=request or {}, response=response),)
    )


def whole(content: Any) -> dict[str, Any]:
    (episode,) = replay.script(content).episodes
    message = episode.response.message
    assert message is not None
    return message


def told_in_pieces(text: str) -> Cassette:
    deltas = [
        {"delta": {"type": "text_delta", "text": text[start : start + 5]}}
        for start in range(0, len(text), 5)
    ]
    response = StoredResponse(events=timed(("content_block_delta", d) for d in deltas))
    return Cassette(
        source="recorded", episodes=(Episode(request={}, response=response),)
    )


def saved(cassette: Cassette, path: Path) -> str:
    cassette.save(path)
    return path.read_text(encoding="utf-8")


def test_a_saved_cassette_loads_as_the_same_value(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "tape.json"
    scripted = replay.script(
        [replay.think("hm"), replay.use("f", x="ü🙂\n")],
        replay.fail(529, headers={"retry-after": "1"}),
        replay.cut("one two three four", after=4, error="drop"),
    )
    for cassette in (scripted, streamed(whole("Hi"), {"model": "m", "messages": []})):
        cassette.save(path)
        assert Cassette.load(path) == cassette
        assert Cassette.load(str(path)) == cassette
    assert [child.name for child in path.parent.iterdir()] == ["tape.json"]


def test_the_file_has_a_version_and_one_event_a_line(tmp_path: Path) -> None:
    long = "many words " * 20
    cassette = streamed(whole(long), {"model": "m", "messages": [replay.say(long)] * 2})
    text = saved(cassette, tmp_path / "tape.json")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[1] == '"nbrunner_cassette": 1,'
    assert lines[2] == '"source": "recorded",'
    events = cassette.episodes[0].response.events
    assert events is not None
    assert sum(line.startswith(("[0", "[1")) for line in lines) == len(events)
    assert sum(line.startswith('{"type": "text"') for line in lines) == 2


def test_a_long_text_and_no_episodes_at_all_can_be_saved(tmp_path: Path) -> None:
    page = Episode(request={}, response=StoredResponse(body="<p>" * 100))
    for episodes in ((), (page,)):
        cassette = Cassette(source="recorded", episodes=episodes)
        cassette.save(tmp_path / "tape.json")
        assert Cassette.load(tmp_path / "tape.json") == cassette


def test_text_that_is_not_ascii_stays_readable(tmp_path: Path) -> None:
    assert "Grüße 🙂" in saved(replay.script("Grüße 🙂"), tmp_path / "tape.json")


def test_half_a_surrogate_pair_survives(tmp_path: Path) -> None:
    cassette = replay.script("half \ud83d")
    cassette.save(tmp_path / "tape.json")
    assert Cassette.load(tmp_path / "tape.json") == cassette


def test_a_failed_save_leaves_the_old_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tape.json"
    before = saved(replay.script("old"), path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        replay.script("new").save(path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_cassette_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CassetteUnreadable) as caught:
        replay.play("weather.json")
    assert str(caught.value) == (
        f"There is no cassette at weather.json, seen from {tmp_path}. Check the path "
        "(it starts from the notebook's folder), or record one with a key: "
        'replay.record("weather.json") (in a cell: --cassette weather.json --record '
        "once)."
    )


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"", "it is not JSON (Expecting value: line 1 column 1 (char 0))"),
        (b"\xff\xfe", "it is not JSON ('utf-8' codec can't decode"),
        (b"interactions:\n- request: {}", "it is not JSON (Expecting value"),
        (b"[]", "it is JSON, but it has no nbrunner_cassette version"),
        (b'{"cells": []}', "it is JSON, but it has no nbrunner_cassette version"),
        (
            b'{"nbrunner_cassette": 2}',
            "its format is version 2, this nbrunner reads 1",
        ),
        (b'{"nbrunner_cassette": 1}', "at source: Field required"),
        (
            b'{"nbrunner_cassette": 1, "source": "recorded", "episodes": [{"x": 1}]}',
            "at episodes.0.response: Field required",
        ),
        (
            (
                b'{"nbrunner_cassette": 1, "source": "recorded", "episodes":'
                b' [{"response": {}}]}'
            ),
            "at episodes.0.response: Value error, a response holds either events",
        ),
    ],
)
def test_a_file_that_is_no_cassette_is_explained(
    tmp_path: Path, content: bytes, seen: str
) -> None:
    path = tmp_path / "tape.json"
    path.write_bytes(content)
    with pytest.raises(CassetteUnreadable) as caught:
        Cassette.load(path)
    assert f"{path} cannot be read as a cassette: {seen}" in str(caught.value)
    assert str(caught.value).endswith(
        'Mend the file, or record it again with mode="rewrite" (in a cell: --record '
        "rewrite)."
    )


def test_a_folder_is_no_cassette(tmp_path: Path) -> None:
    with pytest.raises(CassetteUnreadable, match="Is a directory"):
        Cassette.load(tmp_path)


def test_a_key_is_replaced_wherever_it_stands(tmp_path: Path) -> None:
    request = {"system": f"key {KEY}", "messages": [{"content": [{"text": KEY}]}]}
    response = StoredResponse(
        status=401, headers={"request-id": KEY}, body={"error": {"message": KEY}}
    )
    tape = Cassette(
        source="recorded",
        episodes=(
            Episode(request=request, response=response),
            Episode(response=StoredResponse(body=f"<p>{KEY}</p>")),
        ),
    )
    text = saved(tape, tmp_path / "tape.json")
    assert "sk-ant" not in text
    assert text.count("[redacted]") == 5


@pytest.mark.parametrize(
    ("secret", "left"),
    [
        (KEY, "[redacted]"),
        ('"api_key": "hunter22hunter22"', '"api_key": "[redacted]"'),
    ],
)
@pytest.mark.parametrize(
    "block",
    [
        lambda secret: replay.say(f"Your key is {secret} , keep it."),
        lambda secret: replay.think(f"the key {secret} was in the file"),
        lambda secret: {**replay.use("save", text=f"key {secret} end"), "id": "t"},
    ],
)
def test_a_secret_that_is_streamed_in_pieces_is_replaced(
    tmp_path: Path, block: Any, secret: str, left: str
) -> None:
    original = streamed(whole([block(secret), replay.say("Done.")]))
    path = tmp_path / "tape.json"
    original.save(path)
    loaded = Cassette.load(path)
    message = loaded.episodes[0].response.message
    assert message is not None
    assert message["content"] == [block(left), replay.say("Done.")]
    old, new = original.episodes[0].response.events, loaded.episodes[0].response.events
    assert old is not None
    assert new is not None
    assert (new[0].at_s, new[-1].at_s) == (old[0].at_s, old[-1].at_s)
    assert list(new) == sorted(new, key=lambda event: event.at_s)


def test_of_a_broken_stream_that_tells_a_secret_only_the_opening_is_kept(
    tmp_path: Path,
) -> None:
    tape = replay.script(replay.cut(f"Your key is {KEY}", after=7, error="drop"))
    tape.save(tmp_path / "tape.json")
    response = Cassette.load(tmp_path / "tape.json").episodes[0].response
    assert [name for name, _ in response.stream] == ["message_start"]
    assert response.cut


def test_a_stream_without_secrets_keeps_its_pieces_and_times(tmp_path: Path) -> None:
    tape = streamed(whole("Nothing to hide here, nothing at all."))
    tape.save(tmp_path / "tape.json")
    assert Cassette.load(tmp_path / "tape.json") == tape


@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_cassette_with_a_key_left_in_it_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_pieces: bool
) -> None:
    monkeypatch.setattr(secrets, "redact_json", lambda value: value)
    path = tmp_path / "tape.json"
    tape = told_in_pieces(KEY) if in_pieces else replay.script(KEY)
    with pytest.raises(SecretInCassette) as caught:
        tape.save(path)
    assert str(caught.value) == (
        f"{path} was not written: an API key is still in what it would hold. Take the "
        "key out of the prompt, the tools' results and the replies, then record again."
    )
    assert not path.exists()


def test_an_event_that_is_no_json_is_kept_as_it_came(tmp_path: Path) -> None:
    response = StoredResponse(events=(Event(0.1, "odd", "{not json"),))
    tape = Cassette(
        source="recorded", episodes=(Episode(request={}, response=response),)
    )
    tape.save(tmp_path / "tape.json")
    assert Cassette.load(tmp_path / "tape.json") == tape
    assert response.message is None
