"""The threads of panels, and a tool that keeps a run's own thread inside."""

from __future__ import annotations

import threading
from typing import Any

from anthropic import beta_tool

from tests.panel.recording_comm import PATIENCE_S


def refreshing() -> set[threading.Thread]:
    return {t for t in threading.enumerate() if t.name == "nbrunner-panel"}


def join(threads: set[threading.Thread]) -> None:
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


class Door:
    """A tool that stays inside until it is let out."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()

    def tool(self) -> Any:
        @beta_tool
        def wait() -> str:
            """Wait."""
            self.entered.set()
            assert self.opened.wait(PATIENCE_S)
            return "waited"

        return wait
