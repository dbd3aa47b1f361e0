"""Errors of a tool that holds something of another thread, or of another event loop.

Libraries say so in words of their own and name no way out; places know one.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Affinity: TypeAlias = Literal["thread", "loop"]

_SIGNS: dict[Affinity, re.Pattern[str]] = {
    # asyncio; before the threads, since its sentence names one too
    "loop": re.compile(r"no (current|running) event loop|different (event )?loop"),
    # as sqlite3 says it; as Tk, Qt and matplotlib do; as greenlet and Tcl do
    "thread": re.compile(
        r"in that same thread|main thread|different thread|different apartment",
        re.IGNORECASE,
    ),
}


def affinity_of(error: BaseException) -> Affinity | None:
    """What an error says the tool is bound to, by its words or by those of its causes.

    Args:
        error: What the tool raised.
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        words = _words(cause)
        for affinity, sign in _SIGNS.items():
            if sign.search(words):
                return affinity
        cause = cause.__cause__ or cause.__context__
    return None


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - other people's code; its repr is told elsewhere
        return ""
