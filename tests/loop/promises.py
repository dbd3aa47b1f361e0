"""Promises 3 and 4, as they are seen from the wire and in a transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.loop.api_rules import broken_rule
from tests.loop.planned_replies import bytes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from nbrunner import Run

BY_HAND = "by hand"
"""Every result that a person, or the body of a loop, makes here."""


def assert_sent_as_promised(body: dict[str, Any], handed_in: Collection[str]) -> None:
    """The API takes the request, and the results that were handed in stand in it."""
    assert broken_rule(body) is None, (broken_rule(body), body)
    for call_id, content in _results_in(body):
        assert call_id not in handed_in or content == BY_HAND, (call_id, content)


def assert_given_results_stand(event: Any, given: dict[str, Any]) -> None:
    """What was given by hand for a reply stands among its results; `given` notes it."""
    match event.kind:
        case "results_given":
            given.update(_by_id(event.message))
        case "reply_dropped":
            given.clear()
        case "results_finished":
            made = _by_id(event.message)
            assert {call_id: made[call_id] for call_id in given} == given
            given.clear()


def assert_replies_are_kept(run: Run, given: Mapping[str, Any]) -> None:
    """What Claude said is kept byte for byte, dropped replies too."""
    iterations = run.transcript.iterations
    kept = [i.reply for i in iterations if i.reply is not None]
    kept += [d.reply for i in iterations for d in i.dropped]
    for message in kept:
        assert bytes_of(message["content"]) == given[message["id"]]["content"]
        assert message["stop_reason"] == given[message["id"]]["stop_reason"]
    contents = {it["content"] for it in given.values()}
    for message in run.messages:
        if message["role"] == "assistant":
            assert bytes_of(message["content"]) in contents


def _by_id(message: Mapping[str, Any]) -> dict[str, Any]:
    results = (b for b in message["content"] if b["type"] == "tool_result")
    return {block["tool_use_id"]: block["content"] for block in results}


def _results_in(body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for message in body["messages"]:
        if isinstance(message["content"], list):
            for block in message["content"]:
                if block["type"] == "tool_result":
                    yield block["tool_use_id"], block["content"]
