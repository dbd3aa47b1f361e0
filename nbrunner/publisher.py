"""The notebook's display publisher, for as long as a tool runs.

`IPython.utils.capture` puts a publisher of its own in the shell's place, and so
catches what every thread displays meanwhile. Here one stands in that asks a context
variable where the displays of this context go, as `loop.prints` does for prints.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from nbrunner.loop.displays import display_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

    from nbrunner.loop.displays import Tell

_WIDGET = "application/vnd.jupyter.widget-view+json"

_sink: ContextVar[_Sink | None] = ContextVar("nbrunner_displays", default=None)
_installed = threading.Lock()
_users = 0


class _Sink:
    """Where the displays of one call go."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._names: set[str] = set()
        self._clears = False

    def takes(self, data: Any, name: str | None, *, update: bool) -> bool:
        """Whether a display belongs to the call, and not to the cell around it."""
        if not isinstance(data, dict) or _WIDGET in data:
            return False
        return not update or name in self._names

    def take(self, data: dict[str, Any], name: str | None) -> None:
        """Tell a display."""
        if name is not None:
            self._names.add(name)
        clears, self._clears = self._clears, False
        self._tell(display_of(data, name), clears)

    def clear(self) -> None:
        """Let go of what was displayed, when the next display comes.

        Without waiting for it too: a call that clears at its end has shown what it
        had to show.
        """
        self._clears = True


@contextlib.contextmanager
def caught_displays(tell: Tell) -> Iterator[None]:
    """Send what this context displays to `tell`; a `loop.displays.Catcher`."""
    shell = _shell()
    if shell is None:
        yield
        return
    token = _sink.set(_Sink(tell))
    try:
        with _stood_in(shell):
            yield
    finally:
        _sink.reset(token)


def _shell() -> InteractiveShell | None:
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython  # noqa: PLC0415 - only where it is loaded

    shell: InteractiveShell | None = get_ipython()
    return shell


@contextlib.contextmanager
def _stood_in(shell: InteractiveShell) -> Iterator[None]:
    """Keep the stand-in in the publisher's place while any call needs it."""
    global _users  # noqa: PLW0603 - the shell it stands in is one for the process
    with _installed:
        _users += 1
        if not hasattr(shell.display_pub, "stands_in_for"):
            shell.display_pub = _stand_in(shell.display_pub)
    try:
        yield
    finally:
        with _installed:
            _users -= 1
            if _users == 0:
                original = getattr(shell.display_pub, "stands_in_for", None)
                if original is not None:
                    shell.display_pub = original


def _stand_in(original: Any) -> Any:
    """A publisher that hands on what belongs to no call."""
    from IPython.core.displaypub import DisplayPublisher  # noqa: PLC0415 - heavy

    class StandIn(DisplayPublisher):
        stands_in_for = original

        def publish(  # type: ignore[override]
            self, data: Any, metadata: Any = None, **options: Any
        ) -> None:
            sink = _sink.get()
            name = (options.get("transient") or {}).get("display_id")
            update = bool(options.get("update"))
            if sink is not None and sink.takes(data, name, update=update):
                sink.take(data, name)
            else:
                original.publish(data, metadata, **options)

        def clear_output(self, wait: bool = False) -> None:  # noqa: FBT001, FBT002
            sink = _sink.get()
            if sink is not None:
                sink.clear()
            else:
                original.clear_output(wait)

        @property
        def is_publishing(self) -> bool:
            return bool(original.is_publishing)

        def __getattr__(self, name: str) -> Any:
            return getattr(original, name)

    return StandIn()  # type: ignore[no-untyped-call]
