"""The debugger, opened where a tool failed: for `%debug` and `run.debug()`.

Both ask Python for its last error, so both are told of the tool's in the same way.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def point_at(error: BaseException) -> None:
    """Make an error Python's last one: `%debug` opens where it was raised.

    Python keeps it, with its frames and their values, until the next error is shown.
    """
    sys.last_type, sys.last_value = type(error), error
    sys.last_traceback = error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error


def open_at(error: BaseException, shell: InteractiveShell | None) -> None:
    """Open the debugger where an error was raised, and return when it is left.

    Args:
        error: What to look at.
        shell: The IPython shell whose debugger to use; without one it is pdb.
    """
    point_at(error)
    if shell is not None:
        shell.debugger(force=True)  # type: ignore[no-untyped-call]
        return
    import pdb  # noqa: PLC0415, T100 - what was asked for, and only then

    pdb.post_mortem(error.__traceback__)
