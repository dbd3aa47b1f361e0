"""A failed tool's traceback as text for the person who wrote the tool.

The frames above the tool (the SDK's, pydantic's, ours) are left out, and a file is
named by its cell or package, never by its path on this machine: a saved notebook is
read elsewhere.
"""

from __future__ import annotations

import inspect
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

FrameName: TypeAlias = Callable[[str], str | None]
"""Names a code file for a person (`In[3]`), or None for a file it does not know."""

_OWN_FRAMES = ("nbrunner.", "anthropic.", "pydantic.")


def tool_traceback(error: BaseException, frame_name: FrameName) -> str:
    """The traceback of an error, from the tool's own first frame down.

    Args:
        error: What the tool raised; its causes are shown too.
        frame_name: How to name the files that hold a person's cells.
    """
    summary = traceback.TracebackException.from_exception(error)
    for level, raised in zip(_chain(summary), _raised(error), strict=False):
        _rewrite(level, raised, frame_name)
    return "".join(summary.format()).rstrip()


def _rewrite(
    level: traceback.TracebackException, error: BaseException, frame_name: FrameName
) -> None:
    """Leave out the frames above the tool, and rename the files of the rest."""
    hidden = _frames_above_the_tool(error)
    level.stack = traceback.StackSummary.from_list(
        [_renamed(frame, frame_name) for frame in level.stack[hidden:]]
    )


def _frames_above_the_tool(error: BaseException) -> int:
    modules = [
        frame.f_globals.get("__name__") or ""
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    hidden = 0
    while hidden < len(modules) and modules[hidden].startswith(_OWN_FRAMES):
        hidden += 1
    return hidden


def _renamed(
    frame: traceback.FrameSummary, frame_name: FrameName
) -> traceback.FrameSummary:
    name = frame_name(frame.filename) or _portable(frame.filename)
    return traceback.FrameSummary(
        name, frame.lineno, frame.name, lookup_line=False, line=frame.line
    )


def _portable(filename: str) -> str:
    """A file's name without the machine: below its package root, or its own name."""
    path = Path(filename)
    for root in ("purelib", "platlib", "stdlib", "platstdlib"):
        base = sysconfig.get_path(root)
        if base and path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    if path.is_relative_to(Path.cwd()):
        return path.relative_to(Path.cwd()).as_posix()
    return path.name


def _chain(
    level: traceback.TracebackException | None,
) -> Iterator[traceback.TracebackException]:
    """An exception's summary and those of its causes, as `_raised` walks them."""
    while level is not None:
        yield level
        level = level.__cause__ or level.__context__


def _raised(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or (
            None if error.__suppress_context__ else error.__context__
        )


def signature_line(function: Any, name: str) -> str:
    """How a tool's function is declared, as one line."""
    try:
        return f"{name}{inspect.signature(function)}"
    except (TypeError, ValueError):
        return f"{name}(...)"
