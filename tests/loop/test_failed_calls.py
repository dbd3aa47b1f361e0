"""The errors that tools raise: at hand with their frames, and in Python's logging."""

from __future__ import annotations

import gc
import logging
import pdb  # noqa: T100 - it is what a run without a shell opens
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from anthropic import beta_tool
from anthropic.lib.tools import ToolError

from nbrunner import Run
from nbrunner.errors import NothingToDebug
from nbrunner.loop.failed_calls import KEPT
from nbrunner.replay import use
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from types import TracebackType

    from nbrunner import Transcript
    from nbrunner.core.events import Event


class Forecast:
    """Something large that a tool holds."""


held: list[Any] = []


@beta_tool
def get_weather(location: str) -> str:
    """Get the weather."""
    forecast = Forecast()
    held.append(weakref.ref(forecast))
    return looked_up({"Paris": "sunny"}, location)


def looked_up(forecasts: dict[str, str], place: str) -> str:
    return forecasts[place]


@beta_tool
def refuse() -> str:
    """Answer with an error on purpose."""
    raise ToolError("Ask for a city in Europe.")


@beta_tool
def leave() -> str:
    """Try to leave the program."""
    raise SystemExit(3)


def names(frames: TracebackType | None) -> list[str]:
    found = []
    while frames is not None:
        found.append(frames.tb_frame.f_code.co_name)
        frames = frames.tb_next
    return found


def run_of(*calls: dict[str, Any], **options: Any) -> Run:
    wire = Wire([{**call, "id": f"toolu_{n}"} for n, call in enumerate(calls)], "So.")
    tools = [get_weather, refuse, leave]
    run = Run(client=wire.client, tools=tools, messages="?", **options)
    run.wait(20)
    return run


def asking_for(*cities: str) -> list[dict[str, Any]]:
    return [use("get_weather", location=city) for city in cities]


def failures_logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [it for it in caplog.records if it.name == "nbrunner.tools"]


def test_the_error_of_a_call_is_at_hand_from_the_tools_first_frame_down() -> None:
    run = run_of(*asking_for("Oslo", "Paris", "Rome"))
    error = run.exception("toolu_0")
    assert isinstance(error, KeyError)
    assert names(error.__traceback__) == ["get_weather", "looked_up"]
    assert run.exception("toolu_1") is None
    newest = run.exception()
    assert isinstance(newest, KeyError)
    assert newest.args == ("Rome",)
    assert newest is run.exception("toolu_2")


def test_a_sdk_text_run_has_them_too() -> None:
    run = run_of(*asking_for("Oslo"), sdk_texts=True)
    assert isinstance(run.exception(), KeyError)
    assert run.transcript.iterations[0].tool_calls[0].result == "KeyError('Oslo')"


def test_only_the_newest_errors_are_kept_and_the_values_of_the_others_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # pytest keeps every record, and with it the error.
    monkeypatch.setattr(logging.getLogger("nbrunner.tools"), "disabled", True)
    held.clear()
    run = run_of(*asking_for(*(f"Oslo {n}" for n in range(KEPT + 2))))
    gc.collect()
    assert [it() is None for it in held] == [True, True] + [False] * KEPT
    assert run.exception("toolu_1") is None
    assert run.exception("toolu_2") is not None
    del run
    gc.collect()
    assert all(it() is None for it in held)


def test_an_input_that_was_refused_has_no_frame_to_look_at() -> None:
    run = run_of(use("get_weather"), use("get_wether"))
    assert run.exception() is None
    with pytest.raises(NothingToDebug) as raised:
        run.debug()
    assert str(raised.value) == (
        "No tool of run raised an error, so there is nothing to debug. What Claude "
        "did wrong, an invalid input say, is in run.transcript."
    )


def test_a_call_without_an_error_says_which_calls_have_one() -> None:
    run = run_of(*asking_for("Oslo", "Paris"))
    with pytest.raises(NothingToDebug) as raised:
        run.debug("toolu_1")
    assert str(raised.value) == (
        "No error of the call 'toolu_1' is at hand: the newest ones are kept. Calls of "
        "run with one: toolu_0."
    )


def test_without_a_shell_the_debugger_is_pythons_own_at_the_same_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(pdb, "post_mortem", opened.append)
    run = run_of(*asking_for("Oslo", "Rome"))
    run.debug("toolu_0")
    run.debug()
    assert [names(it) for it in opened] == [["get_weather", "looked_up"]] * 2
    place = opened[0].tb_next.tb_frame.f_locals["place"]
    assert place == "Oslo"


def test_a_kernel_that_nobody_sits_at_is_told_where_the_error_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nbrunner.run.debugging.is_headless", lambda: True)
    with pytest.raises(NothingToDebug) as raised:
        run_of(*asking_for("Oslo")).debug()
    assert str(raised.value) == (
        "The debugger asks for commands, and nobody sits at this kernel to give them. "
        "run.exception() is the error, with its traceback."
    )


def test_a_failed_tool_is_logged_once_with_its_stack(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run_of(*asking_for("Oslo", "Paris"))
    (record,) = failures_logged(caplog)
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "tool get_weather failed in call toolu_0"
    assert record.exc_info is not None
    assert names(record.exc_info[2]) == ["get_weather", "looked_up"]
    assert "return forecasts[place]" in caplog.text
    # The SDK's own record of the same failure would be the second one.
    assert not [it for it in caplog.records if it.name.startswith("anthropic")]


def test_a_key_in_what_a_tool_raised_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = "sk-ant-api03-abcdefghijklmnop"
    run_of(*asking_for(key))
    (record,) = failures_logged(caplog)
    assert "KeyError: '[redacted]'" in caplog.text
    assert key not in caplog.text
    assert record.exc_info is not None
    assert record.exc_info[1] is not None
    assert record.exc_info[1].args == (key,)


def test_an_invalid_input_is_logged_with_what_the_sdk_withholds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run_of(use("get_weather"))
    (record,) = failures_logged(caplog)
    assert record.levelno == logging.ERROR
    assert "Missing required argument" in caplog.text


def test_a_tool_that_tries_to_leave_is_logged_as_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = run_of(use("leave"))
    (record,) = failures_logged(caplog)
    assert (record.levelno, "SystemExit: 3" in caplog.text) == (logging.ERROR, True)
    assert isinstance(run.exception(), SystemExit)


def test_an_answer_that_the_tool_meant_is_no_error_of_the_program(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="nbrunner.tools")
    run_of(use("refuse"))
    (record,) = failures_logged(caplog)
    assert record.levelno == logging.INFO


def test_a_listener_has_the_error_itself_when_it_hears_of_the_failed_call() -> None:
    wire = Wire(use("get_weather", location="Oslo"), "So.")
    run = Run(client=wire.client, tools=[get_weather], messages="?")
    heard: list[BaseException | None] = []

    def listen(event: Event, _: Transcript) -> None:
        if event.kind == "call_finished":
            heard.append(run.exception(event.call_id))

    run.subscribe(listen)
    run.wait(20)
    (error,) = heard
    assert isinstance(error, KeyError)


def test_one_tool_that_fails_does_not_end_the_run() -> None:
    run = run_of(*asking_for("Oslo"))
    assert (run.stopped_by, run.text) == ("end_turn", "So.")
