"""A cell with a run in it: shown live while it runs, left behind as a static page."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from IPython.display import display

from nbrunner.core.redact import redact
from nbrunner.errors import RunFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def someone_is_there(shell: InteractiveShell) -> bool:
    """Whether a person sits at a front end that can show a panel.

    nbclient, papermill and nbval say in their execute request that nobody can be
    asked (`allow_stdin`); a terminal has no kernel at all.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return False
    request = kernel.get_parent("shell") or {}
    return bool(request.get("content", {}).get("allow_stdin", False))


@contextlib.contextmanager
def _shown(run: Run, shell: InteractiveShell) -> Iterator[None]:
    """Show the panel while the run goes on, and its static page in the end.

    A saved widget view reads "model not found" to everyone who opens the notebook
    later, so the page takes its place whatever happens.
    """
    if not someone_is_there(shell):
        try:
            yield
        finally:
            display(StaticPage(run))  # type: ignore[no-untyped-call]
        return
    panel = run.show()
    handle: DisplayHandle = display(panel, display_id=True)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        panel.close()
        handle.update(StaticPage(run))  # type: ignore[no-untyped-call]


def _raise_failure(run: Run) -> None:
    last = run.transcript.last
    if run.stopped_by == "error" and last is not None:
        failure = last.failures[-1]
        # What a cell raises is saved with the notebook.
        raise RunFailed(last.index, redact(failure.message), failure.advice)
