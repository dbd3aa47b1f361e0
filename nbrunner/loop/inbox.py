"""The inbox of a run: what anyone asks of it, until the loop takes it out."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.core.commands import By, Command

_HEARTBEAT_S = 0.2
"""How soon a wait in the main thread notices an interrupt, at the latest."""


class Inbox:
    """Commands in the order they came. Putting one in is all a handler does."""

    def __init__(self) -> None:
        self._commands: deque[tuple[Command, By]] = deque()
        self._arrived = threading.Condition()

    def put(self, command: Command, by: By) -> None:
        """Leave a command; any thread may."""
        with self._arrived:
            self._commands.append((command, by))
            self._arrived.notify_all()

    def take(self) -> list[tuple[Command, By]]:
        """Take out what there is, which may be nothing."""
        with self._arrived:
            commands = list(self._commands)
            self._commands.clear()
            return commands

    def wait(self, unless: Callable[[], bool]) -> None:
        """Wait until something is there, which stays for `take`.

        Args:
            unless: Whether to give up; asked again at each `stir`.
        """
        with self._arrived:
            # A signal that arrives just before a wait does not end it.
            while not self._arrived.wait_for(
                lambda: bool(self._commands) or unless(), _HEARTBEAT_S
            ):
                pass

    def stir(self) -> None:
        """Let those who wait look whether they are to give up."""
        with self._arrived:
            self._arrived.notify_all()
