"""Fields of content blocks, in whatever shape the wire brought them.

A block may be newer than this version or broken by whoever wrote it; a view shows
it all the same, so nothing here raises.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any


def at(value: Any, *path: str) -> Any:
    """What stands at a path of keys; None where the shape is another."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: Any, *path: str) -> str:
    """The same as text; empty where there is none."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def items_at(value: Any, *path: str) -> list[Any]:
    """The same as a list; a lone object or text is a list of one."""
    found = at(value, *path)
    if isinstance(found, list | tuple):
        return list(found)
    return [found] if isinstance(found, dict | str) else []


def decoded(data: Any) -> bytes | None:
    """The bytes behind base64 text; None where it is none."""
    if not isinstance(data, str):
        return None
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def decoded_size(data: str) -> int:
    """How many bytes a base64 text stands for, without decoding it."""
    return math.floor(len(data.rstrip("=\n")) * 3 / 4)
