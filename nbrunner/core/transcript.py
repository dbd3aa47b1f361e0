"""The transcript: the value that all events of a run fold into.

Views read it, code reads it, tests read it. It is immutable: a listener may keep
the one it was handed.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field

from nbrunner.core.blocks import Block, Message, Value, content_of, text_of, tool_uses
from nbrunner.core.caching import Mark
from nbrunner.core.commands import Command, Submit
from nbrunner.core.edits import Compact, Edit
from nbrunner.core.events import Failure, Forked, Source, StoppedBy
from nbrunner.core.given import given_by_id, with_given
from nbrunner.core.history import survey
from nbrunner.core.note import Note
from nbrunner.core.redact import redact
from nbrunner.core.request import (
    Request,
    Settings,
    with_notes,
    with_open_calls_closed,
)
from nbrunner.core.tool_call import ToolCall
from nbrunner.core.tool_changes import with_tool_changes
from nbrunner.core.usage import Usage

RunStatus: TypeAlias = Literal[
    "ready", "running", "paused", "failed", "asking", "held", "finished"
]

SENT_BACK = ("pause_turn", "compaction")
"""The stop reasons after which the API goes on with the reply as it is: nothing may
be appended to the conversation."""

_CUT_OFF = "This call was cut off and not run: the reply ended with {reason}."


_LEFT_OUT = (
    "This call had no result when the conversation was forked, and is not repeated: "
    "its tool may have run."
)


class DroppedReply(Value):
    """A reply that someone dropped to ask for another: kept, and never history.

    Attributes:
        request: What it answered; the next attempt may send another one.
    """

    reply: dict[str, Any]
    tool_calls: tuple[ToolCall, ...] = ()
    request: Request | None = None


class Parent(Value):
    """Where a branch comes from.

    Attributes:
        name: The run it was forked from.
        at: The index of the first iteration that is its own.
    """

    name: str
    at: int


class Iteration(Value):
    """One request, its reply and its tool results: the SDK's own word.

    Attributes:
        index: Its place in the run, from 0.
        request: The last request sent for it.
        notes: The person's messages that went out with it.
        reply: The whole message, as the API sent it; None while it streams.
        blocks: The blocks of the reply as far as they have come.
        given: The results that were given by hand, while those of the other calls are
            still to come.
        attempts: How often the run sent its request.
        resent: What the SDK saw each time before it sent a request once more by
            itself, oldest first.
        failures: The attempts that brought no whole reply, oldest first.
        dropped: The replies that someone dropped, oldest first.
        has_failed: Whether its last attempt brought no whole reply.
        marks: Where the cache marks of its request stood, as paths.
        dropped_marks: Cache marks left out of the sent copy, as paths.
        elapsed_s: Seconds from the send to the whole reply.
        remarks: What else a person ought to know of it, in sentences.
    """

    index: int
    request: Request
    notes: tuple[Note, ...] = ()
    reply: dict[str, Any] | None = None
    blocks: tuple[Block, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    given: Message | None = None
    attempts: int = 1
    resent: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    dropped: tuple[DroppedReply, ...] = ()
    has_failed: bool = False
    marks: tuple[str, ...] = ()
    dropped_marks: tuple[str, ...] = ()
    elapsed_s: float | None = None
    remarks: tuple[str, ...] = ()

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
    def is_compaction(self) -> bool:
        """Whether it asked for a summary in place of the conversation, not a reply."""
        return self.request.compaction is not None

    @property
    def applied_edits(self) -> tuple[Block, ...]:
        """What the API cleared of the context before Claude read the request."""
        managed = (self.reply or {}).get("context_management") or {}
        return tuple(managed.get("applied_edits") or ())

    @property
    def attempt(self) -> str:
        """What stands for its newest attempt: no other one of the run has that name."""
        return f"{self.index}.{self.attempts}"

    @property
    def is_awaited(self) -> bool:
        """Whether its request is out, and neither a reply nor a failure came of it."""
        ended = len(self.failures) + len(self.dropped)
        return self.reply is None and ended < self.attempts

    @property
    def text(self) -> str:
        """What Claude said in it."""
        return text_of(self.blocks)

    @property
    def sends(self) -> int:
        """How often its request went out in all, by the run or the SDK."""
        return self.attempts + len(self.resent)

    @property
    def results(self) -> dict[str, ToolCall]:
        """Its calls that have their results, by id."""
        return {call.id: call for call in self.tool_calls if call.is_answered}

    def call(self, call_id: str) -> ToolCall | None:
        """The call of that id, if it is one of this reply's."""
        return next((c for c in self.tool_calls if c.id == call_id), None)


class Transcript(Value):
    """Everything that happened in a run, as one immutable value.

    Attributes:
        settings: What the next request carries besides the conversation.
        matched_by_order: Whether recorded replies answer whatever is asked.
        messages: The conversation of the branch, results included.
        sent: How many of the messages went out already; they are the past.
        parent: Where the branch was forked from; None for a run of its own.
        branches: What was forked from it, oldest first.
        trusted: The tools that were approved for the rest of the run.
        is_gated: Whether an approver is asked about its calls.
        iterations: One per request and its reply.
        known: What the API's rules ask about the messages, found out once.
        marks: The cache marks that were asked for, oldest first.
        waiting: The person's messages that have not gone out yet.
        tool_changes: Tools added and removed that Claude has not been told of yet.
        compaction: How to compact the conversation before the next reply; None where
            nobody asked for that.
        asked: Commands that wait for a safe point.
        refused: The reason of the last refusal, until something else happens.
        paused_for: What made the run pause by itself, in a few words, while it does.
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
    sent: int = 0
    parent: Parent | None = None
    branches: tuple[Forked, ...] = ()
    trusted: tuple[str, ...] = ()
    is_gated: bool = False
    status: RunStatus = "ready"
    marks: tuple[Mark, ...] = ()
    container: str | None = None
    waiting: tuple[Note, ...] = ()
    tool_changes: tuple[Any, ...] = ()
    compaction: Block | None = None
    asked: tuple[Command, ...] = ()
    refused: tuple[Edit | Command, str] | None = None
    paused_for: str | None = None
    stopped_by: StoppedBy | None = None

    def __repr__(self) -> str:
        count = len(self.iterations)
        ended = self.stopped_by or self.status
        why = self.last.failures[-1] if self.last and self.last.has_failed else None
        told = f": {redact(why.message)}" if why else ""
        return f"<Transcript: {count} iterations, {ended}{told}>"

    __str__ = __repr__

    @property
    def usage(self) -> Usage:
        """The tokens of all replies of this branch, dropped ones included."""
        own = self.own_iterations
        dropped = [Usage.of(d.reply.get("usage")) for i in own for d in i.dropped]
        return sum([i.usage for i in own] + dropped, Usage())

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
            and not replied[-1].is_compaction
            and self.messages[-1]["role"] == "assistant"
        )

    @property
    def is_due(self) -> bool:
        """Whether there is anything that Claude has not been asked yet."""
        if self.waiting or self.is_sent_back:
            return True
        if self.last is None or self.last.reply is None:
            return True
        if self.last.is_compaction:
            # What was due before the conversation was compacted still is.
            return bool(self.last.request.messages[-1]["role"] != "assistant")
        # A reply ends the conversation for now; its results do not.
        is_new_branch = not self.own_iterations
        return is_new_branch or self.messages[-1]["role"] != "assistant"

    @property
    def is_summary_asked(self) -> bool:
        """Whether a summary is asked for, with the edits made that wait."""
        waiting = [edit for edit in self.asked_edits if isinstance(edit, Compact)]
        return (waiting[-1] if waiting else self).compaction is not None

    @property
    def compacts_next(self) -> bool:
        """Whether the next request asks for a summary in place of the conversation."""
        if self.compaction is None or self.is_sent_back:
            return False
        # A reply that was cut off inside a call cannot be summarized.
        last = self.messages[-1] if self.messages else None
        is_reply = last is not None and last["role"] == "assistant"
        return not (is_reply and last is not None and tool_uses(content_of(last)))

    @property
    def stop_reason(self) -> str | None:
        """Why the last reply ended that was no compaction asked for."""
        replies = (i for i in reversed(self.iterations) if not i.is_compaction)
        return next((i.stop_reason for i in replies), None)

    @property
    def own_iterations(self) -> tuple[Iteration, ...]:
        """The iterations that are not another branch's."""
        return self.iterations[self.parent.at if self.parent else 0 :]

    @property
    def submitted(self) -> tuple[Submit, ...]:
        """The edits that wait for a safe point, each with its id, oldest first."""
        return tuple(c for c in self.asked if isinstance(c, Submit))

    @property
    def asked_edits(self) -> tuple[Edit, ...]:
        """The edits that wait for a safe point, oldest first."""
        return tuple(submit.edit for submit in self.submitted)

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
            messages = self._with_calls_closed(why)
        messages = with_notes(messages, notes)
        if not self.is_sent_back:
            messages = with_tool_changes(messages, self.tool_changes)
        return Request(
            settings=self.settings,
            messages=messages,
            known=survey(messages, self.known),
            marks=self.marks,
            sent=self.sent,
            container=self.container,
            compaction=self.compaction if self.compacts_next else None,
        )

    def branch(self, at: int | None, name: str) -> Transcript:
        """A new branch: everything before an iteration, and the request it sent.

        Args:
            at: The index of the iteration that the branch asks anew; None is the end
                of the conversation, which is the newest iteration where its reply has
                not come.
            name: What the run that it comes from is called.
        """
        request = self._ended() if at is None else self.iterations[at].request
        if at is None:
            is_open = self.last is not None and self.last.reply is None
            at = len(self.iterations) - is_open
        return Transcript(
            settings=request.settings,
            source=self.source,
            matched_by_order=self.matched_by_order,
            messages=request.messages,
            known=request.known,
            iterations=tuple(map(_at_rest, self.iterations[:at])),
            marks=request.marks,
            container=request.container,
            parent=Parent(name=name, at=at),
            trusted=self.trusted,
            is_gated=self.is_gated,
        )

    def _ended(self) -> Request:
        """The next request, where calls that are still at work are no part of it."""
        if self.last is None or self.last.stop_reason != "tool_use":
            return self.next_request()
        closed = self._with_calls_closed(_LEFT_OUT)
        known = survey(closed, self.known)
        return self.model_copy(
            update={"messages": closed, "known": known}
        ).next_request()

    def _with_calls_closed(self, why: str) -> tuple[Message, ...]:
        """The conversation with a result for each call of the newest reply."""
        ran, given = (self.last.results, self.last.given) if self.last else ({}, None)
        closed = with_open_calls_closed(self.messages, why, ran)
        if len(closed) == len(self.messages):
            return closed
        return (*self.messages, with_given(closed[-1], given))

    def find_call(self, call_id: str) -> tuple[Iteration, ToolCall] | None:
        """The newest call of that id, with its iteration."""
        for iteration in reversed(self.iterations):
            if (call := iteration.call(call_id)) is not None:
                return iteration, call
        return None


def _at_rest(iteration: Iteration) -> Iteration:
    """An iteration as a branch keeps it, in which no call is at work any longer."""
    if iteration.stop_reason != "tool_use":
        return iteration
    given = given_by_id(iteration.given)
    left_out = {"status": "interrupted", "result": _LEFT_OUT}
    calls = tuple(
        call.as_given(given[call.id])
        if call.id in given
        else call
        if call.is_answered
        else call.model_copy(update=left_out)
        for call in iteration.tool_calls
    )
    return iteration.model_copy(update={"tool_calls": calls, "given": None})
