"""Cassettes: the replies of a conversation as a value, and as a file to read.

A cassette is `recorded` (each episode holds its request, so a replay can tell
whether it is still the same conversation) or `scripted` (no requests: its replies
fit any). One that was imported holds requests of another time or program: it is
`recorded` too, but its replies are matched by order.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from nbrunner.core.blocks import JSON, Value
from nbrunner.errors import CassetteUnreadable
from nbrunner.replay.episode import Episode
from nbrunner.replay.writing import FORMAT, VERSION, AnyPath, lines_of, write


class Cassette(Value):
    """The replies of a conversation, in order."""

    source: Literal["scripted", "recorded"]
    matched_by: Literal["request", "order"] = "request"
    """Whether an episode answers the request it was recorded with, or just the next."""

    episodes: tuple[Episode, ...]

    def __repr__(self) -> str:
        return f"<Cassette: {len(self.episodes)} {self.source} replies>"

    __str__ = __repr__

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
        version = content.pop(FORMAT, None) if isinstance(content, dict) else None
        if version is None:
            seen = f"it is JSON, but it has no {FORMAT} version"
            if isinstance(content, list):
                seen += " (a list of exchanges becomes one by replay.import_exchanges)"
            raise CassetteUnreadable.because(path, seen)
        if version != VERSION:
            seen = f"its format is version {version}, this nbrunner reads {VERSION}"
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
        lines = [lines_of(item, path) for item in self.episodes]
        write(path, self.source, lines, self.matched_by)
