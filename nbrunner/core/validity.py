"""The API's own rules for a history, checked before every send.

A request that breaks them is answered by a 400 that names an index; this check
names the iteration and the block instead, and nothing goes out.

Rules by Anthropic's public documentation (tool use and prompt caching, 2026-11):
each `tool_use` has its `tool_result` in the next user message, results come
first, no text block is empty, at most four `cache_control` marks.
"""

from __future__ import annotations

from typing import Any

from nbrunner.core.blocks import Message, content_of, is_empty_text, tool_uses
from nbrunner.core.caching import MAX_MARKS, marked_places
from nbrunner.errors import InvalidHistory


def check(body: dict[str, Any], iteration: int) -> None:
    """Refuse a request body that the API would refuse.

    Args:
        body: The request body about to be sent.
        iteration: Its index in the run, from 0; the error counts from 1.

    Raises:
        InvalidHistory: The first rule that is broken, and where.
    """
    messages = body["messages"]
    problem = _first_problem(messages)
    if problem is None and len(places := marked_places(body)) > MAX_MARKS:
        problem = places[-1], f"{len(places)} cache marks, the API takes {MAX_MARKS}"
    if problem is not None:
        raise InvalidHistory(iteration, *problem)


def _first_problem(messages: list[Message]) -> tuple[str, str] | None:
    if not messages:
        return "messages", "no message to send"
    if messages[0]["role"] == "assistant" and not _is_compacted(messages[0]):
        return "messages[0]", "the first message is the assistant's"
    open_calls: list[str] = []
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        problem = _problem_in(message, open_calls, path)
        if problem is not None:
            return problem
        if message["role"] != "system":
            open_calls = [use["id"] for use in tool_uses(content_of(message))]
    if open_calls:
        return f"messages[{len(messages) - 1}]", _unanswered(open_calls)
    return None


def _problem_in(
    message: Message, open_calls: list[str], path: str
) -> tuple[str, str] | None:
    """What is wrong with one message, given the calls it has to answer."""
    blocks = content_of(message)
    for index, block in enumerate(blocks):
        if is_empty_text(block):
            return f"{path}.content[{index}]", "an empty text block"
    if message["role"] == "system":
        return None
    kinds = [block.get("type") == "tool_result" for block in blocks]
    answered = [b["tool_use_id"] for b in blocks if b.get("type") == "tool_result"]
    if kinds != sorted(kinds, reverse=True):
        late = kinds.index(True, kinds.index(False))
        return f"{path}.content[{late}]", "a tool_result behind another block"
    if missing := [call for call in open_calls if call not in answered]:
        return path, _unanswered(missing)
    if strangers := [call for call in answered if call not in open_calls]:
        return path, f"a tool_result for {strangers[0]}, which no call before it has"
    if len(set(answered)) != len(answered):
        return path, "two tool_results for one call"
    return None


def _is_compacted(message: Message) -> bool:
    return any(block.get("type") == "compaction" for block in content_of(message))


def _unanswered(calls: list[str]) -> str:
    return f"no tool_result for {', '.join(calls)}"
