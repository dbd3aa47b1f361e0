"""Secrets out: what disk writers and renderers pass every text through.

What goes to Claude is not changed by it. The patterns know the shapes of common
keys, and assignments whose name says that the value is secret; a secret of no
known shape, told as plain prose, is not recognised.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from nbrunner.core.blocks import JSON

REDACTED = "[redacted]"

_KEY_SHAPES = re.compile(
    r"""
      sk-ant-[\w-]+                           # Anthropic
    | \bsk-(?:proj-|live-|test-)?[\w-]{20,}   # OpenAI, Stripe and lookalikes
    | \bAKIA[0-9A-Z]{16}\b                    # AWS access key id
    | \bgh[pousr]_\w{20,}                     # GitHub
    | \bgithub_pat_\w{20,}
    | \bxox[abprs]-[\w-]{10,}                 # Slack
    | \bAIza[\w-]{35}                         # Google
    | \bhf_[A-Za-z]{20,}                      # Hugging Face
    | \beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+    # a JSON web token
    """,
    re.VERBOSE,
)
_BEARER = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}")
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
_TELLING_NAME = (
    r"[\w-]{0,64}"
    r"(?:api[_-]?key|secret|passw(?:or)?d|token(?!s)|authorization|private[_-]?key)"
    r"[\w-]{0,64}"
)
# The bounds keep the search linear in a text that is one long word.
_NAMED = re.compile(
    rf"""(?ix)
    (?<![\w-])({_TELLING_NAME}["']?\s{{0,8}}[:=]\s{{0,8}}["']?(?:(?:basic|bearer)\s+)?)
    (?!\[redacted\]|(?:basic|bearer)\s)[^\s"',;&}})\]]{{6,}}
    """,
)
_SECRET_KEY = re.compile(rf"(?i){_TELLING_NAME}")


class _Shape(NamedTuple):
    """What a secret looks like, and how to see quickly that a text holds none.

    Attributes:
        pattern: What is found.
        instead: What stands in its place.
        signs: One of these is in every text that the pattern finds something in, once
            case is folded. To look for them takes a tenth of the time.
    """

    pattern: re.Pattern[str]
    instead: str
    signs: tuple[str, ...]


_KEYS = ("sk-", "akia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox")
# No sign has an i: patterns that ignore case take the dotless one for it.
_NAMES = ("key", "secret", "passw", "token", "author")
_SHAPES = (
    _Shape(_KEY_SHAPES, REDACTED, (*_KEYS, "aiza", "hf_", "eyj")),
    _Shape(_BEARER, rf"\1{REDACTED}", ("bearer",)),
    _Shape(_IN_ADDRESS, REDACTED, ("://",)),
    _Shape(_NAMED, rf"\1{REDACTED}", _NAMES),
)


@overload
def redact(text: str) -> str: ...
@overload
def redact(text: None) -> None: ...
def redact(text: str | None) -> str | None:
    """The text with every recognised secret replaced by `[redacted]`."""
    if text is None:
        return None
    folded = text.casefold()
    for shape in _SHAPES:
        for sign in shape.signs:
            if sign in folded:
                text = shape.pattern.sub(shape.instead, text)
                break
    return text


def redact_json(value: JSON) -> JSON:
    """A copy of a JSON value with every string in it, keys included, redacted.

    A text under a key that says it is secret goes, whatever its shape.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact_json(key): redact_item(key, it) for key, it in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(item) for item in value]
    return value


def redact_item(key: JSON, item: JSON) -> JSON:
    """The same of what stands under a key."""
    secret = isinstance(item, str) and item and _SECRET_KEY.fullmatch(str(key))
    return REDACTED if secret else redact_json(item)
