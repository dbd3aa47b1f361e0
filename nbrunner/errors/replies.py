"""Replies by script or cassette: what cannot be read, and what does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.errors.base import NbrunnerError, UsageError, brief

if TYPE_CHECKING:
    from collections.abc import Iterable


class NotAReply(UsageError):
    """A part of a script that is not a reply, or cannot be sent as one."""

    @classmethod
    def of_type(cls, place: str, seen: object) -> NotAReply:
        """A value of a kind that makes no reply."""
        return cls(
            f"Not a reply, {place}: {brief(seen)} is of type {type(seen).__name__}. "
            "Give a text, a block such as say(...) or use(...), a list of blocks, or "
            "what reply(...), fail(...) or cut(...) return."
        )

    @classmethod
    def bad_field(cls, place: str, block: str, field: str, seen: object) -> NotAReply:
        """A block lacks a field that the API always sends, or has a wrong one."""
        return cls(
            f"Not a reply, {place}: the {block} block has {brief(seen)} as its "
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
            f"fail({brief(seen)}) is no error: the status of one is from 400 to 599. "
            "Give one such as 529, or use reply(...) for a reply that succeeds."
        )

    @classmethod
    def cut_outside(cls, after: object, events: int) -> NotAReply:
        """A cut that would not break the reply."""
        return cls(
            f"cut(..., after={brief(after)}) breaks nothing: the reply has {events} "
            f"stream events. Give a whole number from 0 to {events - 1}."
        )


class NotACassette(UsageError):
    """Something given to play is neither a cassette nor the path of one."""

    def __init__(self, seen: object) -> None:
        super().__init__(
            f"replay.play() was given {brief(seen)}, of type {type(seen).__name__}. "
            "Give the path of a cassette, or replay.script(...)."
        )


class NotAnExchange(UsageError):
    """Something to import is no request with its response."""

    def __init__(self, what: str, seen: object) -> None:
        super().__init__(
            f"{what} cannot be imported: {brief(seen)}. Give a list of {{request, "
            "response}, or the path of a JSON file with one. A request is a JSON body, "
            "a response is a JSON body or the text of a stream; either may stand under "
            "`body`."
        )


class NotATransport(UsageError):
    """Something given as a transport is not one."""

    def __init__(self, seen: object) -> None:
        super().__init__(
            f"Not a transport: {brief(seen)} is of type {type(seen).__name__}. "
            "Give replay.play(...), replay.record(...) or another httpx2.BaseTransport."
        )


class PaceOutOfRange(UsageError):
    """A pace that is no part of the recorded time."""

    def __init__(self, pace: object) -> None:
        super().__init__(
            f"pace={brief(pace)} is not a number from 0 to 1. "
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
            f"{brief(mode)} is not a record mode. Use one of {', '.join(known)}."
        )
