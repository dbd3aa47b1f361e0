"""Following a run from a test: what it has told so far, and waiting for an event."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

from tests.loop.api_rules import broken_rule
from tests.loop.wire import PATIENCE_S, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner import Run, Transcript
    from nbrunner.core.events import Event

E = TypeVar("E")


class Followed:
    """Notes every event of a run, and lets a test wait for one."""

    def __init__(self, run: Run) -> None:
        self.events: list[Event] = []
        self.transcripts: list[Transcript] = []
        self._told = threading.Condition()
        run.subscribe(self._note)

    def _note(self, event: Event, transcript: Transcript) -> None:
        with self._told:
            self.events.append(event)
            self.transcripts.append(transcript)
            self._told.notify_all()

    def wait_for(self, kind: str, **fields: Any) -> None:
        """Wait until an event of that kind, with those fields, has been told."""

        def came() -> bool:
            return any(
                event.kind == kind
                and all(getattr(event, name) == value for name, value in fields.items())
                for event in self.events
            )

        with self._told:
            assert self._told.wait_for(came, PATIENCE_S), f"no {kind} came"

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


def pause_behind_a_reply(run: Run, followed: Followed) -> None:
    """Start a run that halts when the results of its first reply are there."""
    run.pause()
    run.start()
    followed.wait_for("halted")
    run.step()
    followed.wait_for("results_finished")


def in_another_thread(action: Callable[[], object]) -> None:
    """Do something in a thread of its own, and wait until it is done."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "it did not come back"
    if failed:
        raise failed[0]


def assert_the_api_takes_all(wire: Wire) -> None:
    assert [broken_rule(body) for body in wire.bodies] == [None] * len(wire.bodies)


def workers() -> list[threading.Thread]:
    """The threads of all runs that are at work, or left behind."""
    return [t for t in threading.enumerate() if t.name == "nbrunner-run"]


def join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "it did not come back"
