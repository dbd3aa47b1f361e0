"""A run in a cell's output: shown live while it runs, left behind as a static page.

Used by `%%toolrun`, and by the roads of `Run` that block the cell they are called in.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from typing import TYPE_CHECKING, Any, Protocol

from nbrunner.presence import (
    current_shell,
    is_captured,
    keep_at_hand,
    someone_is_there,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from weakref import WeakSet

    from IPython.display import DisplayHandle

    from nbrunner.panel import Panel


class Run(Protocol):
    """A run, as far as it is shown: `nbrunner.Run`."""

    panels: WeakSet[Panel]

    @property
    def is_running(self) -> bool: ...  # noqa: D102
    def when_finished(self, then: Callable[[], object]) -> None: ...  # noqa: D102
    def to_html(self) -> str: ...  # noqa: D102
    def to_text(self) -> str: ...  # noqa: D102


class StaticPage:
    """A run's page as it stands now; displaying it later shows the same."""

    def __init__(self, run: Run) -> None:
        self._bundle = {"text/html": run.to_html(), "text/plain": run.to_text()}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return self._bundle


@contextlib.contextmanager
def shown(run: Run, shell: Any, *, blocks: bool = False) -> Iterator[None]:
    """Show the panel while the run goes on, and its static page in the end.

    Where nobody would see a panel there is the page alone.

    Args:
        run: The run.
        shell: The IPython shell whose cell it is.
        blocks: Whether the cell blocks the kernel meanwhile.
    """
    if is_captured(shell) or not someone_is_there(shell):
        try:
            yield
        finally:
            _display(StaticPage(run))
        return
    close = opened(run, blocks=blocks)
    try:
        yield
    finally:
        close()


@contextlib.contextmanager
def shown_while_blocking(run: Run) -> Iterator[None]:
    """Show the run where the code that waits for it blocks a notebook's cell.

    Nothing is shown where that would be in the way: outside a notebook, in a thread
    (whose displays belong to no cell), with nobody there, or where a panel on this
    run is open already.

        with shown_while_blocking(run):
            ...  # block until the run is over

    Args:
        run: The run.
    """
    shell = current_shell()
    is_cell = threading.current_thread() is threading.main_thread()
    is_seen = is_cell and someone_is_there(shell) and not is_captured(shell)
    if not is_seen or any(panel.is_open for panel in run.panels):
        yield
        return
    with shown(run, shell, blocks=True):
        yield


def opened(run: Run, *, blocks: bool = False) -> Callable[[], None]:
    """Show a live panel; returns what puts the static page in its place.

    A saved widget view reads "model not found" to everyone who opens the notebook
    later, so that has to be called whatever happens.

    Args:
        run: The run.
        blocks: Whether the cell blocks the kernel meanwhile.
    """
    from nbrunner.panel import Panel  # noqa: PLC0415 - loads anywidget

    keep_at_hand(run)
    panel = Panel(run, stands_in=True, blocks=blocks)
    run.panels.add(panel)
    handle: DisplayHandle = _display(panel, display_id=True)

    def leave_page() -> None:
        handle.update(StaticPage(run))  # type: ignore[no-untyped-call]

    def close() -> None:
        panel.retire()
        leave_page()
        for fork in panel.forked:
            _leave_below(fork, then=leave_page)

    return close


def _leave_below(fork: Run, *, then: Callable[[], object]) -> None:
    """Show below a run's page what a person forked in its panel, which is gone now.

    One that is not over keeps a live panel until it is.

    Args:
        fork: What was forked.
        then: Makes the run's page anew, which says how its forks ended.
    """
    if not fork.is_running:
        _display(StaticPage(fork))
        return
    close = opened(fork)

    def end() -> None:
        close()
        then()

    # Clicks end a run too: what is sent then goes to this cell all the same.
    context = contextvars.copy_context()
    fork.when_finished(lambda: context.run(end))


def _display(thing: object, **options: Any) -> Any:
    from IPython.display import display  # noqa: PLC0415 - only in a notebook

    return display(thing, **options)  # type: ignore[no-untyped-call]
