from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import pytest

from nbrunner import replay
from nbrunner.errors import NotATransport

if TYPE_CHECKING:
    from pathlib import Path


def test_a_played_client_needs_no_key_and_does_not_retry(weather: Any) -> None:
    client = replay.connect(replay.play(weather))
    assert isinstance(client, anthropic.Anthropic)
    assert client.api_key == "replayed"
    assert client.max_retries == 0


def test_a_played_client_does_not_send_the_persons_key(
    weather: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the persons key")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "the persons token")
    client = replay.connect(replay.play(weather))
    assert (client.api_key, client.auth_token) == ("replayed", None)


def test_a_live_client_has_the_sdks_own_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the persons key")
    transport = httpx2.MockTransport(lambda _: httpx2.Response(500))
    for given in (transport, replay.record(tmp_path / "tape.json", "once", transport)):
        client = replay.connect(given)
        assert client.api_key == "the persons key"
        assert client.max_retries == anthropic.DEFAULT_MAX_RETRIES
        assert client.timeout == anthropic.DEFAULT_TIMEOUT
        assert replay.source_of(client) == "live"


def test_a_recording_is_played_without_a_key(
    tmp_path: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tape.json"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the persons key")
    recorder = replay.record(path, transport=replay.play(replay.script("Hi.")))
    ask(replay.connect(recorder))
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    for mode in ("once", "none"):
        client = replay.connect(replay.record(path, mode))
        assert ask(client).content[0].text == "Hi."
        assert client.max_retries == 0


def test_the_source_says_where_the_replies_come_from(
    tmp_path: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the persons key")
    path = tmp_path / "tape.json"
    network = replay.play(replay.script("Hi.", "Bye."))
    assert replay.source_of(replay.connect(network)) == "scripted"

    recording = replay.connect(replay.record(path, transport=network))
    assert replay.source_of(recording) == "live"
    ask(recording)
    assert replay.source_of(recording) == "live"

    assert replay.source_of(replay.connect(replay.record(path))) == "recorded"
    assert replay.source_of(replay.connect(replay.play(path))) == "recorded"

    growing = replay.connect(replay.record(path, "new_episodes", network))
    assert replay.source_of(growing) == "live"
    ask(growing)
    assert replay.source_of(growing) == "recorded"
    ask(growing, "Something else?")
    assert replay.source_of(growing) == "live"


def test_the_source_survives_copies_of_the_client(weather: Any) -> None:
    client = replay.connect(replay.play(weather))
    copies = (
        client.with_options(timeout=1, max_retries=2),
        client.copy(),
        client.with_middleware(lambda request, call_next: call_next(request)),
    )
    for copy in copies:
        assert replay.source_of(copy) == "scripted"


def test_a_client_from_elsewhere_is_live() -> None:
    assert replay.source_of(anthropic.Anthropic(api_key="x")) == "live"


def test_a_copy_of_a_client_goes_on_where_the_client_is(weather: Any, ask: Any) -> None:
    client = replay.connect(replay.play(weather))
    ask(client)
    message = ask(client.with_options(timeout=5))
    assert message.content[0].text == "It is 20 degrees."


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("weather.json", "'weather.json' is of type str"),
        (replay.script(), "is of type Cassette"),
        (httpx2.AsyncHTTPTransport(), "is of type AsyncHTTPTransport"),
    ],
)
def test_only_a_transport_can_be_connected(given: Any, what: str) -> None:
    with pytest.raises(NotATransport) as caught:
        replay.connect(given)
    assert what in str(caught.value)
    assert str(caught.value).endswith(
        "Give replay.play(...), replay.record(...) or another httpx2.BaseTransport."
    )
