"""The feed: a run's events, gathered into few messages to a panel's views.

The listener only notes which fragments an event touched. On each tick of a refresh
clock the noted fragments are rendered and sent as one patch: a token is never a
message of its own, and a burst of them cannot run into the server's rate limit.
Messages are numbered; a view that sees a gap asks for a snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from nbrunner.core import events
from nbrunner.core.redact import redact
from nbrunner.views.call import Look, call_fragment, call_key
from nbrunner.views.iteration import (
    iteration_fragment,
    iteration_key,
    stream_key,
    streamed_text,
    summary_fragment,
    summary_key,
)
from nbrunner.views.page import (
    bar_fragment,
    panel_content,
    send_fragment,
    waiting_fragment,
)

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

Send: TypeAlias = Callable[[dict[str, Any]], None]

_CallEvent = events.CallStarted | events.CallPrinted | events.CallFinished
_WholeIteration = (
    events.IterationStarted,
    events.BlockStarted,
    events.ReplyFinished,
    events.RequestFailed,
    events.ResultsFinished,
)


class Feed:
    """What a panel's views know, and how they are told what is new."""

    def __init__(self, transcript: Transcript, name: str, send: Send) -> None:
        self.changed = threading.Event()
        self._look = Look(name=name, live=True)
        self._send = send
        self._lock = threading.RLock()
        self._transcript = transcript
        self._sequence = 0
        self._iterations: set[int] = set()
        self._calls: set[tuple[int, str]] = set()
        self._streams: dict[str, str] = {}
        self._growing: set[tuple[int, int]] = set()
        self._frame: dict[str, str] = {}

    def note(self, event: events.Event, transcript: Transcript) -> None:
        """Note what an event touched; called in the thread of the event."""
        with self._lock:
            self._transcript = transcript
            if isinstance(event, events.BlockGrew):
                self._growing.add((event.iteration, event.block))
            elif isinstance(event, _CallEvent):
                self._calls.add((event.iteration, event.call_id))
            elif isinstance(event, _WholeIteration):
                self._iterations.add(event.iteration)
                if isinstance(event, events.IterationStarted) and event.iteration:
                    # It was the newest until now, and open for that.
                    self._iterations.add(event.iteration - 1)
            elif isinstance(event, events.Asked) and event.command.kind == "submit":
                self._note_call(event.command.edit.call_id)
            elif isinstance(event, events.EditApplied):
                self._note_all_calls()
            elif isinstance(event, events.EditRefused):
                self._note_call(event.edit.call_id)
            elif isinstance(event, events.Halted | events.Resumed | events.RunFinished):
                self._iterations.update(range(len(transcript.iterations))[-1:])
        self.changed.set()

    def snapshot(self) -> None:
        """Send everything, for a view that knows nothing."""
        with self._lock:
            content = panel_content(self._transcript, name=self._look.name)
            self._forget()
            self._frame = self._framing()
            self._remember_streams()
            self._tell({"op": "snapshot", "html": str(content)})

    def flush(self) -> None:
        """Send what has changed since the last message, if anything has."""
        with self._lock:
            self.changed.clear()
            changes = [*self._changed_frame(), *self._changed_iterations()]
            changes += [*self._changed_calls(), *self._grown_streams()]
            self._forget()
            if changes:
                self._tell({"op": "patch", "changes": changes})

    def refuse(self, reason: str) -> None:
        """Tell the views why a click was not obeyed."""
        with self._lock:
            self._tell({"op": "refused", "reason": reason})

    def _tell(self, message: dict[str, Any]) -> None:
        self._sequence += 1
        self._send({**message, "seq": self._sequence})

    def _forget(self) -> None:
        self._iterations.clear()
        self._calls.clear()
        self._growing.clear()

    def _note_call(self, call_id: str) -> None:
        if (found := self._transcript.find_call(call_id)) is not None:
            self._calls.add((found[0].index, call_id))

    def _note_all_calls(self) -> None:
        """Every toggle shows how many marks are set, so one edit touches all."""
        for iteration in self._transcript.iterations:
            self._calls.update((iteration.index, c.id) for c in iteration.tool_calls)

    def _framing(self) -> dict[str, str]:
        """The fragments around the iterations: small, and touched by most events."""
        look, transcript = self._look, self._transcript
        return {
            "bar": str(bar_fragment(transcript, look)),
            "waiting": str(waiting_fragment(transcript, look)),
            "send": str(send_fragment(transcript, look)),
        }

    def _changed_frame(self) -> list[dict[str, str]]:
        known, self._frame = self._frame, self._framing()
        return [
            {"key": key, "html": html}
            for key, html in self._frame.items()
            if known.get(key) != html
        ]

    def _changed_iterations(self) -> list[dict[str, str]]:
        changes = []
        for index in sorted(self._iterations):
            html = str(iteration_fragment(self._transcript, index, self._look))
            key = iteration_key(index)
            changes.append({"key": key, "html": html, "into": "iterations"})
            self._remember_streams(index)
        return changes

    def _changed_calls(self) -> list[dict[str, str]]:
        changes = []
        for index, call_id in sorted(self._calls):
            iteration = self._transcript.iterations[index]
            call = iteration.call(call_id)
            if index in self._iterations or call is None:
                continue
            html = str(call_fragment(self._transcript, iteration, call, self._look))
            changes.append({"key": call_key(iteration, call), "html": html})
            line = str(summary_fragment(self._transcript, index, self._look))
            changes.append({"key": summary_key(index), "html": line})
        return changes

    def _grown_streams(self) -> list[dict[str, str]]:
        """What streamed blocks gained, or their whole text where a secret showed."""
        changes = []
        for index, place in sorted(self._growing):
            iteration = self._transcript.iterations[index]
            if index in self._iterations or place >= len(iteration.blocks):
                continue
            key = stream_key(index, place)
            known = self._streams.get(key, "")
            text = redact(streamed_text(iteration.blocks[place]))
            self._streams[key] = text
            if text.startswith(known):
                changes.append({"key": key, "text": text[len(known) :]})
            else:
                html = str(iteration_fragment(self._transcript, index, self._look))
                changes.append({"key": iteration_key(index), "html": html})
        return changes

    def _remember_streams(self, index: int | None = None) -> None:
        """What the views now hold of the reply that streams."""
        last = self._transcript.last
        if last is None or index not in (None, last.index):
            return
        self._streams = {
            stream_key(last.index, place): redact(streamed_text(block))
            for place, block in enumerate(last.blocks)
        }
