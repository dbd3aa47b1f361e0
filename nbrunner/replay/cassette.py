"""Cassettes: the replies of a conversation as a value, and as a file to read.

A cassette is `recorded` (each episode holds its request, so a replay can tell
whether it is still the same conversation) or `scripted` (no requests: its replies
fit any). The file is JSON with one stream event a line, so that the difference of
two recordings can be read.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import ValidationError

from nbrunner.core.blocks import JSON, Value
from nbrunner.errors import CassetteUnreadable, SecretInCassette
from nbrunner.replay.episode import Episode
from nbrunner.replay.secrets import holds_key, redacted

AnyPath: TypeAlias = str | os.PathLike[str]

_FORMAT = "nbrunner_cassette"
_VERSION = 1

_LINE = 88
# Cassette, episodes, episode, response, events: below it, one line each.
_LEVELS = 5


class Cassette(Value):
    """The replies of a conversation, in order."""

    source: Literal["scripted", "recorded"]
    episodes: tuple[Episode, ...]

    @classmethod
    def load(cls, path: AnyPath) -> Cassette:
        """Read a cassette file.

        Raises:
            CassetteUnreadable: There is no such file, or it is not a cassette.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise CassetteUnreadable.missing(path, Path.cwd()) from None
        except OSError as error:
            seen = error.strerror or str(error)
            raise CassetteUnreadable.because(path, seen) from error
        except ValueError as error:
            raise CassetteUnreadable.because(
                path, f"it is not JSON ({error})"
            ) from error
        return cls._from_json(content, path)

    @classmethod
    def _from_json(cls, content: JSON, path: AnyPath) -> Cassette:
        version = content.pop(_FORMAT, None) if isinstance(content, dict) else None
        if version is None:
            seen = f"it is JSON, but it has no {_FORMAT} version"
            raise CassetteUnreadable.because(path, seen)
        if version != _VERSION:
            seen = f"its format is version {version}, this nbrunner reads {_VERSION}"
            raise CassetteUnreadable.because(path, seen)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(step) for step in first["loc"]) or "the top"
            seen = f"at {place}: {first['msg']}"
            raise CassetteUnreadable.because(path, seen) from error

    def save(self, path: AnyPath) -> None:
        """Write the file, whole or not at all, with every secret replaced.

        Raises:
            SecretInCassette: A key would still be in the file; nothing is written.
        """
        episodes = tuple(redacted(episode) for episode in self.episodes)
        stored = Cassette(source=self.source, episodes=episodes)
        content = stored.model_dump(exclude_defaults=True)
        text = _laid_out({_FORMAT: _VERSION, **content}) + "\n"
        if holds_key(text, episodes):
            raise SecretInCassette(path)
        _write(Path(path), text)


def _laid_out(value: JSON, depth: int = 0) -> str:
    """JSON text: what fits stands on one line, and so does each single event."""
    line = json.dumps(value, ensure_ascii=False)
    if depth == _LEVELS or depth + len(line) <= _LINE:
        return line
    match value:
        case dict():
            parts = [
                f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(item, depth + 1)}"
                for key, item in value.items()
            ]
        case list() | tuple():
            parts = [_laid_out(item, depth + 1) for item in value]
        case _:
            return line
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    return line[0] + inner + f",{inner}".join(parts) + outer + line[-1]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # Half a surrogate pair is legal in JSON, as an escape, but not in UTF-8.
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
