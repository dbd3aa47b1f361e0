"""What an approver sees of a call, and what it may say of it."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from nbrunner.core.blocks import JSON, Value

NOT_ALLOWED = "This call was not allowed, and it was not run."
NOBODY_THERE = "Nobody is there to ask."


def digest(call_input: JSON) -> str:
    """What stands for an input: equal inputs have equal digests.

    A decision names it, so that what a person has seen is what they decide about.
    """
    canonical = json.dumps(call_input, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class Ruling(Value):
    """What an approver says of a call.

    Attributes:
        says: `ask` leaves it to a person; `stop` ends the run before the call.
        input: The input to run with, where `says` is `modify`.
        reason: What Claude reads, where `says` is `reject`.
    """

    says: Literal["approve", "modify", "reject", "ask", "stop"]
    input: Any = None
    reason: str = ""


class ProposedCall(Value):
    """A call that Claude proposes, as an approver sees it.

    An approver is any function that takes one and returns what one of the methods
    here makes: `lambda call: call.reject("not today")`.
    """

    id: str
    name: str
    input: Any

    def approve(self, **changed: Any) -> Ruling:
        """Let it run; `input=` gives it another input than the proposed one."""
        if "input" in changed:
            return Ruling(says="modify", **changed)
        return Ruling(says="approve")

    def reject(self, reason: str = "") -> Ruling:
        """Do not let it run; Claude reads the reason."""
        return Ruling(says="reject", reason=reason)

    def ask(self) -> Ruling:
        """Leave it to a person."""
        return Ruling(says="ask")

    def stop(self) -> Ruling:
        """End the run here, in a state that can go on."""
        return Ruling(says="stop")


def rejection(reason: str) -> str:
    """What Claude reads of a call that was not allowed."""
    return f"{NOT_ALLOWED} {reason}".strip()
