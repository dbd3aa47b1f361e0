"""The API's own rules for a history, checked before every send.

A request that breaks them is answered by a 400 that names an index; this check
names the iteration and the block instead, and nothing goes out.

Rules by Anthropic's public documentation (tool use and prompt caching, 2026-11):
each `tool_use` has its `tool_result` in the next user message, results come
first, no text block is empty, at most four `cache_control` marks, the one-hour
ones before the others. The API reads neighbours of one role as one message, and
so does this.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nbrunner.core.caching import MAX_MARKS, PlacedMark, too_late
from nbrunner.core.history import Facts, all_marks, survey
from nbrunner.errors import InvalidHistory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Problem: TypeAlias = tuple[str, str]
"""Where something is wrong, as a path, and what."""


class _Placed(NamedTuple):
    """A message that is not the system's, and where it stands."""

    place: int
    facts: Facts


class _Call(NamedTuple):
    """A call or a result: its path, the call's id, its number in what one side said."""

    path: str
    id: str | None
    number: int


def check(
    body: dict[str, Any],
    iteration: int,
    known: Sequence[Facts] = (),
    valid: Sequence[Facts] = (),
) -> None:
    """Refuse a request body that the API would refuse.

    Args:
        body: The request body about to be sent.
        iteration: Its index in the run, from 0; the error counts from 1.
        known: What is known of its messages. It saves work and is never taken on
            trust: facts count only for the very message they were found in.
        valid: What was known of a request found valid before. Where this one begins
            with the same messages they are not looked at again.

    Raises:
        InvalidHistory: The first rule that is broken, and where.
    """
    facts = survey(body["messages"], known)
    start = _start_of_new(facts, valid)
    problem = _problem_of_messages(facts, start)
    problem = problem or _problem_of_marks(all_marks(body, facts))
    if problem is not None:
        raise InvalidHistory(iteration, *problem)


def _start_of_new(messages: Sequence[Facts], valid: Sequence[Facts]) -> int:
    """Where what has not been found valid begins: at a reply that answers a user.

    What stands before such a reply owes it nothing, and it owes nothing to that.
    """
    count = len(valid)
    if tuple(messages[:count]) != tuple(valid):
        return 0
    for index in range(count - 1, 0, -1):
        if messages[index].role == "assistant" and messages[index - 1].role == "user":
            return index
    return 0


def _problem_of_marks(marks: list[PlacedMark]) -> Problem | None:
    if len(marks) > MAX_MARKS:
        return marks[-1].path, f"{len(marks)} cache marks, the API takes {MAX_MARKS}"
    if (late := too_late(marks)) is not None:
        return late.path, "a one-hour cache mark behind a five-minute one"
    return None


def _problem_of_messages(messages: Sequence[Facts], start: int) -> Problem | None:
    last = len(messages) - 1
    new = list(enumerate(messages[start:], start))
    for index, facts in new:
        if facts.empty is not None:
            return f"messages[{index}].content[{facts.empty}]", "an empty text block"
        if not facts.size and index < last:
            return f"messages[{index}]", "a message without content"
    said = [
        _Placed(index, facts)
        for index, facts in new
        if facts.size and facts.role != "system"
    ]
    return (_problem_of_opening(said) if start == 0 else None) or _problem_of_calls(
        said
    )


def _problem_of_opening(said: list[_Placed]) -> Problem | None:
    if not said:
        return "messages", "no message to send"
    first = said[0].facts
    if first.role == "assistant" and first.starts_with != "compaction":
        return "messages[0]", "the first message is the assistant's"
    return None


def _problem_of_calls(said: list[_Placed]) -> Problem | None:
    """What is wrong with the pairs of calls and results, if anything is."""
    asked: list[_Placed] = []
    for _, neighbours in groupby(said, key=lambda placed: placed.facts.role):
        side = list(neighbours)
        if not _answers(side, asked):
            problem = _problem_of_results(side, list(_calls(asked)))
            if problem is not None:
                return problem
        asked = side
    return _unanswered(list(_calls(asked)), [])


def _answers(side: list[_Placed], asked: list[_Placed]) -> bool:
    """Whether a side answers in the plainest way, which nearly all do."""
    if len(side) != 1 or len(asked) > 1:
        return False
    facts = side[0].facts
    calls = asked[0].facts.calls if asked else ()
    ids = [call_id for _, call_id in facts.results]
    return facts.is_plain and ids == [call_id for _, call_id in calls]


def _calls(side: list[_Placed]) -> Iterator[_Call]:
    for index, facts in side:
        for number, call_id in facts.calls:
            yield _Call(f"messages[{index}].content[{number}]", call_id, number)


def _results(side: list[_Placed]) -> Iterator[_Call]:
    before = 0
    for index, facts in side:
        for number, call_id in facts.results:
            path = f"messages[{index}].content[{number}]"
            yield _Call(path, call_id, before + number)
        before += facts.size


def _problem_of_results(side: list[_Placed], calls: list[_Call]) -> Problem | None:
    """What is wrong with what one side said, given the calls it has to answer."""
    results = list(_results(side))
    answered = [result.id for result in results]
    if (problem := _unanswered(calls, answered)) is not None:
        return problem
    expected = [call.id for call in calls]
    for place, result in enumerate(results):
        if result.id not in expected:
            return (
                result.path,
                f"a tool_result for {result.id}, which no call before has",
            )
        if result.id in answered[:place]:
            return result.path, f"a second tool_result for {result.id}"
        if result.number != place:
            return result.path, "a tool_result behind another block"
    return None


def _unanswered(calls: list[_Call], answered: list[str | None]) -> Problem | None:
    missing = [call for call in calls if call.id not in answered]
    if not missing:
        return None
    ids = ", ".join(str(call.id) for call in missing)
    return missing[0].path, f"no tool_result for {ids}"
