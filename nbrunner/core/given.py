"""Results that were given by hand, while the reply that asks for them is open.

A person answered a call, or the user's own loop handed in a message of results. They
wait for those of the other calls, and stand whatever becomes of the run meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.blocks import content_of, tool_results

if TYPE_CHECKING:
    from nbrunner.core.blocks import Block, Message


def given_by_id(message: Message | None) -> dict[str, Block]:
    """The results of a message that was given, by the id of their call."""
    results = tool_results(message) if message is not None else []
    return {block["tool_use_id"]: block for block in results}


def given_too(before: Message | None, message: Message) -> Message:
    """What was given before, and now: of two results for a call the newer stands."""
    results = [*{**given_by_id(before), **given_by_id(message)}.values()]
    return {"role": "user", "content": [*results, *_others(before, message)]}


def with_given(made: Message, given: Message | None) -> Message:
    """The results that were made, with those in place that were given.

    What stands behind those that were given goes out too.
    """
    if given is None:
        return made
    by_id = given_by_id(given)
    results = [by_id.get(b["tool_use_id"], b) for b in tool_results(made)]
    return {"role": "user", "content": [*results, *_others(made, given)]}


def _others(*messages: Message | None) -> list[Block]:
    """What else is in the messages; what was handed in twice is there once."""
    others: list[Block] = []
    for message in messages:
        blocks = content_of(message) if message is not None else []
        is_new = [b for b in blocks if b not in others]
        others += [b for b in is_new if b.get("type") != "tool_result"]
    return others
