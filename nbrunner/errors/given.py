"""What a run or a cell was given and cannot use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.errors.base import UsageError, brief, close_matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class UnknownParameter(UsageError, TypeError):
    """A parameter that the SDK's tool runner does not take, or not with a run."""

    def __init__(self, name: str, known: Iterable[str], why: str | None = None) -> None:
        near = close_matches(name, known)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        seen = why or f"{name} is not a parameter of the SDK's tool_runner()."
        advice = " Leave it out; extra_body={...} sends fields the SDK has no name for."
        super().__init__(f"{seen}{hint or ('' if why else advice)}")


class NotAClient(UsageError):
    """Something given as the client is none that a run can use."""

    @classmethod
    def asynchronous(cls, seen: object) -> NotAClient:
        """The SDK's client for asyncio."""
        return cls(
            f"client is an {type(seen).__name__}. Pass anthropic.Anthropic: a run has "
            "a thread of its own, and `await run` leaves the event loop free with it."
        )


class NotATool(UsageError):
    """Something given as a tool is not one."""

    def __init__(self, name: str, what: str) -> None:
        advice = (
            "Put @beta_tool above its def (from anthropic import beta_tool), "
            f"or pass beta_tool({name})."
        )
        match what:
            case "function":
                seen = f"{name} is a plain function, so Claude has no schema for it."
            case "coroutine function":
                seen = f"{name} is a plain coroutine function: Claude has no schema."
                advice = advice.replace("beta_tool", "beta_async_tool")
            case _:
                seen = f"{name} is not a tool: it is of type {what}."
        super().__init__(f"{seen} {advice}")


class UnknownName(UsageError):
    """A name that the notebook does not hold; near matches are named."""

    def __init__(self, option: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = close_matches(name, names)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        if not near and names:
            hint = f" At hand: {', '.join(names)}."
        super().__init__(
            f"{option} {name}: no variable of that name is in the notebook.{hint} "
            "Run the cell that defines it, or mend the name."
        )


class UnknownTool(UsageError):
    """A name that no tool of the run has; near matches are named."""

    def __init__(self, option: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = close_matches(name, names)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        if not near and names:
            hint = f" Its tools: {', '.join(names)}."
        super().__init__(
            f"{option} {name}: the run has no tool of that name.{hint} "
            "Give the run the tool, or mend the name."
        )


class LoopBlocked(UsageError):
    """A coroutine tool needs the notebook's event loop, which someone blocks."""

    def __init__(self) -> None:
        super().__init__(
            "This tool belongs to the notebook's event loop, which is not free while "
            "the run is waited for. Wait with `await run` in place of run.wait(), and "
            "use %%toolrun outside %%time and %%capture."
        )


class NoKey(UsageError):
    """No API key and no recorded or scripted replies."""

    def __init__(self) -> None:
        super().__init__(
            "No API key and no replies to play. To go live, set ANTHROPIC_API_KEY in "
            "the environment before Jupyter starts, or run, in a cell of its own: "
            "import os, getpass; "
            "os.environ['ANTHROPIC_API_KEY'] = getpass.getpass('key: ') "
            "(never write a key into a cell: the notebook keeps it). "
            "To go without a key, play replies: --cassette PATH, or --client VARIABLE "
            "with a nbrunner.replay script."
        )


class NothingToDebug(UsageError):
    """There is no error to open the debugger at, or nobody to use it."""

    @classmethod
    def no_error(
        cls, run: str, call_id: str | None, at_hand: Sequence[str]
    ) -> NothingToDebug:
        """No error is kept for the call, or for any."""
        if not at_hand:
            return cls(
                f"No tool of {run} raised an error, so there is nothing to debug. "
                f"What Claude did wrong, an invalid input say, is in {run}.transcript."
            )
        return cls(
            f"No error of the call {brief(call_id)} is at hand: the newest ones are "
            f"kept. Calls of {run} with one: {', '.join(at_hand)}."
        )

    @classmethod
    def nobody_there(cls, run: str) -> NothingToDebug:
        """The debugger would ask, and nobody would answer."""
        return cls(
            "The debugger asks for commands, and nobody sits at this kernel to give "
            f"them. {run}.exception() is the error, with its traceback."
        )
