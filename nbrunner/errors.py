"""The exceptions of nbrunner.

Each class takes the facts and writes its own sentence: what failed, what was
seen, what to do. Tests read the sentences.

    NbrunnerError
      UsageError            a call's arguments or a magic's line cannot be used
        UnknownParameter    (a TypeError too)
        NotAClient
        NotATool
        NotAnApprover
        NotARule
        Ungated
        UnknownName
        UnknownApprover
        UnknownTool
        LoopBlocked
        NoKey
        NothingToDebug
        NotAReply
        NotACassette
        NotAnExchange
        NotATransport
        PaceOutOfRange
      EditRefused           an edit that the API's rules forbid
      InvalidHistory        a request would be refused by the API's own rules
      ReplayError           the replies at hand do not serve this request
        ReplyMismatch
        RepliesExhausted
        Unplayable
        CassetteUnreadable
        SecretInCassette
        UnknownRecordMode
      RunFailed             a run ended with an error
      RunInterrupted        the kernel was interrupted while a run was awaited
    WaitInterrupted         the same under wait(): a KeyboardInterrupt
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class NbrunnerError(Exception):
    """Base of every exception that nbrunner raises on purpose."""


class UsageError(NbrunnerError):
    """A call's arguments or a magic's line cannot be used as they stand."""


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


class NotAnApprover(UsageError):
    """Something given as the approver is not one."""

    def __init__(self, seen: object) -> None:
        super().__init__(
            f"approver is {_what(seen)}. Pass approve_all, reject_all, ask or "
            "by_tool({...}) (from nbrunner import ask), or a function of your own that "
            "takes the call: lambda call: call.reject('not today')."
        )


class NotARule(UsageError):
    """Something given to `by_tool` is no rule."""

    @classmethod
    def missing(cls) -> NotARule:
        """No rule at all."""
        return cls(
            "by_tool needs rules: by_tool({'get_*': approve_all, '*': ask}). "
            "To ask about every call, pass ask itself."
        )

    @classmethod
    def shape(cls, seen: object) -> NotARule:
        """Neither a mapping nor a tuple of the right length."""
        return cls(
            f"by_tool was given {_what(seen)}. A rule is a mapping of names to "
            "approvers, {'get_*': approve_all}, or a tuple: ('pay', ask) or "
            "('pay', lambda input: input['euros'] < 10, approve_all)."
        )

    @classmethod
    def glob(cls, seen: object) -> NotARule:
        """The name is no text."""
        return cls(
            f"by_tool: the name of a tool is {_what(seen)}. It has to be a str, in "
            "which * stands for anything: 'delete_*'."
        )

    @classmethod
    def predicate(cls, glob: str, seen: object) -> NotARule:
        """What is to look at the input cannot be called."""
        return cls(
            f"by_tool: the second part of the rule for {glob!r} is {_what(seen)}. It "
            "has to be a function of the input: lambda input: input['euros'] < 10."
        )

    @classmethod
    def approver(cls, glob: str, seen: object) -> NotARule:
        """What is to decide is no approver."""
        return cls(
            f"by_tool: {glob!r} is given to {_what(seen)}. It has to be approve_all, "
            "reject_all, ask, or a function that takes the call."
        )


class Ungated(UsageError):
    """Tools that run without asking, in a run whose approver is to be asked."""

    def __init__(self, names: Sequence[str]) -> None:
        verb = "runs" if len(names) == 1 else "run"
        super().__init__(
            f"{', '.join(names)} {verb} without asking the approver: the API or an MCP "
            "server does it. Leave it out, or accept that with allow_ungated=True (in "
            "a cell: --params names a dict that holds it)."
        )


def _what(seen: object) -> str:
    return f"of type {type(seen).__name__}: {seen!r:.80}"


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


class UnknownApprover(UsageError):
    """What `--approve` names is no approver."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        near = close_matches(name, known)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(
            f"--approve {name}: it takes all, ask, none, or a variable that holds an "
            f"approver.{hint} Rules per tool go into a variable: "
            "rules = by_tool({'get_*': approve_all, '*': ask}), then --approve rules."
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
            f"No error of the call {_brief(call_id)} is at hand: the newest ones are "
            f"kept. Calls of {run} with one: {', '.join(at_hand)}."
        )

    @classmethod
    def nobody_there(cls, run: str) -> NothingToDebug:
        """The debugger would ask, and nobody would answer."""
        return cls(
            "The debugger asks for commands, and nobody sits at this kernel to give "
            f"them. {run}.exception() is the error, with its traceback."
        )


class EditRefused(NbrunnerError):
    """An edit that the API's rules forbid."""

    @classmethod
    def no_such_result(cls, call_id: str) -> EditRefused:
        """The call has no result in the conversation."""
        return cls(
            f"{call_id} has no result in the conversation, so it cannot carry a cache "
            "mark. Only results that go out with the next request can."
        )

    @classmethod
    def nothing_there(cls, place: str, why: str) -> EditRefused:
        """What the place names is not there."""
        return cls(
            f"{place} cannot carry a cache mark: {why}. Name system, tools, request, "
            "results, messages[I].content[J] or the id of a tool call."
        )

    @classmethod
    def unmarkable(cls, place: str, kind: str) -> EditRefused:
        """The API takes no mark on such a block."""
        return cls(
            f"{place} is {kind}, and the API takes no cache mark on one. Mark the "
            "block before it or behind it."
        )

    @classmethod
    def no_result_to_edit(cls, call_id: str) -> EditRefused:
        """The call has no result yet, or none at all."""
        return cls(
            f"{call_id} has no result in the conversation, so there is none to edit. "
            "Before a call runs, answer it in its tool's place: "
            f"run.answer({call_id!r}, ...)."
        )

    @classmethod
    def gone_out(cls, call_id: str) -> EditRefused:
        """What went out is the past."""
        return cls(
            f"The result of {call_id} went out already, and the past is not edited. "
            "Fork the run before the request that carried it: "
            f"run.fork(at=..., edits=[EditResult({call_id!r}, ...)])."
        )

    @classmethod
    def compacts_already(cls) -> EditRefused:
        """The API takes one way of compacting only."""
        return cls(
            "The conversation cannot be compacted on request while context_management "
            "has a compaction edit: the API takes no two. Take that edit off first."
        )

    @classmethod
    def cannot_be_off(cls, name: str) -> EditRefused:
        """The API needs the parameter."""
        return cls(f"{name} cannot be taken off: every request needs one.")

    @classmethod
    def longer_behind_shorter(cls, path: str) -> EditRefused:
        """The API wants the marks that last longer first."""
        return cls(
            f"The 1-hour cache mark at {path} would stand behind a 5-minute one, and "
            "the API wants the longer ones first. Make the earlier ones 1 hour too, "
            "or take them off."
        )

    @classmethod
    def no_mark_left(cls, places: Sequence[str]) -> EditRefused:
        """All of the API's marks are taken."""
        return cls(
            f"All {len(places)} cache marks that the API allows are set "
            f"({', '.join(places)}). Take one off first."
        )


class InvalidHistory(NbrunnerError):
    """A request that the API would refuse; it was not sent."""

    def __init__(self, iteration: int, place: str, problem: str) -> None:
        super().__init__(
            f"The request of iteration {iteration + 1} was not sent: {problem}, at "
            f"{place}. Mend the conversation there."
        )
        self.iteration, self.place, self.problem = iteration, place, problem


class NotAReply(UsageError):
    """A part of a script that is not a reply, or cannot be sent as one."""

    @classmethod
    def of_type(cls, place: str, seen: object) -> NotAReply:
        """A value of a kind that makes no reply."""
        return cls(
            f"Not a reply, {place}: {_brief(seen)} is of type {type(seen).__name__}. "
            "Give a text, a block such as say(...) or use(...), a list of blocks, or "
            "what reply(...), fail(...) or cut(...) return."
        )

    @classmethod
    def bad_field(cls, place: str, block: str, field: str, seen: object) -> NotAReply:
        """A block lacks a field that the API always sends, or has a wrong one."""
        return cls(
            f"Not a reply, {place}: the {block} block has {_brief(seen)} as its "
            f"{field}. say(...), think(...) and use(...) make whole blocks."
        )

    @classmethod
    def not_json(cls, place: str, why: object) -> NotAReply:
        """A value that cannot travel as JSON."""
        return cls(
            f"Not a reply, {place}: it cannot be sent as JSON ({why}). Use texts, "
            "numbers, booleans, None, lists and dicts."
        )

    @classmethod
    def no_error_status(cls, seen: object) -> NotAReply:
        """A status that is not one of an HTTP error."""
        return cls(
            f"fail({_brief(seen)}) is no error: the status of one is from 400 to 599. "
            "Give one such as 529, or use reply(...) for a reply that succeeds."
        )

    @classmethod
    def cut_outside(cls, after: object, events: int) -> NotAReply:
        """A cut that would not break the reply."""
        return cls(
            f"cut(..., after={_brief(after)}) breaks nothing: the reply has {events} "
            f"stream events. Give a whole number from 0 to {events - 1}."
        )


class NotACassette(UsageError):
    """Something given to play is neither a cassette nor the path of one."""

    def __init__(self, seen: object) -> None:
        super().__init__(
            f"replay.play() was given {_brief(seen)}, of type {type(seen).__name__}. "
            "Give the path of a cassette, or replay.script(...)."
        )


class NotAnExchange(UsageError):
    """Something to import is no request with its response."""

    def __init__(self, what: str, seen: object) -> None:
        super().__init__(
            f"{what} cannot be imported: {_brief(seen)}. Give a list of {{request, "
            "response}, or the path of a JSON file with one. A request is a JSON body, "
            "a response is a JSON body or the text of a stream; either may stand under "
            "`body`."
        )


class NotATransport(UsageError):
    """Something given as a transport is not one."""

    def __init__(self, seen: object) -> None:
        super().__init__(
            f"Not a transport: {_brief(seen)} is of type {type(seen).__name__}. "
            "Give replay.play(...), replay.record(...) or another httpx2.BaseTransport."
        )


class PaceOutOfRange(UsageError):
    """A pace that is no part of the recorded time."""

    def __init__(self, pace: object) -> None:
        super().__init__(
            f"pace={_brief(pace)} is not a number from 0 to 1. "
            "0 plays at once, 1 takes as long as the recording did."
        )


class ReplayError(NbrunnerError):
    """The replies at hand do not serve this request."""


class ReplyMismatch(ReplayError):
    """The next recorded reply belongs to another request."""

    def __init__(self, number: int, path: str, recorded: str, asked: str) -> None:
        super().__init__(
            f"Request {number} is not the recorded one: at {path} the cassette has "
            f"{recorded}, this request has {asked}. Undo the change, record again with "
            'mode="rewrite" (in a cell: --record rewrite), or play a script, which '
            "fits any request."
        )
        self.number, self.path = number, path


class RepliesExhausted(ReplayError):
    """More replies were asked for than there are."""

    def __init__(self, count: int, source: str, asked: str) -> None:
        held, add = (
            ("script", "Add a reply to it")
            if source == "scripted"
            else ("cassette", "Record it anew (--record rewrite)")
        )
        replies = "1 reply" if count == 1 else f"{count} replies"
        super().__init__(
            f"No reply is left: the {held} has {replies}, and one more was asked for, "
            f"to answer {asked}. {add}, or make a new run to start from the top."
        )
        self.count = count


class Unplayable(ReplayError):
    """A request of a kind that cassettes do not hold."""

    @classmethod
    def other_path(cls, method: str, path: str) -> Unplayable:
        """It does not ask for a message."""
        return cls(
            f"Cassettes hold replies to POST /v1/messages only, and this was "
            f"{method} {path}. Send it with another client."
        )

    @classmethod
    def thread(cls) -> Unplayable:
        """It continues a thread whose history the server has."""
        return cls(
            "This request belongs to a message thread: its history is on the server, "
            "not in the request, so no cassette can tell what it continues. Pass "
            "thread=False to tool_runner()."
        )


class CassetteUnreadable(ReplayError):
    """A path that leads to no cassette."""

    @classmethod
    def because(cls, path: object, seen: str) -> CassetteUnreadable:
        """Something is at the path, and this is what is wrong with it."""
        return cls(
            f"{path} cannot be read as a cassette: {seen}. Mend the file, or record it "
            'again with mode="rewrite" (in a cell: --record rewrite).'
        )

    @classmethod
    def missing(cls, path: object, folder: object) -> CassetteUnreadable:
        """There is no file at the path."""
        return cls(
            f"There is no cassette at {path}, seen from {folder}. Check the path (it "
            "starts from the notebook's folder), or record one with a key: "
            f'replay.record("{path}") (in a cell: --cassette {path} --record once).'
        )

    @classmethod
    def script_cannot_grow(cls, path: object) -> CassetteUnreadable:
        """Recorded episodes were to be added to a script."""
        return cls(
            f'{path} is a script, and mode="new_episodes" would add recorded replies '
            'to it. Record to another path, or play the script with mode="none".'
        )

    @classmethod
    def import_cannot_grow(cls, path: object) -> CassetteUnreadable:
        """Episodes were to be added to replies that are matched by order."""
        return cls(
            f"{path} was imported and its replies are matched by order, so "
            'mode="new_episodes" cannot tell which requests are new. Record to '
            'another path, or play it with mode="none".'
        )


class SecretInCassette(ReplayError):
    """An API key would have been written to a cassette."""

    def __init__(self, path: object) -> None:
        super().__init__(
            f"{path} was not written: an API key is still in what it would hold. Take "
            "the key out of the prompt, the tools' results and the replies, then "
            "record again."
        )


class UnknownRecordMode(ReplayError):
    """A record mode that does not exist."""

    def __init__(self, mode: object, known: Iterable[str]) -> None:
        super().__init__(
            f"{_brief(mode)} is not a record mode. Use one of {', '.join(known)}."
        )


class ReplyStopped(NbrunnerError):
    """A reply that was stopped while it was coming has no final message."""

    def __init__(self) -> None:
        super().__init__(
            "This reply was stopped while it was coming, so there is no final message. "
            "Iterating over the run again sends the same request again."
        )


class RunFailed(NbrunnerError):
    """A run ended because a request brought no whole reply."""

    def __init__(self, iteration: int, message: str, advice: str) -> None:
        seen = message if message.endswith((".", "!", "?")) else f"{message}."
        super().__init__(f"Iteration {iteration + 1} failed: {seen} {advice}")

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence; the panel has the rest."""
        return [f"{type(self).__name__}: {self}"]


class RunInterrupted(NbrunnerError):
    """The kernel was interrupted while a cell awaited its run.

    No KeyboardInterrupt: one that leaves an asyncio task (each run of a `gather` is
    in one) ends the event loop, and the kernel with it.
    """

    def __init__(self, name: str) -> None:
        super().__init__(_interrupted(name))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence; the frames are all ours."""
        return [f"{type(self).__name__}: {self}"]


class WaitInterrupted(KeyboardInterrupt):
    """The kernel was interrupted while a cell waited for its run."""

    def __init__(self, name: str) -> None:
        super().__init__(_interrupted(name))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence; the frames are all ours."""
        return [f"{type(self).__name__}: {self}"]


def _interrupted(name: str) -> str:
    return (
        "The run was stopped; its conversation is valid and can go on: "
        f"{name}.start() continues it."
    )


def close_matches(name: str, known: Iterable[str]) -> list[str]:
    """The known names that someone who wrote `name` may have meant, best first."""
    lowered = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.6)
    return [lowered[match] for match in found]


def _brief(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
