"""Runs against a server that others wrote: what it takes, and what a run survives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.loop.api_rules import broken_rule

if TYPE_CHECKING:
    from nbrunner import Run
    from tests.interop.conftest import Notebook
    from tests.interop.server import Server

LAST = "Sunny in Paris, and Oslo I do not know."
PLACES = ["Paris", "Oslo"]
MODES = pytest.mark.parametrize(
    "options", ["", "--params plain"], ids=["stream", "plain"]
)
RUNS = 10
# What the server notes as the status of its answer; a hang-up has none.
FAULTS = {
    "dropRate": 500,
    "malformedRate": 200,
    "disconnectRate": 0,
    "rateLimitRate": 429,
}


def broken_rules(notebook: Notebook) -> list[str]:
    """What the API would say of the requests that went out."""
    return [rule for body in notebook.bodies if (rule := broken_rule(body))]


def results(run: Run) -> list[tuple[str, bool]]:
    """The results of the calls as they stand in the history, and which failed."""
    blocks = [
        block
        for message in run.messages
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    return [(str(block["content"]), bool(block.get("is_error"))) for block in blocks]


def assert_a_retry_goes_to_the_end(run: Run, notebook: Notebook) -> None:
    run.retry()
    run.wait()
    assert (run.stopped_by, run.text) == ("end_turn", LAST)
    assert len(run.transcript.iterations) == 2
    assert notebook.ran == PLACES
    assert broken_rules(notebook) == []


@MODES
def test_a_conversation_with_parallel_calls_and_a_tool_error_goes_to_its_end(
    notebook: Notebook, options: str
) -> None:
    run = notebook.run("How is the weather?", options)
    assert (run.stopped_by, run.text) == ("end_turn", LAST)
    assert notebook.ran == PLACES
    assert [failed for _, failed in results(run)] == [False, True]
    assert "sunny" in results(run)[0][0]
    assert "KeyError" in results(run)[1][0]
    assert len(notebook.bodies) == 2
    assert broken_rules(notebook) == []


@MODES
def test_a_follow_up_goes_on_with_the_same_history(
    notebook: Notebook, options: str
) -> None:
    first = notebook.run("How is the weather?", options).messages
    notebook.shell.run_cell("%%toolrun --continue weather\nAnd tomorrow?")
    run: Run = notebook.shell.user_ns["weather"]
    assert run.text == "Sunny again."
    assert notebook.bodies[-1]["messages"][: len(first)] == first
    assert broken_rules(notebook) == []


@MODES
@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_whose_requests_fail_goes_on_by_retry_once_they_do_not(
    notebook: Notebook, aimock: Server, fault: str, options: str
) -> None:
    aimock.fails(**{fault: 1})
    run = notebook.run("How is the weather?", options)
    assert run.stopped_by == "error"
    assert aimock.statuses() == [FAULTS[fault]]
    assert notebook.ran == []

    aimock.is_well()
    assert_a_retry_goes_to_the_end(run, notebook)


@MODES
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_behind_tool_calls_never_runs_them_again(
    notebook: Notebook, aimock: Server, fault: str, options: str
) -> None:
    notebook.shell.user_ns["get_weather"] = falling_ill(notebook, aimock, fault)
    run = notebook.run("How is the weather?", options)
    assert run.stopped_by == "error"
    assert notebook.ran == PLACES

    aimock.is_well()
    assert_a_retry_goes_to_the_end(run, notebook)
    assert notebook.bodies[1] == notebook.bodies[2]


@MODES
@pytest.mark.parametrize("fault", FAULTS)
def test_a_follow_up_after_a_failure_goes_on_and_runs_no_tool_again(
    notebook: Notebook, aimock: Server, fault: str, options: str
) -> None:
    notebook.shell.user_ns["get_weather"] = falling_ill(notebook, aimock, fault)
    assert notebook.run("How is the weather?", options).stopped_by == "error"
    assert aimock.statuses() == [200, FAULTS[fault]]

    aimock.is_well()
    notebook.shell.run_cell("%%toolrun --continue weather\nAnd tomorrow?")
    run: Run = notebook.shell.user_ns["weather"]
    assert (run.stopped_by, run.text) == ("end_turn", "Sunny again.")
    assert notebook.ran == PLACES
    assert broken_rules(notebook) == []


def falling_ill(notebook: Notebook, aimock: Server, fault: str) -> object:
    """The notebook's tool; once it has run, the server is ill."""
    tool = notebook.shell.user_ns["get_weather"]
    well = tool.call

    def call(given: object) -> object:
        aimock.fails(**{fault: 1})
        return well(given)

    tool.call = call
    return tool


def test_a_stream_that_ends_in_the_middle_is_shown_and_asked_again(
    notebook: Notebook,
) -> None:
    run = notebook.run("What if you are cut off?")
    cut = run.transcript.iterations[-1]
    assert run.stopped_by == "error"
    assert str(cut.failures[-1].partial[0]["text"]).startswith("Let me")
    assert notebook.ran == []

    run.retry()
    run.wait()
    assert (run.stopped_by, run.text) == ("end_turn", "Sunny in Paris.")
    assert notebook.ran == ["Paris"]
    assert broken_rules(notebook) == []


@MODES
def test_runs_under_random_faults_come_to_their_ends_by_retries_alone(
    notebook: Notebook, aimock: Server, options: str
) -> None:
    aimock.fails(dropRate=0.2, malformedRate=0.2, disconnectRate=0.2, rateLimitRate=0.2)
    for _ in range(RUNS):
        run = notebook.run("How is the weather?", options)
        # Three of five requests fail: 400 in a row do not.
        for _ in range(400):
            if run.stopped_by != "error":
                break
            run.retry()
            run.wait()
        assert (run.stopped_by, run.text) == ("end_turn", LAST)
    assert notebook.ran == PLACES * RUNS
    assert broken_rules(notebook) == []
    # Each run sends two requests that succeed; by far most need others before.
    assert len(aimock.statuses()) > 2 * RUNS
