"""Each sample of the tool runner's page, with only the one line changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import anthropic
import pytest

from nbrunner import tool_runner
from nbrunner.replay import say, use
from tests.loop import page_samples as page
from tests.loop.api_rules import broken_rule
from tests.loop.wire import Wire

PARIS = use("get_weather", location="Paris")
SUM = use("calculate_sum", a=15, b=27)
MARK = {"type": "ephemeral"}
OUR_CALL = "tool_runner(client, "
SUNNY = '{"temperature": "20 C", "condition": "Sunny"}'


class Sample(NamedTuple):
    """A sample, the replies to it, and what the page says becomes of them."""

    source: str
    replies: tuple[Any, ...]
    ran: list[str]


SAMPLES = {
    "basic use": Sample(
        page.BASIC,
        ([say("Let me see."), PARIS, SUM], "Sunny, and 42."),
        ["get_weather", "calculate_sum"],
    ),
    "until_done": Sample(
        page.UNTIL_DONE,
        ([PARIS], [SUM], "Sunny, and 42."),
        ["get_weather", "calculate_sum"],
    ),
    "taking over the history": Sample(
        page.HISTORY, ([PARIS], [PARIS], "Sunny."), ["get_weather", "get_weather"]
    ),
    "set_messages_params": Sample(page.PARAMS, ([PARIS], "Sunny."), ["get_weather"]),
    "an error intercepted": Sample(
        page.INTERCEPTED, ([use("my_tool", query="hello")], "Oh."), ["my_tool"]
    ),
    "an error logged": Sample(
        page.LOGGED, ([use("my_tool", query="hello")], "Oh."), ["my_tool"]
    ),
    "cache marks on results": Sample(
        page.CACHED,
        ([use("search_documents", query="climate")], "Mild."),
        ["search_documents"],
    ),
    "streaming": Sample(page.STREAMED, ([SUM], "42."), ["calculate_sum"]),
}


class Did:
    """What a sample did: its requests, its tool calls, the names it left."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"ran": [], "seen": [], "Anthropic": None}
        self.bodies: list[dict[str, Any]] = []
        self.raised: Exception | None = None


def run_sample(sample: Sample, call: str, monkeypatch: pytest.MonkeyPatch) -> Did:
    """Run a sample with that in place of the SDK method's call."""
    did, wire = Did(), Wire(*sample.replies)
    client = wire.client
    did.names |= {"Anthropic": lambda: client, "client": client}
    did.names |= {"tool_runner": tool_runner}
    assert sample.source.count(page.CALL) == 1
    source = page.LEFT_OUT + sample.source.replace(page.CALL, call)
    with monkeypatch.context() as patched:
        patched.setattr(anthropic, "Anthropic", lambda: client)
        try:
            exec(compile(source, "<sample>", "exec"), did.names)  # noqa: S102
        except RuntimeError as error:
            did.raised = error
    did.bodies = wire.bodies
    return did


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_runs_with_one_line_changed_and_its_tools_run_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SAMPLES[name]
    did = run_sample(sample, OUR_CALL, monkeypatch)
    assert did.names["ran"] == sample.ran
    assert [broken_rule(body) for body in did.bodies] == [None] * len(did.bodies)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_sends_what_it_sends_with_the_sdk_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SAMPLES[name]
    theirs = run_sample(sample, f"{page.CALL}thread=False, ", monkeypatch)
    ours = run_sample(sample, OUR_CALL, monkeypatch)
    assert ours.bodies == theirs.bodies
    assert str(ours.raised) == str(theirs.raised)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_run_of_each_sample_shows_every_iteration_and_result(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SAMPLES[name]
    did = run_sample(sample, OUR_CALL, monkeypatch)
    run = did.names["runner"]
    calls = [c for i in run.transcript.iterations for c in i.tool_calls]
    assert [call.name for call in calls] == sample.ran
    assert all(call.is_answered for call in calls)
    assert run.to_html().count('<details class="nbr-call"') == len(calls)
    assert run.stopped_by == ("break" if did.raised else "end_turn")


def test_the_follow_up_of_the_history_sample_stands_behind_reply_and_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sample = SAMPLES["taking over the history"]
    did = run_sample(sample, OUR_CALL, monkeypatch)
    question, reply, results, follow_up = did.bodies[1]["messages"]
    assert question["content"] == "What's the weather in San Francisco?"
    assert reply["content"][0]["name"] == "get_weather"
    assert results["content"][0]["content"] == SUNNY
    assert follow_up == {"role": "user", "content": "Please be concise."}


def test_the_parameters_of_the_sample_are_sent_from_the_next_request_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    did = run_sample(SAMPLES["set_messages_params"], OUR_CALL, monkeypatch)
    assert [body["max_tokens"] for body in did.bodies] == [1024, 2048]


def test_an_error_that_a_sample_raises_ends_the_loop_before_the_next_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    did = run_sample(SAMPLES["an error intercepted"], OUR_CALL, monkeypatch)
    assert str(did.raised) == "Tool failed: \"ValueError('nothing for hello')\""
    assert len(did.bodies) == 1


def test_the_mark_of_the_cache_sample_is_on_the_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    did = run_sample(SAMPLES["cache marks on results"], OUR_CALL, monkeypatch)
    assert did.bodies[1]["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_01",
            "content": "about climate",
            "cache_control": MARK,
        }
    ]


def test_until_done_gives_the_final_message_also_after_the_loop(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_sample(SAMPLES["until_done"], OUR_CALL, monkeypatch)
    assert capsys.readouterr().out == "Sunny, and 42.\n"
    did = run_sample(SAMPLES["streaming"], OUR_CALL, monkeypatch)
    assert did.names["runner"].until_done().content[0].text == "42."
    assert len(did.bodies) == 2
