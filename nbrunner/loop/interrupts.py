"""The kernel's interrupt (SIGINT), heard while someone awaits a run."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Interrupts:
    """Calls a handler for each SIGINT, in place of KeyboardInterrupt.

    ipykernel takes one SIGINT per async cell and drops the second, so a wait brings
    a handler of its own. Python lets only the main thread set one: elsewhere (a
    console of a subshell) interrupts are not heard.

    Of runs that are awaited side by side all are meant, and they may end in any order:
    each passes the signal on to the one it found, and the last one out clears up.

    Attributes:
        is_over: Whether the wait is over, and the signal is meant for others only.
        found: The handler that was there before.
    """

    def __init__(self, handler: Callable[[], object]) -> None:
        self.is_over = False
        self.found: Any = None
        self._handler = handler

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self.found = signal.signal(signal.SIGINT, self)

    def __exit__(self, *_: object) -> None:
        self.is_over = True
        current: Any = signal.getsignal(signal.SIGINT)
        if current is self:
            found = self.found
            while isinstance(found, Interrupts) and found.is_over:
                found = found.found
            signal.signal(signal.SIGINT, found)

    def __call__(self, number: int, frame: Any) -> None:
        """Hear the signal; Python calls this in the main thread."""
        if not self.is_over:
            self._handler()
        if isinstance(self.found, Interrupts):
            self.found(number, frame)
