"""The base of every exception, and how a sentence quotes what was seen."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class NbrunnerError(Exception):
    """Base of every exception that nbrunner raises on purpose."""


class UsageError(NbrunnerError):
    """A call's arguments or a magic's line cannot be used as they stand."""


def close_matches(name: str, known: Iterable[str]) -> list[str]:
    """The known names that someone who wrote `name` may have meant, best first."""
    lowered = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.6)
    return [lowered[match] for match in found]


def brief(value: object, limit: int = 60) -> str:
    """The repr of what was seen, short enough for a sentence."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
