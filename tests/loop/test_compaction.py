"""`run.compact_before_next_turn()`, held against the SDK's own."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from nbrunner import Run, tool_runner
from nbrunner.core.edits import Compact
from nbrunner.core.events import EditRefused
from nbrunner.replay import fail, reply, say, use
from tests.loop.iterated import ADD, BRIEF, MORE, Ran, both_ways, message_of
from tests.loop.steering import Followed
from tests.loop.test_oracle import differences
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire

COMPACTED = {"type": "compaction", "content": "They added.", "encrypted_content": "E="}
SUMMARY = reply(COMPACTED, stop_reason="compaction")
NO_SUMMARY = reply({**COMPACTED, "content": None}, stop_reason="compaction")
PAUSED = reply(say("I think."), stop_reason="pause_turn")

SCRIPTS: dict[str, tuple[tuple[Any, ...], int, dict[str, Any]]] = {
    "between two iterations": (([ADD], SUMMARY, [MORE], "Done."), 0, {}),
    "after the final reply": (([ADD], "Done.", SUMMARY), 1, {}),
    "no summary came": (([ADD], NO_SUMMARY, "Done."), 0, {}),
    "a paused turn is resumed first": ((PAUSED, [ADD], SUMMARY, "Done."), 0, {}),
    "not counted as an iteration": (
        ([ADD], SUMMARY, [MORE], "Never."),
        0,
        {"max_iterations": 2},
    ),
    "asked for at the limit": (([ADD], "Never."), 0, {"max_iterations": 1}),
    "final at the limit": (("Done.", SUMMARY), 0, {"max_iterations": 1}),
    "parameters that shape a reply": (
        ([ADD], SUMMARY, "Done."),
        0,
        {
            "stop_sequences": ["END"],
            "tool_choice": {"type": "any"},
            "output_config": {"effort": "low"},
            "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
        },
    ),
    "its own config": (([ADD], SUMMARY, "Done."), 0, {"system": "Be kind."}),
    "a reply cut off inside a call": (
        (reply(ADD, stop_reason="max_tokens"), "Never."),
        0,
        {},
    ),
}


def loop(name: str, *, stream: bool, ours: bool) -> tuple[Wire, list[Any], list[str]]:
    replies, at, params = SCRIPTS[name]
    calls: list[Any] = []
    wire = Wire(*replies)
    given: dict[str, Any] = {
        "model": "claude-opus-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "?"}],
        "tools": counted_tools(calls),
        "betas": ["compact-2026-09-04"],
        "stream": stream,
        **params,
    }
    if ours:
        runner: Any = tool_runner(wire.client, **given)
    else:
        runner = wire.client.beta.messages.tool_runner(**given, thread=False)
    reasons = []
    for number, item in enumerate(runner):
        reasons.append(message_of(item).stop_reason)
        if number == at:
            config = {"type": "summarize"} if name == "its own config" else None
            runner.compact_before_next_turn(config)
    return wire, calls, reasons


@both_ways
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_compaction_goes_out_as_the_sdk_sends_it(name: str, *, stream: bool) -> None:
    theirs = loop(name, stream=stream, ours=False)
    ours = loop(name, stream=stream, ours=True)
    assert differences(ours[0].bodies, theirs[0].bodies) == []
    assert ours[0].betas == theirs[0].betas
    assert ours[1:] == theirs[1:]


@both_ways
def test_until_done_gives_the_answer_and_not_the_summary(*, stream: bool) -> None:
    ran = Ran("Three.", SUMMARY, stream=stream)
    for item in ran.run:
        if message_of(item).stop_reason == "end_turn":
            ran.run.compact_before_next_turn()
    assert ran.run.until_done().content[0].text == "Three."
    assert ran.run.stopped_by == "end_turn"
    assert len(ran.bodies) == 2


@both_ways
def test_a_follow_up_stands_behind_the_summary(*, stream: bool) -> None:
    ran = Ran("Three.", SUMMARY, "Surely.", stream=stream)
    ran.run.until_done()
    ran.run.compact_before_next_turn()
    ran.run.until_done()
    ran.run.append_messages(BRIEF)
    assert ran.run.until_done().content[0].text == "Surely."
    assert ran.sent() == [{"role": "assistant", "content": [COMPACTED]}, BRIEF]


def test_messages_appended_while_the_summary_is_in_hand_stand_behind_it() -> None:
    ran = Ran([ADD], SUMMARY, "Done.")
    for message in ran.run:
        if message.stop_reason == "tool_use":
            ran.run.compact_before_next_turn()
        if message.stop_reason == "compaction":
            ran.run.append_messages(message, BRIEF)
    assert ran.sent() == [{"role": "assistant", "content": [COMPACTED]}, BRIEF]


@both_ways
def test_a_compaction_that_fails_is_sent_again(*, stream: bool) -> None:
    ran = Ran([ADD], fail(529), SUMMARY, "Done.", stream=stream)
    next(ran.run)
    ran.run.compact_before_next_turn()
    with pytest.raises(anthropic.APIStatusError):
        next(ran.run)
    assert list(ran.texts())[-1] == "Done."
    assert ran.bodies[1] == ran.bodies[2]
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_a_summary_that_is_dropped_is_asked_for_again(*, stream: bool) -> None:
    ran = Ran([ADD], SUMMARY, SUMMARY, "Done.", stream=stream)
    for number, item in enumerate(ran.run):
        message_of(item)
        if number == 0:
            ran.run.compact_before_next_turn()
        if number == 1:
            ran.run.append_messages()
    assert ran.bodies[1] == ran.bodies[2]
    assert ran.sent()[0]["content"] == [COMPACTED]


def test_a_compaction_that_waits_can_be_taken_back() -> None:
    ran = Ran([ADD], "Done.")
    for message in ran.run:
        if message.stop_reason == "tool_use":
            ran.run.compact_before_next_turn()
            ran.run.submit(Compact(compaction=None))
    assert ["compaction" in body for body in ran.bodies] == [False, False]


def test_a_run_in_a_thread_compacts_by_the_same_edit() -> None:
    wire = Wire(SUMMARY, "Done.")
    run = Run(client=wire.client, messages="?")
    run.submit(Compact())
    assert run.wait(20).text == "Done."
    assert wire.bodies[0]["compaction"] == {"type": "summarize"}
    assert run.messages[0]["content"] == [COMPACTED]
    assert run.transcript.iterations[0].is_compaction


def test_beside_a_compaction_edit_of_the_api_s_own_it_is_refused() -> None:
    management = {"edits": [{"type": "compact_20260112"}]}
    ran = Ran([use("add", a=1, b=2)], "Done.", context_management=management)
    followed = Followed(ran.run)
    for _ in ran.run:
        ran.run.compact_before_next_turn()
    refused = followed.of(EditRefused)
    assert "the API takes no two" in refused[0].reason
    assert len(ran.bodies) == 2
