"""`nbrunner.log`: what the SDK and a run log, switched on at any time, keys never."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import pytest

import nbrunner
from nbrunner import Run
from nbrunner.errors import UsageError
from nbrunner.logs import LOGGERS
from nbrunner.replay import fail, use
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

ADD = use("add", a=1, b=2)
SECRETS = {
    "key": "sk-ant-api03-abcdefghijklmnop",
    "odd key": "hunter2-of-no-known-shape",
    "cookie": "cf_bm=1234567890abcdef",
    "in the prompt": "sk-ant-api03-qrstuvwxyz",
}


@pytest.fixture(autouse=True)
def _off_again() -> Iterator[None]:
    yield
    nbrunner.log("off")


def settings() -> list[Any]:
    loggers = [logging.getLogger(name) for name in LOGGERS]
    return [(it.level, it.propagate, list(it.handlers)) for it in loggers]


def run_over(wire: Wire, **options: Any) -> Run:
    options = {"client": wire.client, "tools": counted_tools([]), **options}
    run = Run(messages="1 + 2?", **options)
    run.wait(20)
    return run


def test_info_shows_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    nbrunner.log("info")
    run_over(Wire([ADD], "It is 3."), name="sum")
    said = capsys.readouterr().err
    lines = [
        line.split("] ", 1)[1] for line in said.splitlines() if "nbrunner.run" in line
    ]
    assert lines[0] == "sum 1: request to claude-opus-5, messages: 1"
    assert lines[1].startswith("sum 1: reply, tool_use, tokens: ")
    assert lines[2] == "sum 1: call toolu_01 of add: ok"
    assert lines[3] == "sum 2: request to claude-opus-5, messages: 3"
    assert len(lines) == 5
    assert said.count("HTTP Request: POST") == 2
    assert "It is 3." not in said


@pytest.mark.parametrize("stream", [True, False])
def test_debug_shows_each_request_and_each_reply_whole(
    capsys: pytest.CaptureFixture[str], *, stream: bool
) -> None:
    nbrunner.log("debug")
    run_over(Wire([ADD], "It is 3."), stream=stream)
    said = capsys.readouterr().err
    assert said.count("Request options:") == 2
    assert "'content': '1 + 2?'" in said
    assert "'tool_use_id': 'toolu_01'" in said
    assert '"stop_reason": "tool_use"' in said
    assert '"text": "It is 3."' in said


def test_a_failed_request_and_its_next_attempt_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nbrunner.log("info")
    run = run_over(Wire(fail(529), "3"))
    run.retry()
    run.wait(20)
    said = capsys.readouterr().err
    assert "run 1: failed: The API answered overloaded_error (529)" in said
    assert "run 1: request to claude-opus-5, messages: 1, attempt 2" in said


def test_it_begins_in_the_middle_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(
        client=Wire([ADD], "It is 3.").client,
        tools=counted_tools([]),
        messages="?",
        max_iterations=1,
    )
    run.wait(20)
    assert capsys.readouterr().err == ""
    nbrunner.log("info")
    run.start().wait(20)
    said = capsys.readouterr().err
    assert "run 2: request" in said
    assert "run 1: request" not in said


def test_no_key_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    wire = Wire([ADD], "It is 3.")

    def answer(request: httpx2.Request) -> httpx2.Response:
        response = wire.handle_request(request)
        response.headers["set-cookie"] = SECRETS["cookie"]
        return response

    nbrunner.log("debug")
    run_over(
        wire,
        client=anthropic.Anthropic(
            api_key=SECRETS["key"],
            default_headers={"x-api-key": SECRETS["odd key"]},
            max_retries=0,
            http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
        ),
        system=f"My key is {SECRETS['in the prompt']}.",
        extra_headers={"x-gateway-token": SECRETS["odd key"]},
    )
    said = capsys.readouterr().err
    assert "'content': '1 + 2?'" in said
    assert [what for what, secret in SECRETS.items() if secret in said] == []
    assert "[redacted]" in said


def test_switching_it_on_twice_shows_each_line_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nbrunner.log("debug")
    nbrunner.log("info")
    nbrunner.log("info")
    run_over(Wire("3"))
    said = capsys.readouterr().err
    assert said.count("HTTP Request: POST") == 1
    assert "Request options" not in said


def test_off_puts_everything_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = settings()
    nbrunner.log("off")
    assert settings() == before
    nbrunner.log("info")
    nbrunner.log("debug")
    assert settings() != before
    nbrunner.log("off")
    assert settings() == before
    run_over(Wire("3"))
    assert capsys.readouterr().err == ""


def test_meanwhile_no_other_handler_shows_the_lines_unredacted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nbrunner.log("debug")
    run_over(Wire([use("fail", how="plainly")], "3"))
    # What a program logs of its failed tools is not taken from it.
    assert {record.name for record in caplog.records} == {"nbrunner.tools"}


def test_a_key_in_a_reply_is_not_logged_to_anyone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="nbrunner.run")
    run_over(Wire(f"Your key is {SECRETS['key']}."))
    assert "Your key is [redacted]." in caplog.text


def test_without_it_the_runs_lines_reach_the_handlers_of_the_program(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="nbrunner.run")
    run_over(Wire("3"))
    assert "run 1: request to claude-opus-5" in caplog.text


def test_another_level_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        nbrunner.log("loud")  # type: ignore[arg-type]
    assert str(raised.value) == (
        "nbrunner.log('loud'): there is no such level. Use 'info', 'debug' or 'off'."
    )
