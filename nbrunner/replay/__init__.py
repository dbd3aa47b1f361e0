"""Replies without a network: recorded once, or written by hand, and played back.

    client = replay.connect(replay.play("weather.json"))
    client = replay.connect(replay.record("weather.json"))
    client = replay.connect(replay.play(replay.script("It is 20 degrees.")))
    client = replay.connect(replay.play(replay.import_exchanges("exchanges.json")))

`connect` and `source_of` load the SDK when they are first named; the rest does not,
so that cassettes can be made and read where the SDK cannot be installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from nbrunner.replay.cassette import Cassette
from nbrunner.replay.exchanges import import_exchanges
from nbrunner.replay.recorder import Recorder, record
from nbrunner.replay.script import cut, fail, reply, say, script, think, use
from nbrunner.replay.transport import Replies, play

if TYPE_CHECKING:
    from nbrunner.replay.client import connect, source_of

__all__ = [
    "Cassette",
    "Recorder",
    "Replies",
    "connect",
    "cut",
    "fail",
    "import_exchanges",
    "play",
    "record",
    "reply",
    "say",
    "script",
    "source_of",
    "think",
    "use",
]


def __getattr__(name: str) -> Any:
    if name in ("connect", "source_of"):
        return getattr(importlib.import_module("nbrunner.replay.client"), name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
