from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

CALL = 'use("get_weather", location="Paris")'
GO_ON = "weather.start(); print((await weather).stopped_by, weather.text)"


def test_interrupting_the_kernel_inside_a_tool_stops_after_it(lab: Lab) -> None:
    two = f'[{CALL}, use("get_temperature", city="Paris")], say("Done.")'
    steered = Steered(lab, "interrupted", two, "print('not reached')", GO_ON)
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(1 - 1)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        notebook.interrupt()
        panel.wait_status("stopping when this step is done")
        steered.opens_the_gate()
        notebook.wait_idle()
        static, error = notebook.outputs(1)
        assert error["ename"] == "RunInterrupted"
        assert "weather.start() continues it" in error["evalue"]
        assert "was not run" in static["data"]["text/plain"]
        notebook.run_cell(3)
        notebook.wait_idle()
        assert notebook.outputs(3)[0]["text"] == "end_turn Done.\n"
        assert notebook.evaluate("print(ran)") == "['Paris']\n"
        results = requests(notebook)[1]["messages"][-1]["content"]
        assert [result.get("is_error", False) for result in results] == [False, True]


def test_a_second_interrupt_leaves_a_tool_that_does_not_return(lab: Lab) -> None:
    steered = Steered(lab, "left", f'{CALL}, say("Done.")', "1 + 1", GO_ON)
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        notebook.interrupt()
        panel.wait_status("stopping when this step is done")
        notebook.interrupt()
        notebook.wait_idle()
        assert notebook.outputs(1)[-1]["ename"] == "RunInterrupted"
        steered.opens_the_gate()
        notebook.run_cell(3)
        notebook.wait_idle()
        assert notebook.outputs(3)[0]["text"] == "end_turn Done.\n"
        (result,) = requests(notebook)[1]["messages"][-1]["content"]
        assert result["is_error"]
        assert "interrupted" in result["content"]


def test_the_stop_button_ends_the_cell_in_a_state_that_goes_on(lab: Lab) -> None:
    steered = Steered(lab, "stopped", f'{CALL}, say("Done.")', "1 + 1", GO_ON)
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        panel.press("Stop")
        panel.wait_status("stopping when this step is done")
        panel.press("Stop now")
        notebook.wait_idle()
        (static,) = notebook.outputs(1)
        assert "stopped by you" in static["data"]["text/plain"]
        steered.opens_the_gate()
        notebook.run_cell(3)
        notebook.wait_idle()
        assert notebook.outputs(3)[0]["text"] == "end_turn Done.\n"


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_stream_that_breaks_is_retried_from_the_panel(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    broken = 'cut([say("The weather is quite " + "fine " * 40)], after=6, error="drop")'
    steered = Steered(lab, f"retried-{app}", f'{CALL}, {broken}, say("It is sunny.")')
    steered.opens_the_gate()
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("request 2 failed, waiting for you")
        panel.wait_text("what had come of the reply (not kept)")
        assert notebook.prompt(1) == "[*]:"
        notebook.screenshot("failed-request")
        panel.press("Retry")
        notebook.wait_idle()
        _, second, third = requests(notebook)
        assert second == third
        assert (
            notebook.evaluate("print(ran, weather.text)") == "['Paris'] It is sunny.\n"
        )


def test_a_request_refused_by_the_api_ends_the_cell_and_says_what_to_do(
    lab: Lab,
) -> None:
    refused = "fail(401, 'authentication_error', 'invalid x-api-key')"
    steered = Steered(lab, "refused", refused, "print('not reached')")
    with lab.open(steered.name) as notebook:
        notebook.run_all()
        notebook.wait_idle()
        _, error = notebook.outputs(1)
        assert error["ename"] == "RunFailed"
        assert "invalid x-api-key" in error["evalue"]
        assert "set ANTHROPIC_API_KEY" in error["evalue"]
        assert notebook.outputs(2) == []
