"""The file of a cassette: JSON with one stream event a line, and no secrets.

A recorder writes the file anew after each response, so what is costly is done once
for each episode (`lines_of`), and writing is only joining.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from nbrunner.errors import SecretInCassette
from nbrunner.replay.secrets import holds_key, redacted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbrunner.core.blocks import JSON
    from nbrunner.replay.episode import Episode

AnyPath: TypeAlias = str | os.PathLike[str]

FORMAT = "nbrunner_cassette"
VERSION = 1

_LINE = 88
# The file, episodes, episode, response, events: below these, one line each.
_EPISODE_LEVEL = 2
_LAST_LEVEL = 5

_FILE = """{{
 "{format}": {version},
 "source": "{source}",{matched}
 "episodes": [{episodes}]
}}
"""


def lines_of(episode: Episode, path: AnyPath) -> str:
    """An episode as it stands in the file at the path, with its secrets replaced.

    Raises:
        SecretInCassette: A key would still be in it.
    """
    clean = redacted(episode)
    text = _laid_out(clean.model_dump(exclude_defaults=True), _EPISODE_LEVEL)
    if holds_key(text, clean.response):
        raise SecretInCassette(path)
    return text


def write(
    path: AnyPath, source: str, episodes: Iterable[str], matched_by: str = "request"
) -> None:
    """Write the file, whole or not at all."""
    indent = "\n" + " " * _EPISODE_LEVEL
    listed = ",".join(f"{indent}{lines}" for lines in episodes)
    text = _FILE.format(
        format=FORMAT,
        version=VERSION,
        source=source,
        # As most are: a line for what is usual would only be noise.
        matched="" if matched_by == "request" else f'\n "matched_by": "{matched_by}",',
        episodes=listed and f"{listed}\n ",
    )
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # Half a surrogate pair is legal in JSON, as an escape, but not in UTF-8.
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _laid_out(value: JSON, level: int) -> str:
    """JSON text: what fits stands on one line, and so does each single event."""
    line = json.dumps(value, ensure_ascii=False)
    is_short = level + len(line) <= _LINE
    if is_short or level == _LAST_LEVEL or not isinstance(value, dict | list | tuple):
        return line
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(item, level + 1)}"
            for key, item in value.items()
        ]
    else:
        parts = [_laid_out(item, level + 1) for item in value]
    inner, outer = "\n" + " " * (level + 1), "\n" + " " * level
    return line[0] + inner + f",{inner}".join(parts) + outer + line[-1]
