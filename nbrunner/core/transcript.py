"""The transcript: the value that all events of a run fold into.

Views read it, code reads it, tests read it. It is immutable: a listener may keep
the one it was handed.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field

from nbrunner.core.blocks import Block, Value, text_of
from nbrunner.core.caching import Mark
from nbrunner.core.commands import Command
from nbrunner.core.edits import Edit
from nbrunner.core.events import Display, Failure, Note, Outcome, Source, StoppedBy
from nbrunner.core.history import survey
from nbrunner.core.request import (
    Request,
    Settings,
    with_notes,
    with_open_calls_closed,
)
from nbrunner.core.usage import Usage

CallStatus: TypeAlias = Literal["proposed", "running"] | Outcome
RunStatus: TypeAlias = Literal[
    "ready", "running", "paused", "failed", "held", "finished"
]

SENT_BACK = ("pause_turn", "compaction")
"""The stop reasons after which the API goes on with the reply as it is: nothing may
be appended to the conversation."""

_CUT_OFF = "This call was cut off and not run: the reply ended with {reason}."


class ToolCall(Value):
    """One call of a reply: what Claude asked for, and what came of it.

    Attributes:
        input: The input that Claude proposed.
        executed_input: The input the tool ran with; None where it did not run.
        result: The `content` of the result block, as Claude reads it.
        traceback: The whole traceback of a failed tool, for the person.
        stdout: What the tool printed.
        displays: What the tool displayed: for the person, never sent.
        elapsed_s: How long it ran, in seconds; None where it did not run.
    """

    id: str
    name: str
    input: Any
    executed_input: Any = None
    status: CallStatus = "proposed"
    result: Any = None
    traceback: str | None = None
    stdout: str = ""
    displays: tuple[Display, ...] = ()
    elapsed_s: float | None = None
    remark: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether Claude reads the result as an error."""
        return self.status in ("error", "invalid", "unknown", "interrupted")

    @property
    def is_answered(self) -> bool:
        """Whether the call has its result."""
        return self.status not in ("proposed", "running")


class Iteration(Value):
    """One request, its reply and its tool results: the SDK's own word.

    Attributes:
        index: Its place in the run, from 0.
        request: The last request sent for it.
        notes: The person's messages that went out with it.
        reply: The whole message, as the API sent it; None while it streams.
        blocks: The blocks of the reply as far as they have come.
        attempts: How often its request was sent.
        failures: The attempts that brought no whole reply, oldest first.
        marks: Where the cache marks of its request stood, as paths.
        dropped_marks: Cache marks left out of the sent copy, as paths.
        elapsed_s: Seconds from the send to the whole reply.
    """

    index: int
    request: Request
    notes: tuple[Note, ...] = ()
    reply: dict[str, Any] | None = None
    blocks: tuple[Block, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    attempts: int = 1
    failures: tuple[Failure, ...] = ()
    marks: tuple[str, ...] = ()
    dropped_marks: tuple[str, ...] = ()
    elapsed_s: float | None = None

    @property
    def injected(self) -> tuple[str, ...]:
        """The texts of the messages that a person sent with this request."""
        return tuple(note.text for note in self.notes)

    @property
    def stop_reason(self) -> str | None:
        """Why the reply ended, in the API's words."""
        return self.reply.get("stop_reason") if self.reply else None

    @property
    def usage(self) -> Usage:
        """The tokens of the reply."""
        return Usage.of(self.reply.get("usage") if self.reply else None)

    @property
    def applied_edits(self) -> tuple[Block, ...]:
        """What the API cleared of the context before Claude read the request."""
        managed = (self.reply or {}).get("context_management") or {}
        return tuple(managed.get("applied_edits") or ())

    @property
    def text(self) -> str:
        """What Claude said in it."""
        return text_of(self.blocks)

    @property
    def has_failed(self) -> bool:
        """Whether its last attempt brought no whole reply."""
        return self.reply is None and len(self.failures) == self.attempts

    def call(self, call_id: str) -> ToolCall | None:
        """The call of that id, if it is one of this reply's."""
        return next((c for c in self.tool_calls if c.id == call_id), None)


class Transcript(Value):
    """Everything that happened in a run, as one immutable value.

    Attributes:
        settings: What the next request carries besides the conversation.
        matched_by_order: Whether recorded replies answer whatever is asked.
        messages: The conversation of the branch, results included.
        iterations: One per request and its reply.
        known: What the API's rules ask about the messages, found out once.
        marks: The cache marks that were asked for, oldest first.
        waiting: The person's messages that have not gone out yet.
        asked: Commands that wait for a safe point.
        refused: The reason of the last refusal, until something else happens.
        stopped_by: Why the run ended, or would have if it were not held open; None
            while it goes on.
    """

    settings: Settings
    source: Source = "live"
    matched_by_order: bool = False
    messages: tuple[Any, ...] = ()
    known: tuple[Any, ...] = Field(
        default_factory=lambda given: survey(given["messages"]),
        exclude=True,
        repr=False,
    )
    iterations: tuple[Iteration, ...] = ()
    status: RunStatus = "ready"
    marks: tuple[Mark, ...] = ()
    container: str | None = None
    waiting: tuple[Note, ...] = ()
    asked: tuple[Command, ...] = ()
    refused: tuple[Edit | Command, str] | None = None
    stopped_by: StoppedBy | None = None

    def __repr__(self) -> str:
        count = len(self.iterations)
        return f"<Transcript: {count} iterations, {self.stopped_by or self.status}>"

    __str__ = __repr__

    @property
    def usage(self) -> Usage:
        """The tokens of all replies together."""
        return sum((i.usage for i in self.iterations), Usage())

    @property
    def text(self) -> str:
        """What Claude said last."""
        return next((i.text for i in reversed(self.iterations) if i.text), "")

    @property
    def last(self) -> Iteration | None:
        """The newest iteration."""
        return self.iterations[-1] if self.iterations else None

    @property
    def is_sent_back(self) -> bool:
        """Whether the next request hands the last reply back for more of it."""
        replied = [i for i in self.iterations[-2:] if i.reply is not None]
        return (
            bool(replied)
            and replied[-1].stop_reason in SENT_BACK
            and self.messages[-1]["role"] == "assistant"
        )

    def mark_at(self, place: str) -> Mark | None:
        """The cache mark that was asked for at a place."""
        return next((mark for mark in self.marks if mark.place == place), None)

    @property
    def outgoing(self) -> tuple[Note, ...]:
        """The person's messages that can go out with the next request."""
        return () if self.is_sent_back else self.waiting

    def next_request(self, notes: tuple[Note, ...] = ()) -> Request:
        """The request that would go out now, with those of the person's messages."""
        messages = self.messages
        if self.last is not None and not self.is_sent_back:
            why = _CUT_OFF.format(reason=self.last.stop_reason)
            messages = with_open_calls_closed(messages, why)
        messages = with_notes(messages, [note.text for note in notes])
        return Request(
            settings=self.settings,
            messages=messages,
            known=survey(messages, self.known),
            marks=self.marks,
            container=self.container,
        )

    def find_call(self, call_id: str) -> tuple[Iteration, ToolCall] | None:
        """The newest call of that id, with its iteration."""
        for iteration in reversed(self.iterations):
            if (call := iteration.call(call_id)) is not None:
                return iteration, call
        return None
