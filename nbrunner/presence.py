"""Where a run is at home: which shell it runs under, and whether a person is there.

Used by `Run` and the magic; IPython is asked only where it is loaded already.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def current_shell() -> InteractiveShell | None:
    """The IPython shell of this process, if there is one."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython  # noqa: PLC0415 - only where it is loaded

    shell: InteractiveShell | None = get_ipython()
    return shell


def variable_of(value: object) -> str | None:
    """The notebook's variable that holds a value, if one does."""
    shell = current_shell()
    # Copied in one step: a cell may bind names meanwhile.
    held = list(shell.user_ns.items()) if shell is not None else []
    names = [name for name, it in held if it is value and not name.startswith("_")]
    return names[-1] if names else None


LAST_RUN = "_run"
"""The variable that always holds the last run, whatever it is called."""


def keep_at_hand(run: Any) -> None:
    """Leave a run that nothing holds in the notebook, so that its lines of Python work.

    `for message in tool_runner(...)` is such a run: only the loop has it.
    """
    shell = current_shell()
    if shell is not None and not run.has_name:
        shell.user_ns[LAST_RUN] = run
        run.name = LAST_RUN


def someone_is_there(shell: Any) -> bool:
    """Whether a person sits at a front end that can show a panel.

    nbclient, papermill and nbval say in their execute request that nobody can be
    asked (`allow_stdin`); a terminal has no kernel at all.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return False
    request = kernel.get_parent("shell") or {}
    return bool(request.get("content", {}).get("allow_stdin", False))


def is_captured(shell: Any) -> bool:
    """Whether what is displayed now is kept by `%%capture`, and not seen."""
    publisher = getattr(shell, "display_pub", None)
    kind = type(getattr(publisher, "stands_in_for", publisher))
    return kind.__name__ == "CapturingDisplayPublisher"


def is_headless() -> bool:
    """Whether this is a kernel with nobody at it: waiting for a person would hang."""
    shell = current_shell()
    if not hasattr(shell, "kernel"):
        return False
    return not (someone_is_there(shell) or _is_click(shell))


def _is_click(shell: Any) -> bool:
    """Whether the kernel does what a widget's view asked for, and no cell."""
    request = shell.kernel.get_parent("shell") or {}
    return bool(request.get("header", {}).get("msg_type") == "comm_msg")


def main_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of the main thread, where cells are run, if it has one."""
    if threading.current_thread() is threading.main_thread():
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            return None
    # Asked from elsewhere: a click, in a kernel that hears clicks in a thread.
    kernel = getattr(current_shell(), "kernel", None)
    loop: asyncio.AbstractEventLoop | None
    loop = getattr(getattr(kernel, "io_loop", None), "asyncio_loop", None)
    return loop


def cell_name(filename: str) -> str | None:
    """How a notebook calls the cell that a code file holds: `In[3]`."""
    shell = current_shell()
    if shell is None:
        return None
    named = shell.compile.format_code_name(filename)
    return named[1] if named and named[0] == "Cell" else None
