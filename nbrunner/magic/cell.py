"""A cell with a run in it: shown live while it runs, left behind as a static page."""

from __future__ import annotations

import contextlib
import contextvars
from typing import TYPE_CHECKING, Any

from IPython.display import display

from nbrunner.core.redact import redact
from nbrunner.errors import RunFailed
from nbrunner.presence import someone_is_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from IPython.core.interactiveshell import InteractiveShell
    from IPython.display import DisplayHandle

    from nbrunner.run import Run


class StaticPage:
    """A run's page as it stands now; displaying it later shows the same."""

    def __init__(self, run: Run) -> None:
        self._bundle = {"text/html": run.to_html(), "text/plain": run.to_text()}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return self._bundle


async def awaited(run: Run, shell: InteractiveShell) -> None:
    """Run in this cell; the kernel hears clicks meanwhile.

    Raises:
        RunFailed: The run ended with an error, which also ends Run All.
    """
    with _shown(run, shell):
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
    with _shown(run, shell):
        run.wait()
    _raise_failure(run)


def detached(run: Run) -> None:
    """Show the panel and return; the run goes on in its thread.

    A failed run raises nothing here, since its cell is done: the page tells of it.
    """
    close = _opened(run)
    # Clicks end a run too: what is sent then goes to this cell all the same.
    context = contextvars.copy_context()
    run.start(then=lambda: context.run(close))


@contextlib.contextmanager
def _shown(run: Run, shell: InteractiveShell) -> Iterator[None]:
    """Show the panel while the run goes on, and its static page in the end."""
    if not someone_is_there(shell):
        try:
            yield
        finally:
            display(StaticPage(run))  # type: ignore[no-untyped-call]
        return
    close = _opened(run)
    try:
        yield
    finally:
        close()


def _opened(run: Run) -> Callable[[], None]:
    """Show a live panel; returns what puts the static page in its place.

    A saved widget view reads "model not found" to everyone who opens the notebook
    later, so that has to be called whatever happens.
    """
    panel = run.show()
    handle: DisplayHandle = display(panel, display_id=True)  # type: ignore[no-untyped-call]

    def close() -> None:
        panel.close()
        handle.update(StaticPage(run))  # type: ignore[no-untyped-call]

    return close


def _raise_failure(run: Run) -> None:
    last = run.transcript.last
    if run.stopped_by == "error" and last is not None:
        failure = last.failures[-1]
        # What a cell raises is saved with the notebook.
        raise RunFailed(last.index, redact(failure.message), failure.advice)
