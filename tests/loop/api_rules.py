"""What the Messages API demands of a request, by its public documentation.

Written from the documentation and not from `nbrunner.core.validity`, which the tests
hold against it.
"""

from __future__ import annotations

import json
from typing import Any

MARKS = 4


def broken_rule(body: dict[str, Any]) -> str | None:
    """Name the rule that a request body breaks, or None if the API would take it."""
    try:
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        return f"not JSON in UTF-8: {error}"
    if len(marks(body)) > MARKS:
        return f"{len(marks(body))} cache marks"
    turns = joined(body["messages"])
    if not turns or not (turns[0][0] == "user" or is_summary(turns[0][1])):
        return "the first message is not the user's"
    for place, (_role, blocks) in enumerate(turns):
        is_last = place == len(turns) - 1
        if not blocks and not is_last:
            return f"turn {place} is empty"
        if any(b["type"] == "text" and not b["text"] for b in blocks):
            return f"turn {place} has an empty text"
        if any(silent_error(block) for block in blocks):
            return f"turn {place} has an error result without text"
        before = turns[place - 1][1] if place else []
        problem = unpaired(before, blocks) or (unpaired(blocks, []) if is_last else "")
        if problem:
            return f"turn {place}: {problem}"
    return None


def is_summary(blocks: list[Any]) -> bool:
    """Whether a turn stands for all that came before it."""
    return bool(blocks) and blocks[0]["type"] == "compaction"


def silent_error(block: Any) -> bool:
    """Whether a block is an error result that is not made of text, or of none."""
    if not block.get("is_error"):
        return False
    content = block.get("content")
    if isinstance(content, str) or not content:
        return not content
    return any(inner["type"] != "text" or not inner["text"] for inner in content)


def joined(messages: list[Any]) -> list[tuple[str, list[Any]]]:
    """The messages as the API reads them: neighbours of one role are one turn."""
    turns: list[tuple[str, list[Any]]] = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(content)
        elif message["role"] != "system":
            turns.append((message["role"], list(content)))
    return turns


def unpaired(before: list[Any], after: list[Any]) -> str:
    """What is wrong between the calls of one turn and the results of the next."""
    calls = [b["id"] for b in before if b["type"] == "tool_use"]
    results = [b["tool_use_id"] for b in after if b["type"] == "tool_result"]
    if sorted(calls) != sorted(results):
        return f"calls {calls} and results {results}"
    if any(b["type"] != "tool_result" for b in after[: len(results)]):
        return "a result behind another block"
    return ""


def marks(value: Any, place: str = "body") -> list[str]:
    """The paths of all `cache_control` marks, those the model wrote left out."""
    if isinstance(value, list):
        return [m for n, item in enumerate(value) for m in marks(item, f"{place}[{n}]")]
    if not isinstance(value, dict):
        return []
    inner = [
        mark
        for key, item in value.items()
        if key not in ("input", "input_schema")
        for mark in marks(item, f"{place}.{key}")
    ]
    return [place, *inner] if value.get("cache_control") else inner
