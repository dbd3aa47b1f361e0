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
    from nbrunner.core.edits import Compact as Compact
    from nbrunner.core.edits import EditResult as EditResult
    from nbrunner.core.edits import SetMessages as SetMessages
    from nbrunner.core.edits import SetParams as SetParams
    from nbrunner.core.edits import SetSystem as SetSystem
    from nbrunner.core.edits import SetTools as SetTools
    from nbrunner.core.edits import ToggleCache as ToggleCache
    from nbrunner.core.transcript import Transcript as Transcript
    from nbrunner.logs import log as log
    from nbrunner.loop.approval import approve_all as approve_all
    from nbrunner.loop.approval import ask as ask
    from nbrunner.loop.approval import by_tool as by_tool
    from nbrunner.loop.approval import reject_all as reject_all
    from nbrunner.run import Run as Run
    from nbrunner.run import tool_runner as tool_runner

__version__ = "0.1.0"

_HOMES = {
    "Compact": "nbrunner.core.edits",
    "EditResult": "nbrunner.core.edits",
    "Run": "nbrunner.run",
    "SetMessages": "nbrunner.core.edits",
    "SetParams": "nbrunner.core.edits",
    "SetSystem": "nbrunner.core.edits",
    "SetTools": "nbrunner.core.edits",
    "ToggleCache": "nbrunner.core.edits",
    "Transcript": "nbrunner.core.transcript",
    "approve_all": "nbrunner.loop.approval",
    "ask": "nbrunner.loop.approval",
    "by_tool": "nbrunner.loop.approval",
    "reject_all": "nbrunner.loop.approval",
    "log": "nbrunner.logs",
    "tool_runner": "nbrunner.run",
}
__all__ = [
    "Compact",
    "EditResult",
    "Run",
    "SetMessages",
    "SetParams",
    "SetSystem",
    "SetTools",
    "ToggleCache",
    "Transcript",
    "approve_all",
    "ask",
    "by_tool",
    "log",
    "reject_all",
    "replay",
    "tool_runner",
]

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
