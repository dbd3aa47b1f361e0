"""Which fragments of the panel a batch of events touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbrunner.core import events
from nbrunner.core.commands import Decision
from nbrunner.core.edits import EditResult, ToggleCache
from nbrunner.views.context import scale_of
from nbrunner.views.marks import MARKS, holds
from nbrunner.views.words import marks_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbrunner.core.transcript import Transcript
    from nbrunner.views.look import Look

_CALL = (
    events.CallAsked,
    events.CallDecided,
    events.CallStarted,
    events.CallPrinted,
    events.CallDisplayed,
    events.CallFinished,
)
_ITERATION = (
    events.BlockStarted,
    events.CallProposed,
    events.ReplyFinished,
    events.ReplyDropped,
    events.RequestFailed,
    events.RequestResent,
    events.ResultsFinished,
    events.Remarked,
)
_RUN = (
    events.RunStarted,
    events.Halted,
    events.RunHeld,
    events.Resumed,
    events.RunFinished,
)


@dataclass(slots=True)
class Touched:
    """What is to be rendered again.

    Attributes:
        iterations: Indexes of whole iterations.
        calls: Single calls, each by its iteration and its id.
        lines: Indexes of iterations of which only the one line is.
        grown: Streamed blocks that only grew, each by iteration and place.
    """

    iterations: set[int] = field(default_factory=set)
    calls: set[tuple[int, str]] = field(default_factory=set)
    lines: set[int] = field(default_factory=set)
    grown: set[tuple[int, int]] = field(default_factory=set)


def touched_by(noted: Iterable[events.Event], transcript: Transcript) -> Touched:
    """What these events touched."""
    touched = Touched()
    newest = len(transcript.iterations) - 1
    for event in noted:
        if isinstance(event, events.BlockGrew):
            touched.grown.add((event.iteration, event.block))
        elif isinstance(event, _CALL):
            touched.calls.add((event.iteration, event.call_id))
        elif isinstance(event, _ITERATION):
            touched.iterations.add(event.iteration)
        elif isinstance(event, events.IterationStarted):
            # The one before was the newest until now, and open for that.
            touched.iterations.update((event.iteration - 1, event.iteration))
        elif isinstance(event, events.EditApplied):
            touched.calls.update(_edited(event, transcript))
        elif isinstance(event, _RUN):
            touched.iterations.add(newest)
    touched.iterations.discard(-1)
    return touched


def _edited(
    event: events.EditApplied, transcript: Transcript
) -> Iterator[tuple[int, str]]:
    """The call whose result was edited, if one was."""
    if isinstance(event.edit, EditResult):
        found = transcript.find_call(event.edit.call_id)
        if found is not None:
            yield found[0].index, found[1].id


@dataclass(frozen=True, slots=True)
class Standing:
    """What fragments say of the cache marks of the whole run.

    Attributes:
        count: How many marks are set, which every toggle shows.
        scale: How many tokens a full bar of context stands for.
        places: What is said of single places, each with the saying.
    """

    count: str = ""
    scale: int = 1
    places: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, transcript: Transcript) -> Standing:
        """How the marks of a transcript stand."""
        said: set[tuple[str, str]] = set()
        said.update((mark.place, mark.ttl) for mark in transcript.marks)
        for edit in transcript.asked_edits:
            if isinstance(edit, ToggleCache):
                said.add((edit.place, "waits"))
            elif isinstance(edit, EditResult):
                said.add((edit.call_id, "edit waits"))
        if transcript.refused is not None:
            refused, reason = transcript.refused
            if isinstance(refused, ToggleCache):
                said.add((refused.place, reason))
            elif isinstance(refused, Decision):
                said.add((refused.call_id, reason))
        return cls(marks_words(transcript), scale_of(transcript), frozenset(said))

    def changed(self, now: Standing, transcript: Transcript, look: Look) -> Touched:
        """What says something else now."""
        changed = {place for place, _ in self.places ^ now.places}
        recounted = self.count != now.count
        blocks = set(changed)
        if recounted:
            blocks |= {place for place, _ in now.places}
            blocks |= {part.removeprefix(MARKS) for part in look.whole}
        touched = Touched()
        for iteration in transcript.iterations:
            if any(holds(iteration, place) for place in blocks):
                touched.iterations.add(iteration.index)
            for call in iteration.tool_calls:
                if recounted or call.id in changed:
                    touched.calls.add((iteration.index, call.id))
        return touched
