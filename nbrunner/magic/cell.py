"""A cell with a run in it: awaited, blocked by it, or left behind by it."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING

from nbrunner.cell_output import opened, shown
from nbrunner.core.redact import redact
from nbrunner.errors import RunFailed

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbrunner.run import Run


async def awaited(run: Run, shell: InteractiveShell) -> None:
    """Run in this cell; the kernel hears clicks meanwhile.

    Raises:
        RunFailed: The run ended with an error, which also ends Run All.
    """
    with shown(run, shell):
        await run
    _raise_failure(run)


def blocking(run: Run, shell: InteractiveShell) -> None:
    """Run in this cell where it cannot await: under `%%time`, say.

    Raises:
        RunFailed: The run ended with an error.
    """
    with shown(run, shell, blocks=True):
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


def _raise_failure(run: Run) -> None:
    last = run.transcript.last
    if run.stopped_by == "error" and last is not None:
        failure = last.failures[-1]
        # What a cell raises is saved with the notebook.
        raise RunFailed(last.index, redact(failure.message), failure.advice)
