"""A failed tool's traceback as text for the person who wrote the tool.

The frames above the tool (the SDK's, pydantic's, ours) are left out, and a file is
named by its cell or package, never by its path on this machine: a saved notebook is
read elsewhere.
"""

from __future__ import annotations

import inspect
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from types import TracebackType

FrameName: TypeAlias = Callable[[str], str | None]
"""Names a code file for a person (`In[3]`), or None for a file it does not know."""

_Level: TypeAlias = tuple[traceback.TracebackException | None, BaseException | None]

_OWN_FRAMES = ("nbrunner.", "anthropic.", "pydantic.", "anyio.")


def tool_traceback(error: BaseException, frame_name: FrameName) -> str:
    """The traceback of an error, from the tool's own first frame down.

    Args:
        error: What the tool raised; its causes are shown too.
        frame_name: How to name the files that hold a person's cells.
    """
    summary = traceback.TracebackException.from_exception(error)
    todo: list[_Level] = [(summary, error)]
    while todo:
        level, raised = todo.pop()
        if level is not None and raised is not None:
            _rewrite(level, raised, frame_name)
            todo.extend(_below(level, raised))
    return "".join(summary.format()).rstrip()


def _rewrite(
    level: traceback.TracebackException, error: BaseException, frame_name: FrameName
) -> None:
    """Leave out the frames above the tool, and rename the files of the rest."""
    frames = level.stack[_frames_above_the_tool(error) :]
    level.stack = traceback.StackSummary.from_list(
        [_renamed(frame, frame_name) for frame in frames]
    )
    if isinstance(getattr(level, "filename", None), str):  # a SyntaxError names one
        level.filename = frame_name(level.filename) or _portable(level.filename)


def _below(level: traceback.TracebackException, error: BaseException) -> list[_Level]:
    """The errors an error came from or is a group of, each with its summary.

    A summary leaves out an error that it has shown before.
    """
    below: list[_Level] = [
        (level.__cause__, error.__cause__),
        (level.__context__, error.__context__),
    ]
    if isinstance(error, BaseExceptionGroup):
        below.extend(zip(level.exceptions or (), error.exceptions, strict=False))
    return below


def tool_frames(error: BaseException) -> TracebackType | None:
    """The traceback of an error from the tool's own first frame down.

    None where the error never passed through the tool.
    """
    frames = error.__traceback__
    for _ in range(_frames_above_the_tool(error)):
        frames = frames.tb_next if frames is not None else None
    return frames


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
    for root in (*_PACKAGE_ROOTS, _here()):
        if root is not None and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.name


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the folder is gone: a tool may do that
        return None


_PACKAGE_ROOTS = tuple(
    Path(sysconfig.get_path(root))
    for root in ("purelib", "platlib", "stdlib", "platstdlib")
)


def signature_line(function: Any, name: str) -> str:
    """How a tool's function is declared, as one line."""
    try:
        return f"{name}{inspect.signature(function)}"
    except (TypeError, ValueError):
        return f"{name}(...)"
