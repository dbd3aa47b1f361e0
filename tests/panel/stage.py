"""Recorded events of real runs, and a stage on which a feed follows them again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from nbrunner.core.edits import ChangeTools, EditResult, SetParams, ToggleCache
from nbrunner.core.events import Halted, RunFinished
from nbrunner.core.offers import offers_of
from nbrunner.panel.feed import Feed
from nbrunner.views.page import panel_content
from tests.panel.mini_dom import Node, View, tree
from tests.views.runs import run_of

if TYPE_CHECKING:
    from nbrunner import Run
    from nbrunner.core.events import Event
    from nbrunner.core.transcript import Transcript

PLACES = (
    *("toolu_none", "system", "tools", "request"),
    *(
        f"messages[{message}].content[{block}]"
        for message in (0, 1, 3)
        for block in (0, 1)
    ),
)

Recording = list[tuple["Event", "Transcript"]]


class Stage:
    """A run as far as a feed follows it, with one view of it.

    Attributes:
        sent: The messages of the feed, oldest first.
    """

    name = "run"
    parent = None
    branches = ()

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.sent: list[dict[str, Any]] = []
        self.view = View()
        self.feed = Feed(self, self._send)
        self.feed.snapshot()

    def _send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        self.view.take(message)

    def play(self, *recorded: tuple[Event, Transcript]) -> Stage:
        for event, transcript in recorded:
            self.transcript = transcript
            self.feed.note(event, transcript)
        return self

    def flushed(self) -> list[dict[str, Any]]:
        """The messages that a flush sends."""
        before = len(self.sent)
        self.feed.flush()
        return self.sent[before:]

    @property
    def truth(self) -> Node:
        """What a view that has just said hello is shown."""
        return tree(panel_content(self.transcript, name=self.name))


def recorded(*replies: Any, **given: Any) -> tuple[Transcript, Recording]:
    """A run's transcript before its start, and all that happened then."""
    run = run_of(*replies, **given)
    before, events = run.transcript, []
    run.subscribe(lambda *told: events.append(told))
    run.wait()
    return before, events


def meddled(
    *replies: Any, seed: int, likely: float = 0.2, **given: Any
) -> tuple[Transcript, Recording]:
    """The same with a person in it, who asks for things at any moment."""
    chance = random.Random(seed)  # noqa: S311 - a seed, not a secret
    run = run_of(*replies, hold_on_failure=True, **given)
    before, told, is_asking = run.transcript, [], []

    def listen(event: Event, transcript: Transcript) -> None:
        told.append((event, transcript))
        if is_asking or isinstance(event, RunFinished):
            return
        is_asking.append(True)
        if isinstance(event, Halted):
            (run.retry if event.why == "failed" else run.resume)()
        elif chance.random() < likely:
            _ask(run, transcript, chance)
        is_asking.pop()

    run.subscribe(listen)
    run.wait()
    return before, told


def _ask(run: Run, transcript: Transcript, chance: random.Random) -> None:
    calls = [call.id for i in transcript.iterations for call in i.tool_calls]
    match chance.randrange(9):
        case 0:
            run.pause()
        case 1:
            run.step()
        case 2:
            run.inject(f"note {chance.randrange(100)}")
        case 3 if transcript.waiting:
            run.withdraw(transcript.waiting[0].id)
        case 4 if calls:
            run.submit(EditResult(chance.choice(calls), "edited"), by="person")
        case 5 if transcript.submitted:
            run.withdraw(transcript.submitted[0].edit_id)
        case 6:
            run.submit(SetParams(max_tokens=chance.randrange(100, 999)), by="person")
        case 7:
            tool = chance.choice(offers_of(transcript))
            named = {"removed" if tool.is_on else "added": (tool.name,)}
            run.submit(ChangeTools(**named), by="person")
        case _:
            edit = ToggleCache(
                chance.choice([*calls, *PLACES]), chance.choice(["5m", "1h"])
            )
            run.submit(edit, by=chance.choice(["person", "code"]))
