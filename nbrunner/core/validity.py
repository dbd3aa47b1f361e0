"""The API's own rules for a history, checked before every send.

A request that breaks them is answered by a 400 that names an index; this check
names the iteration and the block instead, and nothing goes out.

Rules by Anthropic's public documentation (tool use and prompt caching, 2026-11):
each `tool_use` has its `tool_result` in the next user message, results come
first, no text block is empty, at most four `cache_control` marks. The API reads
neighbours of one role as one message, and so does this.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from nbrunner.core.blocks import Block, Message, content_of, is_empty_text
from nbrunner.core.caching import MAX_MARKS, marked_places
from nbrunner.errors import InvalidHistory

Problem: TypeAlias = tuple[str, str]
"""Where something is wrong, as a path, and what."""


class _Placed(NamedTuple):
    """A block of the conversation, and where it stands."""

    path: str
    role: str
    block: Block

    @property
    def kind(self) -> str | None:
        kind: str | None = self.block.get("type")
        return kind


def check(body: dict[str, Any], iteration: int) -> None:
    """Refuse a request body that the API would refuse.

    Args:
        body: The request body about to be sent.
        iteration: Its index in the run, from 0; the error counts from 1.

    Raises:
        InvalidHistory: The first rule that is broken, and where.
    """
    problem = _problem_of_messages(body["messages"])
    if problem is None and len(places := marked_places(body)) > MAX_MARKS:
        problem = places[-1], f"{len(places)} cache marks, the API takes {MAX_MARKS}"
    if problem is not None:
        raise InvalidHistory(iteration, *problem)


def _problem_of_messages(messages: list[Message]) -> Problem | None:
    blocks: list[_Placed] = []
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        content = content_of(message)
        if not content and index < len(messages) - 1:
            return path, "a message without content"
        for number, block in enumerate(content):
            place = f"{path}.content[{number}]"
            if is_empty_text(block):
                return place, "an empty text block"
            if message["role"] != "system":
                blocks.append(_Placed(place, message["role"], block))
    if not blocks:
        return "messages", "no message to send"
    if blocks[0].role == "assistant" and blocks[0].kind != "compaction":
        return "messages[0]", "the first message is the assistant's"
    return _problem_of_calls(blocks)


def _problem_of_calls(blocks: list[_Placed]) -> Problem | None:
    """What is wrong with the pairs of calls and results, if anything is."""
    calls: list[_Placed] = []
    for _, neighbours in groupby(blocks, key=lambda placed: placed.role):
        said = list(neighbours)
        if (problem := _problem_of_results(said, calls)) is not None:
            return problem
        calls = [placed for placed in said if placed.kind == "tool_use"]
    return _unanswered(calls, []) if calls else None


def _problem_of_results(said: list[_Placed], calls: list[_Placed]) -> Problem | None:
    """What is wrong with what one side said, given the calls it has to answer."""
    results = [placed for placed in said if placed.kind == "tool_result"]
    answered = [placed.block.get("tool_use_id") for placed in results]
    if (problem := _unanswered(calls, answered)) is not None:
        return problem
    expected = [call.block.get("id") for call in calls]
    for number, (result, call_id) in enumerate(zip(results, answered, strict=True)):
        if call_id not in expected:
            return result.path, f"a tool_result for {call_id}, which no call before has"
        if call_id in answered[:number]:
            return result.path, f"a second tool_result for {call_id}"
        if result is not said[number]:
            return result.path, "a tool_result behind another block"
    return None


def _unanswered(calls: list[_Placed], answered: list[str | None]) -> Problem | None:
    missing = [call for call in calls if call.block.get("id") not in answered]
    if not missing:
        return None
    ids = ", ".join(str(call.block.get("id")) for call in missing)
    return missing[0].path, f"no tool_result for {ids}"
