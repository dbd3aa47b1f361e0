"""Asking a person by `input()`, where the waiting thread owns the kernel's loop.

Under `run.wait()`, in a loop of the user's own and under another magic no click comes
through while the cell runs: the question is put in the cell itself. It says nothing
that a click does not say, and decides by the same lines of Python.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

from nbrunner.core.approval import NOBODY_THERE
from nbrunner.core.commands import Decision, Retry, Stop
from nbrunner.presence import current_shell, someone_is_there
from nbrunner.views.words import ellipsis, pretty

if TYPE_CHECKING:
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.run.steering import Steering

CHOICES = "[y]es, [n]o, [e]dit the input, [a]lways in this run? "
_LONGEST_INPUT = 2_000


def can_ask_here() -> bool:
    """Whether a person can be asked by `input()` in this thread."""
    if threading.current_thread() is not threading.main_thread():
        return False
    shell = current_shell()
    if hasattr(shell, "kernel"):
        return someone_is_there(shell)
    return sys.stdin is not None and sys.stdin.isatty()


def ask_about_next(run: Steering) -> bool:
    """Ask about the first call that waits for a decision.

    Returns:
        Whether there was one, and somebody here to ask.

    Raises:
        KeyboardInterrupt: The person interrupted the question.
    """
    call = _first_asked(run)
    if call is None or not can_ask_here():
        return False
    place: dict[str, Any] = {"digest": call.digest, "by": "person"}
    try:
        _decide(run, call, place)
    except (EOFError, NotImplementedError):
        # A front end that takes no input after all.
        run.reject(call.id, NOBODY_THERE, **place)
    return True


def _first_asked(run: Steering) -> ToolCall | None:
    transcript = run.transcript
    if transcript.status != "asking" or transcript.last is None:
        return None
    # What is on its way counts: nobody is asked twice, or for what will not run.
    if any(isinstance(command, Stop | Retry) for command in transcript.asked):
        return None
    decided = {c.call_id for c in transcript.asked if isinstance(c, Decision)}
    return next(
        (
            call
            for call in transcript.last.tool_calls
            if call.status == "asked" and call.id not in decided
        ),
        None,
    )


def _decide(run: Steering, call: ToolCall, place: dict[str, Any]) -> None:
    shown = ellipsis(pretty(call.input), _LONGEST_INPUT)
    refused = _refused(run, call)
    said = input(f"{refused}Claude wants to run {call.name} with {shown}\n{CHOICES}")
    match said.strip().lower()[:1]:
        case "y":
            run.approve(call.id, **place)
        case "a":
            run.approve(call.id, for_rest=True, **place)
        case "n":
            run.reject(call.id, input("The reason, which Claude reads: "), **place)
        case "e":
            _edit(run, call, place)
        case _:
            return  # asked again


def _edit(run: Steering, call: ToolCall, place: dict[str, Any]) -> None:
    """Run it with another input; one that is no JSON, or none, leaves it asked."""
    said = input("The whole input, as JSON: ")
    try:
        changed = json.loads(said)
    except ValueError as error:
        input(f"That is no JSON ({error}). Press Enter to be asked again. ")
        return
    run.approve(call.id, input=changed, **place)


def _refused(run: Steering, call: ToolCall) -> str:
    """Why the last decision about the call did not count."""
    if run.transcript.refused is None:
        return ""
    command, reason = run.transcript.refused
    return f"{reason}\n" if getattr(command, "call_id", None) == call.id else ""
