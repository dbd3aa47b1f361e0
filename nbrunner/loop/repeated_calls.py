"""Calls that Claude makes over and over, as in a loop that will not end."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Iteration, Transcript

IN_A_ROW = 3
"""At how many replies with the same call someone ought to look; and its multiples."""


def repetition_words(transcript: Transcript) -> str | None:
    """Which call looks like a loop, in a few words; None where none does.

    Asked after each reply, it speaks at the third with the same call and the same
    input, and then stays silent for as many again: someone has looked.
    """
    last = transcript.last
    for call in last.tool_calls if last else ():
        count = _count(transcript.iterations, call)
        if count % IN_A_ROW == 0:
            said = f"the same call of {call.name} {count} times in a row"
            return f"{said} looks like a loop"
    return None


def _count(iterations: tuple[Iteration, ...], call: ToolCall) -> int:
    """How many replies in a row, up to the last, made this call."""
    made = takewhile(lambda it: _is_among(call, it.tool_calls), reversed(iterations))
    return sum(1 for _ in made)


def _is_among(call: ToolCall, calls: tuple[Any, ...]) -> bool:
    return any((it.name, it.input) == (call.name, call.input) for it in calls)
