from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nbrunner.replay import use
from tests.panel.recording_comm import PATIENCE_S, RecordingComm
from tests.panel.threads import Door, join, refreshing
from tests.views.runs import run_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbrunner import Run
    from nbrunner.panel import Panel


@pytest.fixture
def held() -> Iterator[tuple[Run, Door]]:
    """A run that is inside a tool."""
    door = Door()
    run = run_of([use("wait")], "Done.", tools=[door.tool()]).start()
    assert door.entered.wait(PATIENCE_S)
    yield run, door
    door.opened.set()
    run.stop()
    run.wait()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Run], Panel]]:
    """A panel on a run, over a comm that records; closed in the end."""
    monkeypatch.setattr("comm.create_comm", RecordingComm)
    panels: list[Panel] = []

    def show(run: Run) -> Panel:
        panels.append(run.show())
        return panels[-1]

    others = refreshing()
    yield show
    for panel in panels:
        panel.close()
    join(refreshing() - others)
