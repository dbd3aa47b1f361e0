"""Commands: what a person or their code can ask of a run, as values.

Anyone may ask at any time, from any thread; the loop takes the commands out of
its inbox at a safe point. Asking is itself an event, so the panel can show what
waits.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from nbrunner.core.blocks import Value
from nbrunner.core.edits import Edit


class Inject(Value):
    """Send a message with the next request."""

    kind: Literal["inject"] = "inject"
    note_id: str
    text: str


class Withdraw(Value):
    """Take back a message that has not gone out yet."""

    kind: Literal["withdraw"] = "withdraw"
    note_id: str


class Submit(Value):
    """Make an edit to the next request."""

    kind: Literal["submit"] = "submit"
    edit: Edit


class Pause(Value):
    """Halt before the next request."""

    kind: Literal["pause"] = "pause"


class Resume(Value):
    """Go on after a pause."""

    kind: Literal["resume"] = "resume"


class Step(Value):
    """Do one iteration, then halt again."""

    kind: Literal["step"] = "step"


class Stop(Value):
    """End here, in a state that can be continued."""

    kind: Literal["stop"] = "stop"


class Retry(Value):
    """Send the request of a failed iteration again."""

    kind: Literal["retry"] = "retry"


Command: TypeAlias = Annotated[
    Inject | Withdraw | Submit | Pause | Resume | Step | Stop | Retry,
    Field(discriminator="kind"),
]

By: TypeAlias = Literal["person", "code"]
"""Who asked: a click in the panel, or a line of Python."""
