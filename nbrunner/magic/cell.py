"""A cell with a run in it: awaited, blocked by it, or left behind by it."""

from __future__ import annotations

import contextlib
import contextvars
from typing import TYPE_CHECKING, Any

from nbrunner.cell_output import opened, shown
from nbrunner.core.redact import redact
from nbrunner.debugger import point_at
from nbrunner.errors import RunFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

    from nbrunner.run import Run


async def awaited(run: Run, shell: InteractiveShell) -> None:
    """Run in this cell; the kernel hears clicks meanwhile.

    Raises:
        RunFailed: The run ended with an error, which also ends Run All.
    """
    with _debuggable(run, shell), shown(run, shell):
        if run.transcript.is_gated and not hasattr(shell, "kernel"):
            # A terminal shows no panel: what is asked is asked by input().
            run.wait()
        else:
            await run
    _raise_failure(run)


def blocking(run: Run, shell: InteractiveShell) -> None:
    """Run in this cell where it cannot await: under `%%time`, say.

    Raises:
        RunFailed: The run ended with an error.
    """
    with _debuggable(run, shell), shown(run, shell, blocks=True):
        run.wait()
    _raise_failure(run)


def detached(run: Run) -> None:
    """Show the panel and return; the run goes on in its thread.

    A failed run raises nothing here, since its cell is done: the page tells of it.
    """
    close = opened(run)
    # Clicks end a run too: what is sent then goes to this cell all the same.
    context = contextvars.copy_context()
    run.start(then=lambda: context.run(close))


@contextlib.contextmanager
def _debuggable(run: Run, shell: InteractiveShell) -> Iterator[None]:
    """Let `%debug` in the next cell open where a tool of this one failed."""
    before = run.exception()
    try:
        yield
    finally:
        error = run.exception()
        if error is not None and error is not before:
            _point_at_once_done(error, shell)


def _point_at_once_done(error: BaseException, shell: InteractiveShell) -> None:
    """Point `%debug` at an error when the cell is over.

    Of a cell that raises, IPython makes what it raised the last error, and the frames
    of that are ours.
    """

    def point(*_: Any) -> None:
        shell.events.unregister("post_run_cell", point)
        point_at(error)

    shell.events.register("post_run_cell", point)


def _raise_failure(run: Run) -> None:
    last = run.transcript.last
    if run.stopped_by == "error" and last is not None:
        failure = last.failures[-1]
        # What a cell raises is saved with the notebook.
        raise RunFailed(last.index, redact(failure.message), failure.advice)
