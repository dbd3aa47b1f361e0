from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nbrunner.replay import use
from tests.panel.recording_comm import PATIENCE_S
from tests.panel.threads import Door
from tests.views.runs import run_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner import Run


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
