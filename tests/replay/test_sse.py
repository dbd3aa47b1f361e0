from __future__ import annotations

from typing import Any

import pytest

from nbrunner.replay import sse

EVENTS: list[tuple[str, Any]] = [
    ("ping", {"type": "ping"}),
    ("content_block_delta", {"text": "grüße 🙂\n\n"}),
    ("odd", "{not json"),
    ("odd", "two\nlines"),
    ("odd", "[1, 2]"),
    ("message_stop", {}),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_events_are_read_however_the_bytes_are_cut(size: int, newline: bytes) -> None:
    wire = b"".join(sse.encode(*event) for event in EVENTS).replace(b"\n", newline)
    decoder = sse.Decoder()
    chunks = (wire[start : start + size] for start in range(0, len(wire), size))
    assert [event for chunk in chunks for event in decoder.feed(chunk)] == EVENTS


def test_an_event_is_given_as_soon_as_it_is_complete() -> None:
    decoder = sse.Decoder()
    wire = sse.encode("ping", {})
    assert list(decoder.feed(wire[:-1])) == []
    assert list(decoder.feed(wire[-1:])) == [("ping", {})]


def test_characters_that_are_not_ascii_survive_a_cut_inside_them() -> None:
    decoder = sse.Decoder()
    wire = 'event: e\ndata: {"t": "ü"}\n\n'.encode()
    cut = wire.index("ü".encode()) + 1
    assert list(decoder.feed(wire[:cut])) == []
    assert list(decoder.feed(wire[cut:])) == [("e", {"t": "ü"})]


def test_comments_and_other_fields_are_passed_over() -> None:
    decoder = sse.Decoder()
    lines = b": hello\n\nid: 7\nretry: 10\nevent:e\ndata:{}\n\n"
    assert list(decoder.feed(lines)) == [("e", {})]
