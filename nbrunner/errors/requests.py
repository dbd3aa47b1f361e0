"""Requests and edits that the API's rules forbid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.errors.base import NbrunnerError

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    def error_without_text(cls, call_id: str) -> EditRefused:
        """The API wants an error to say something."""
        return cls(
            f"The result of {call_id} is an error, and the API takes none without a "
            f"text. Say something, or make it no error: EditResult({call_id!r}, ..., "
            "is_error=False)."
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
