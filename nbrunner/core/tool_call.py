"""One call of a reply: what Claude asked for, and what came of it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from nbrunner.core.blocks import Block, Value
from nbrunner.core.commands import By

Outcome: TypeAlias = Literal[
    "ok", "error", "invalid", "unknown", "interrupted", "rejected", "answered"
]
"""How a call ended. `invalid`: its input failed validation; `unknown`: no such
tool; `interrupted`: it was stopped, or never begun; `rejected`: it was not allowed
to run; `answered`: someone gave its result by hand. All but `ok` and `answered` are
errors to Claude."""

Verdict: TypeAlias = Literal["approved", "modified", "rejected", "answered"]
"""What was decided of a call before it ran. `modified`: it runs with another input."""

CallStatus: TypeAlias = Literal["proposed", "asked", "running"] | Outcome
"""How a call stands: not begun, waiting for someone's decision, at work, or ended."""


class Display(Value):
    """Something that a tool displayed: for the person, never sent.

    Attributes:
        data: Its renderings by media type; images as base64.
        display_id: The name under which it may be displayed anew.
        left_out: What of it was too large to be kept.
    """

    data: dict[str, str]
    display_id: str | None = None
    left_out: str | None = None


class ToolCall(Value):
    """One call of a reply: what Claude asked for, and what came of it.

    Attributes:
        input: The input that Claude proposed.
        executed_input: The input the tool ran with; None where it did not run.
        digest: Stands for the input while someone is asked about it.
        verdict: What was decided before it ran; None where nobody had to.
        decided_by: Who decided: `person`, `code`, `approver`, or `trust` where the
            tool was approved for the rest of the run before.
        reason: Why it was rejected.
        result: The `content` of the result block, as Claude reads it.
        returned: What the result was before someone edited it.
        is_edited: Whether someone edited the result.
        edited_by: Who did so last, where that is known.
        reads_as_error: What an edit says of `is_error`; None where none does.
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
    digest: str | None = None
    verdict: Verdict | None = None
    decided_by: str | None = None
    reason: str | None = None
    result: Any = None
    returned: Any = None
    is_edited: bool = False
    edited_by: By | None = None
    reads_as_error: bool | None = None
    traceback: str | None = None
    stdout: str = ""
    displays: tuple[Display, ...] = ()
    elapsed_s: float | None = None
    remark: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether Claude reads the result as an error."""
        if self.reads_as_error is not None:
            return self.reads_as_error
        return self.status not in ("proposed", "asked", "running", "ok", "answered")

    @property
    def has_begun(self) -> bool:
        """Whether its tool was called, whatever came of it."""
        return self.executed_input is not None

    @property
    def is_answered(self) -> bool:
        """Whether the call has its result."""
        return self.status not in ("proposed", "asked", "running")

    def as_sent(self, block: Block | None) -> ToolCall:
        """The call with the result block that goes out for it, if one does."""
        if block is None:
            return self
        content, is_error = block.get("content"), bool(block.get("is_error"))
        changes: dict[str, Any] = {"result": content}
        if not self.is_answered:
            changes["status"] = "error" if is_error else "ok"
        elif content != self.result and not self.is_edited:
            changes |= {"returned": self.result, "is_edited": True}
        if self.is_answered and is_error != self.is_error:
            changes["reads_as_error"] = is_error
        return self.model_copy(update=changes)

    def as_given(self, block: Block) -> ToolCall:
        """The call with the result that was given for it by hand."""
        answered = {"status": "answered", "result": block.get("content")}
        call = self if self.is_answered else self.model_copy(update=answered)
        return call.as_sent(block)
