"""Text as every view shows it: secrets out, control characters inert.

A terminal acts on control characters, HTML does not allow them, and the kernel's
messages take no half of a surrogate pair; what a tool or a model wrote may hold any.
"""

from __future__ import annotations

from nbrunner.core.redact import redact

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_INERT = {code: "\ufffd" for code in _CONTROLS if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """The text without secrets, its line ends unified, safe to print and to send."""
    clean = redact(text).replace("\r\n", "\n").replace("\r", "\n").translate(_INERT)
    return clean.encode("utf-8", "replace").decode()
