"""The feed: a run's events, gathered into few messages to a panel's views.

The listener only notes the event. On each tick of a refresh clock the fragments that
the noted events touched are rendered and sent as one patch: a token is never a
message of its own, and a burst of them cannot run into the server's rate limit.
Messages are numbered; a view that sees a gap asks for a snapshot.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from nbrunner.core import events
from nbrunner.panel.parts import holder_of
from nbrunner.panel.steered import IntentRefused
from nbrunner.panel.touched import Standing, Touched, touched_by
from nbrunner.views.branches import (
    BRANCHES_KEY,
    ORIGIN_KEY,
    branches_fragment,
    origin_fragment,
)
from nbrunner.views.call import call_fragment, call_key
from nbrunner.views.iteration import (
    iteration_fragment,
    iteration_key,
    summary_fragment,
    summary_key,
)
from nbrunner.views.look import Look
from nbrunner.views.next_request import NEXT_KEY, next_fragment
from nbrunner.views.page import (
    bar_fragment,
    panel_content,
    send_fragment,
)
from nbrunner.views.printable import printable
from nbrunner.views.relatives import relatives_of
from nbrunner.views.reply import stream_key, streamed_text
from nbrunner.views.waiting import (
    EDITS_KEY,
    WAITING_KEY,
    edits_fragment,
    waiting_fragment,
)
from nbrunner.views.words import cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.transcript import Transcript
    from nbrunner.views.relatives import Related, Relatives

Send: TypeAlias = Callable[[dict[str, Any]], None]
Change: TypeAlias = dict[str, str]

_LONGEST_REFUSAL = 500


class Feed:
    """What a panel's views know, and how they are told what is new.

    Attributes:
        changed: Set while there is something to tell.
        home: The page that gets what is to take the panel's place, if anything is.
    """

    def __init__(self, run: Related, send: Send, *, blocks: bool = False) -> None:
        self.changed = threading.Event()
        self.home: str | None = None
        self._run, self._send, self._blocks = run, send, blocks
        self._look = Look(name=run.name, live=True)
        self._compared: frozenset[str] = frozenset()
        self._lock = threading.RLock()
        self._noted: deque[events.Event] = deque()
        self._sequence = 0
        # What the views hold.
        self._frame: dict[str, str] = {}
        self._standing = Standing()
        self._streams: dict[str, str] = {}
        self._line: Change = {}

    def note(self, event: events.Event, _: Transcript) -> None:
        """Note that an event happened; called in the thread of the event."""
        self._noted.append(event)
        self.changed.set()

    def snapshot(self, *, answers: bool = False) -> None:
        """Send everything, for a view that knows nothing.

        Args:
            answers: Whether a view has asked, and so can be heard.
        """
        with self._lock:
            # Noted first, told after: what is taken out here is in the transcript.
            self._noted.clear()
            transcript = self._run.transcript
            self._standing = Standing.of(transcript)
            self._look = self._looking()
            self._frame = self._framing(transcript)
            self._remember(transcript)
            content = panel_content(
                transcript,
                name=self._look.name,
                whole=self._look.whole,
                blocks=self._blocks,
                relatives=self._relatives(),
            )
            message = {"op": "snapshot", "html": str(content), "answers": answers}
            self._tell(message if self.home is None else {**message, "home": self.home})

    def flush(self) -> None:
        """Send what has changed since the last message, if anything has."""
        with self._lock:
            self.changed.clear()
            noted = [self._noted.popleft() for _ in range(len(self._noted))]
            transcript = self._run.transcript
            touched = touched_by(noted, transcript)
            if not all(isinstance(event, events.BlockGrew) for event in noted):
                self._add_changed_standing(touched, transcript)
            # A fragment can be touched twice; it is sent once.
            changes = {c["key"]: c for c in self._changes(transcript, touched)}
            if changes:
                self._tell({"op": "patch", "changes": list(changes.values())})

    def show_all(self, part: str) -> None:
        """Show a long text whole, or a level of JSON, in all views and from now on.

        Raises:
            IntentRefused: There is no such part.
        """
        with self._lock:
            look = replace(self._look, whole=self._look.whole | {part})
            change = holder_of(part, self._run.transcript, look)
            if change is None:
                raise IntentRefused("That is no longer part of the run.")
            self._look = look
            self._tell({"op": "patch", "changes": [change]})

    def turn_to(self, run: Related, follow: Callable[[], object]) -> None:
        """Show another run from now on.

        Args:
            run: The run to show.
            follow: Called while nothing is told: from then on its events are noted,
                and those of the run before are not.
        """
        with self._lock:
            self._run, self._compared = run, frozenset()
            self._look = Look(name=run.name, live=True)
            follow()
            self.snapshot()

    def compare(self, key: str) -> None:
        """Show in all views what differs from a run beside this one, or hide it."""
        with self._lock:
            self._compared ^= {key}
            self.changed.set()

    def refuse(self, reason: str) -> None:
        """Tell the views why a click was not obeyed."""
        with self._lock:
            self._tell({"op": "refused", "reason": cut(reason, _LONGEST_REFUSAL)[0]})

    def _tell(self, message: dict[str, Any]) -> None:
        self._sequence += 1
        self._send({**message, "seq": self._sequence})

    def _changes(self, transcript: Transcript, touched: Touched) -> Iterator[Change]:
        yield from self._changed_frame(transcript)
        grown = list(self._grown(transcript, touched))
        for index in sorted(touched.iterations):
            html = str(iteration_fragment(transcript, index, self._look))
            yield {"key": iteration_key(index), "html": html, "into": "iterations"}
        if touched.iterations:
            self._remember(transcript)
        yield from self._changed_calls(transcript, touched)
        for index in sorted(touched.lines - touched.iterations):
            yield self._summary(transcript, index)
        for index, change in grown:
            if index not in touched.iterations:
                yield change
                yield from self._changed_line(transcript, index)

    def _framing(self, transcript: Transcript) -> dict[str, str]:
        """The fragments around the iterations: small, and touched by most events."""
        look, relatives = self._look, self._relatives()
        return {
            "bar": str(bar_fragment(transcript, look)),
            EDITS_KEY: str(edits_fragment(transcript, look)),
            WAITING_KEY: str(waiting_fragment(transcript, look)),
            "send": str(send_fragment(transcript, look)),
            NEXT_KEY: str(next_fragment(transcript, look)),
            ORIGIN_KEY: str(origin_fragment(transcript, relatives, look)),
            BRANCHES_KEY: str(branches_fragment(transcript, relatives, look)),
        }

    def _relatives(self) -> Relatives:
        return relatives_of(self._run, self._compared)

    def _changed_frame(self, transcript: Transcript) -> Iterator[Change]:
        known, self._frame = self._frame, self._framing(transcript)
        for key, html in self._frame.items():
            if known.get(key) != html:
                yield {"key": key, "html": html}

    def _add_changed_standing(self, touched: Touched, transcript: Transcript) -> None:
        known, self._standing = self._standing, Standing.of(transcript)
        changed = known.changed(self._standing, transcript, self._look)
        self._look = self._looking()
        touched.calls |= changed.calls
        touched.iterations |= changed.iterations
        if known.scale != self._standing.scale:
            touched.lines.update(range(len(transcript.iterations)))

    def _looking(self) -> Look:
        standing = self._standing
        return replace(self._look, marks=standing.count, scale=standing.scale)

    def _changed_calls(
        self, transcript: Transcript, touched: Touched
    ) -> Iterator[Change]:
        for index, call_id in sorted(touched.calls):
            iteration = transcript.iterations[index]
            call = iteration.call(call_id)
            if index in touched.iterations or call is None:
                continue
            html = str(call_fragment(transcript, iteration, call, self._look))
            yield {"key": call_key(iteration, call), "html": html}
            yield self._summary(transcript, index)

    def _grown(
        self, transcript: Transcript, touched: Touched
    ) -> Iterator[tuple[int, Change]]:
        """What streamed blocks gained; one whose text changed is rendered anew."""
        for index, place in sorted(touched.grown):
            blocks = transcript.iterations[index].blocks
            if place >= len(blocks):
                continue
            key = stream_key(index, place)
            known = self._streams.get(key)
            text = printable(streamed_text(blocks[place]))
            if known is None or not text.startswith(known):
                # New, or a secret has shown itself in what was sent before.
                touched.iterations.add(index)
                continue
            self._streams[key] = text
            yield index, {"key": key, "text": text[len(known) :]}

    def _changed_line(self, transcript: Transcript, index: int) -> Iterator[Change]:
        """The iteration's one line, which shows the first words as they come."""
        known, self._line = self._line, self._summary(transcript, index)
        if self._line != known:
            yield self._line

    def _summary(self, transcript: Transcript, index: int) -> Change:
        html = str(summary_fragment(transcript, index, self._look))
        return {"key": summary_key(index), "html": html}

    def _remember(self, transcript: Transcript) -> None:
        """What the views now hold of the reply that streams."""
        last = transcript.last
        if last is None:
            return
        self._streams = {
            stream_key(last.index, place): printable(streamed_text(block))
            for place, block in enumerate(last.blocks)
        }
        self._line = self._summary(transcript, last.index)
