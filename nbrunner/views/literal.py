"""JSON values as Python literals, laid out as a person would write them.

Whatever stands in a value came from a model, a tool or a person: it only ever becomes
a literal, never code.
"""

from __future__ import annotations

import builtins
import keyword
import math
from typing import Any

from nbrunner.core.redact import redact

WIDTH = 88
_INDENT = 4

OWN_NAMES = frozenset(
    {"Anthropic", "client", "params", "messages", "runner", "stream", "reply"}
    | {"calls", "block"}
)
"""The names that the code of a run gives to things of its own."""


class Expression(str):
    """A piece of code that stands for itself among values."""

    __slots__ = ()


def literal(value: Any, depth: int = 0, used: int = 0) -> str:
    """A value as Python code, on several lines where it is long.

    Args:
        value: JSON, or an `Expression`, which is taken as it is.
        depth: How deep the line is indented on which it begins.
        used: How much of that line is taken.
    """
    flat = inline(value)
    if len(flat) + depth * _INDENT + used <= WIDTH or isinstance(value, Expression):
        return flat
    if isinstance(value, dict) and value:
        heads = [f"{inline(str(key))}: " for key in value]
        return _opened("{", list(zip(heads, value.values(), strict=True)), "}", depth)
    if isinstance(value, list | tuple) and value:
        return _opened("[", [("", item) for item in value], "]", depth)
    if isinstance(value, str):
        pad = " " * _INDENT * (depth + 1)
        pieces = [pad + _quoted(piece) for piece in _pieces(value, WIDTH - len(pad))]
        if len(pieces) > 1:
            return "\n".join(["(", *pieces, " " * _INDENT * depth + ")"])
    return flat


def inline(value: Any) -> str:
    """A value as Python code on one line.

    Raises:
        TypeError: It is not JSON.
    """
    match value:
        case Expression():
            return str(value)
        case None | bool():
            return repr(value)
        case str():
            return _quoted(value)
        case int():
            return repr(int(value))
        case float():
            return repr(value) if math.isfinite(value) else f'float("{value!r}")'
        case dict():
            items = [f"{inline(str(k))}: {inline(v)}" for k, v in value.items()]
            return "{" + ", ".join(items) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(inline, value)) + "]"
        case _:
            message = f"{type(value).__name__} is no JSON"
            raise TypeError(message)


def is_json(value: Any) -> bool:
    """Whether a value can be written as a literal."""
    try:
        inline(value)
    except TypeError:
        return False
    return True


def is_name(name: Any) -> bool:
    """Whether a tool's name can stand in the code as the tool itself."""
    return (
        isinstance(name, str)
        and name.isascii()  # Python takes other letters for these
        and name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("__")
        and not hasattr(builtins, name)
        and name not in OWN_NAMES
        and redact(name) == name
    )


def _opened(left: str, items: list[tuple[str, Any]], right: str, depth: int) -> str:
    pad = " " * _INDENT * (depth + 1)
    lines = [
        f"{pad}{head}{literal(item, depth + 1, len(head) + 1)}," for head, item in items
    ]
    return "\n".join([left, *lines, " " * _INDENT * depth + right])


def _quoted(text: str) -> str:
    # `repr` escapes what does not print: line ends, surrogates, marks that turn text.
    quoted = repr(str(text))
    if quoted[0] == "'" and '"' not in quoted:
        return f'"{quoted[1:-1]}"'
    return quoted


def _pieces(text: str, room: int) -> list[str]:
    """A text cut behind its line ends, and between words where a line is long."""
    pieces = []
    for line in text.splitlines(keepends=True):
        rest = line
        while len(_quoted(rest)) > room:
            # An escape takes up to ten signs for one.
            share = len(rest) * (room - 2) // len(_quoted(rest)) or 1
            cut = rest.rfind(" ", 0, share) + 1 or share
            pieces.append(rest[:cut])
            rest = rest[cut:]
        pieces.append(rest)
    return pieces
