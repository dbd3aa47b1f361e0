"""Calls of one reply, made side by side.

The SDK's runner asks for one result after the other, in the model's order. Calls that
were begun ahead have theirs ready, or are waited for, when it asks.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

from nbrunner.loop.errand import Errand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class SideBySide:
    """Calls that are begun at once, each in a thread of its own.

    Args:
        calls: What makes each call, by its id.
    """

    def __init__(self, calls: Mapping[str, Callable[[], Any]]) -> None:
        # Each asks for itself whether it is too late to begin.
        self._errands = {
            call_id: Errand(call, lambda: False) for call_id, call in calls.items()
        }
        for errand in self._errands.values():
            # A tool may never return: no thread of one keeps the kernel from ending.
            threading.Thread(
                target=_make, args=(errand,), name="nbrunner-call", daemon=True
            ).start()

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._errands

    def result(self, call_id: str) -> Any:
        """Wait for a call; returns what it returns, raises what it raises."""
        return self._errands[call_id].result()


def begun_together(gates: Iterable[Any], calls: Iterable[Any]) -> SideBySide:
    """Begin the calls of a reply that need not wait for each other.

    Args:
        gates: What answers them.
        calls: Their `tool_use` blocks, as the SDK holds them. Members of a toolset
            are left out: theirs is a sequence.
    """
    by_name = {gate.name: gate for gate in gates if hasattr(gate, "begins_ahead")}
    return SideBySide(
        {
            call.id: functools.partial(by_name[call.name].answer, call.id, call.input)
            for call in calls
            if call.name in by_name
            and not call.toolset_name
            and by_name[call.name].begins_ahead
        }
    )


def _make(errand: Errand) -> None:
    if errand.begin():
        errand.make()
