"""What Anthropic's public documentation says of single models.

Read there, not measured: a model that is not listed is unknown, and a view that uses
a number says whose it is.
"""

from __future__ import annotations

import re

SMALLEST_SEEN = (1024, 4096)
"""Between these lie the minimums of all models that are listed."""

_CACHED_FROM = {
    4096: ("opus-4-5", "opus-4-6", "haiku-4-5"),
    2048: ("sonnet-4-6", "3-5-haiku", "3-haiku"),
    1024: (
        *("sonnet-4-5", "sonnet-4", "sonnet-4-0", "3-7-sonnet"),
        *("opus-4-1", "opus-4", "opus-4-0", "3-opus"),
    ),
}
_BY_MODEL = {
    f"claude-{name}": tokens for tokens, names in _CACHED_FROM.items() for name in names
}
_DATED = re.compile(r"(claude-[a-z0-9-]+?)(?:[-@]\d{8}|-latest)?", re.ASCII)


def cached_from_tokens(model: str) -> int | None:
    """How many tokens a prefix has to have for that model to cache it.

    Args:
        model: Its name, with or without its date.

    Returns:
        None where it is not known.
    """
    named = _DATED.fullmatch(model)
    return _BY_MODEL.get(named[1]) if named else None
