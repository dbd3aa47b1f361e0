"""nbrunner: the Anthropic SDK's tool runner in a Jupyter cell.

`%load_ext nbrunner` brings the `%%toolrun` magic; the names below do the same from
Python. Each is loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbrunner import replay as replay
    from nbrunner.core.edits import ToggleCache as ToggleCache
    from nbrunner.core.transcript import Transcript as Transcript
    from nbrunner.logs import log as log
    from nbrunner.run import Run as Run

__version__ = "0.1.0"

_HOMES = {
    "Run": "nbrunner.run",
    "ToggleCache": "nbrunner.core.edits",
    "Transcript": "nbrunner.core.transcript",
    "log": "nbrunner.logs",
}
__all__ = ["Run", "ToggleCache", "Transcript", "log", "replay"]

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name == "replay":
        return importlib.import_module("nbrunner.replay")
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Bring `%%toolrun` into a notebook: `%load_ext nbrunner`."""
    from nbrunner.magic import load  # noqa: PLC0415 - only a notebook needs it

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take `%%toolrun` out again: `%unload_ext nbrunner`."""
    from nbrunner.magic import unload  # noqa: PLC0415 - only a notebook needs it

    unload(shell)
