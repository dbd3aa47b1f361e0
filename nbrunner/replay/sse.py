"""Server-sent events, to bytes and back while the bytes still arrive."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def encode(name: str, data: dict[str, Any] | str) -> bytes:
    """One event as the bytes of a stream."""
    text = data if isinstance(data, str) else json.dumps(data)
    lines = [f"data: {line}\n" for line in text.split("\n")]
    named = [f"event: {name}\n"] if name else []
    return "".join([*named, *lines, "\n"]).encode()


class Decoder:
    """Reads events out of chunks that may break anywhere, even inside a character."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[tuple[str, dict[str, Any] | str]]:
        """The events that this chunk completes; data that is no object stays text."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            text = line.removesuffix(b"\r").decode(errors="replace")
            if text:
                self._read(text)
            elif self._name or self._data:
                yield self._name, as_object("\n".join(self._data))
                self._name, self._data = "", []

    def _read(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)


def as_object(text: str) -> dict[str, Any] | str:
    """The JSON object that the text holds; the text where it holds none."""
    try:
        data = json.loads(text)
    except ValueError:
        return text
    return data if isinstance(data, dict) else text
