"""What a tool displays, caught for its call.

Whoever displays is not known here: the gate is given a catcher from above
(`nbrunner.publisher` in a notebook). What it catches is cut down here to what a
transcript can hold: JSON text of the kinds that a page may show, up to a size.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from nbrunner.core.blocks import well_formed
from nbrunner.core.tool_call import Display

Tell: TypeAlias = Callable[[Display, bool], None]
"""Told a display, and whether those before it in the call were cleared."""

Catcher: TypeAlias = Callable[[Tell], AbstractContextManager[None]]
"""Tells what is displayed in its context, while it is open."""

LARGEST_BYTES = 4_000_000
"""One display above this is said to have been there, and not kept."""

_KINDS = (
    *("image/png", "image/jpeg", "image/gif", "image/webp"),
    *("text/html", "text/markdown", "text/plain"),
)


def nothing_caught(_: Tell) -> AbstractContextManager[None]:
    """The catcher where nothing can be displayed."""
    return contextlib.nullcontext()


def display_of(data: Mapping[str, Any], display_id: str | None = None) -> Display:
    """A mime bundle as a transcript holds it.

    Args:
        data: What was published, by media type.
        display_id: The name under which it may be displayed anew.
    """
    kept = {}
    too_large = []
    for kind in _KINDS:
        text = _text(data.get(kind))
        if text is None:
            continue
        if len(text) > LARGEST_BYTES:
            too_large.append(f"{kind} of {len(text):,} characters")
        else:
            kept[kind] = text
    left_out = f"not kept, too large: {', '.join(too_large)}" if too_large else None
    return Display(data=kept, display_id=display_id, left_out=left_out)


def _text(value: Any) -> str | None:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "".join(value)
    return well_formed(value) if isinstance(value, str) else None
