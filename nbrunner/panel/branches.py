"""The runs beside the one that a panel shows: made by a click, opened, and watched.

A fork is a run of its own, with its own inbox. The panel shows one run at a time and
turns from one to another; of those beside it, it tells where they stand.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from nbrunner.core import events
from nbrunner.panel.steered import IntentRefused, Steered
from nbrunner.views.relatives import PARENT, SIBLING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from weakref import WeakSet

    from nbrunner.core.transcript import Transcript

    Listener = Callable[[events.Event, Transcript], None]


class Branching(Steered, Protocol):
    """A run, as far as a panel follows its branches: `nbrunner.Run`."""

    panels: WeakSet[Any]

    @property
    def parent(self) -> Branching | None: ...  # noqa: D102
    @property
    def branches(self) -> Sequence[Branching]: ...  # noqa: D102
    def fork(self, at: int | None = None) -> Branching: ...  # noqa: D102
    def start(self) -> object: ...  # noqa: D102
    def subscribe(self, listener: Listener) -> Callable[[], None]: ...  # noqa: D102


def forked(run: Branching, at: int) -> Branching:
    """A branch that waits before its first request.

    A person who forks wants something to be different, so nothing is asked before
    they have said what: "Go on" asks.

    Args:
        run: The run to go another way from.
        at: The iteration that the branch asks anew.

    Raises:
        IntentRefused: The run has no such iteration.
    """
    if at >= len(run.transcript.iterations):
        # The panel shows another run since: a button was pressed twice, say.
        raise IntentRefused(f"{run.name} has no iteration {at + 1}. Nothing was done.")
    fork = run.fork(at)
    # Its inbox has this first: the loop halts before it sends anything.
    fork.pause(by="person")
    fork.start()
    return fork


def beside(run: Branching, key: str) -> Branching:
    """The run beside this one that a click names.

    Raises:
        IntentRefused: There is none.
    """
    found = _around(run).get(key)
    if found is None:
        raise IntentRefused(f"{run.name} has no such branch.")
    return found


def _around(run: Branching) -> dict[str, Branching]:
    """The runs beside a run, by what a click calls them."""
    around = {str(place): branch for place, branch in enumerate(run.branches)}
    if (parent := run.parent) is not None:
        around[PARENT] = parent
        for place, branch in enumerate(parent.branches):
            if branch is not run:
                around[f"{SIBLING}{place}"] = branch
    return around


class Following:
    """Who hears of what: of the run that is shown all, of those beside it little.

    Attributes:
        run: The run that is shown.
    """

    def __init__(
        self, run: Branching, note: Listener, stir: Callable[[], object]
    ) -> None:
        """Follow nothing yet.

        Args:
            run: The run that is shown.
            note: Told every event of it.
            stir: Called where something is new in a run beside it.
        """
        self.run = run
        self._note, self._stir = note, stir
        self._lock = threading.Lock()
        self._is_following = False
        self._followed: list[tuple[Branching, Callable[[], None]]] = []

    def begin(self) -> None:
        """Follow from now on; nothing if it does already."""
        with self._lock:
            if not self._is_following:
                self._is_following = True
                self._follow(self.run, self._note)
                self._follow_beside()

    def end(self, *, if_true: Callable[[], bool] = lambda: True) -> None:
        """Follow nothing any longer.

        Args:
            if_true: Asked while nobody can begin: whether to end it after all.
        """
        with self._lock:
            if if_true():
                self._leave()

    def turn_to(self, run: Branching) -> None:
        """Follow another run, and those beside that one."""
        with self._lock:
            self._leave()
            self.run = run
            self._is_following = True
            self._follow(run, self._note)
            self._follow_beside()

    def catch_up(self) -> None:
        """Follow the branches that were made since.

        Not done where their making is heard of: that is under the lock of their run,
        which is taken inside this one's elsewhere.
        """
        with self._lock:
            if self._is_following:
                self._follow_beside()

    def _follow_beside(self) -> None:
        known = {id(run) for run, _ in self._followed}
        for run in _around(self.run).values():
            if id(run) not in known:
                self._follow(run, self._hear_beside)

    def _follow(self, run: Branching, listener: Listener) -> None:
        self._followed.append((run, run.subscribe(listener)))

    def _leave(self) -> None:
        for _, unsubscribe in self._followed:
            unsubscribe()
        self._followed, self._is_following = [], False

    def _hear_beside(self, event: events.Event, _: Transcript) -> None:
        if not isinstance(event, _OF_NO_MATTER):
            self._stir()


_OF_NO_MATTER = (events.BlockGrew, events.CallPrinted, events.CallDisplayed)
"""What changes nothing of where a run stands, and comes often."""
