"""What was decided about a call, and what nobody is asked about, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.approval import NOBODY_THERE
from nbrunner.core.ungated import ungated_in
from nbrunner.views.words import cut_inline, ellipsis

if TYPE_CHECKING:
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Transcript

_WHO = {
    "person": "by you",
    "code": "by a line of Python",
    "approver": "by the run's approver",
}


def verdict_words(call: ToolCall) -> str | None:
    """What was decided about a call, and by whom; None where nobody had to."""
    who = _WHO.get(call.decided_by or "", "")
    match call.verdict:
        case "approved" if call.decided_by == "trust":
            return f"{call.name} was approved for the rest of the run."
        case "approved":
            return f"Approved {who}."
        case "modified":
            return f"Approved {who}, with another input than Claude proposed."
        case "answered":
            return f"Answered {who}: the tool did not run."
        case "rejected" if call.reason == NOBODY_THERE:
            return (
                "Rejected: nobody was there to ask. Run the cell in a notebook that is "
                "open before you, or let an approver decide (by_tool)."
            )
        case "rejected" if call.reason:
            return f"Rejected {who}: {cut_inline(call.reason)}"
        case "rejected":
            return f"Rejected {who}, without a reason."
        case _:
            return None


def ungated_words(transcript: Transcript) -> str | None:
    """Which tools run without asking, in a run whose approver is asked."""
    names = ungated_in(transcript.settings) if transcript.is_gated else ()
    if not names:
        return None
    return f"without asking: {', '.join(ellipsis(name, 80) for name in names)}"
