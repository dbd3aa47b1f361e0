"""Hands on what came back: a reply asked for again, a result that is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, pause_behind_the_tool, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

App = Literal["lab", "notebook"]
CALL = 'use("get_temperature", city="Paris")'


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_reply_that_is_asked_for_again_is_dropped_and_its_tool_does_not_run_again(
    lab: Lab, app: App
) -> None:
    replies = f'{CALL}, say("It is hot."), say("It is 20 degrees.")'
    steered = Steered(lab, f"again-{app}", replies, options="--hold")
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("done, held open for you")
        panel.root.get_by_role("button", name="Ask again").click()
        panel.wait_text("It is 20 degrees.")
        panel.wait_text("dropped reply, not sent on")
        notebook.screenshot(f"{app}-asked-again", notebook.cell(1))
        panel.press("Finish")
        notebook.wait_idle()
        _, first, second = requests(notebook)
        assert first == second
        assert notebook.evaluate("print(ran)") == "['Paris']\n"
        static = notebook.outputs(1)[0]["data"]["text/plain"]
        assert "(dropped reply, not sent on) It is hot." in static


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_result_that_is_edited_before_it_goes_out_is_what_claude_reads(
    lab: Lab, app: App
) -> None:
    replies = 'use("get_weather", location="Paris"), say("Rain, then.")'
    steered = Steered(lab, f"edited-{app}", replies)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        pause_behind_the_tool(steered, panel)
        panel.root.get_by_text("Edit the result").click()
        box = panel.root.get_by_role("textbox", name="the result of get_weather")
        assert box.input_value() == "20 degrees in Paris"
        box.fill("Rain in Paris")
        notebook.screenshot(f"{app}-edit-result", notebook.cell(1))
        box.press("Control+Enter")
        panel.wait_text("result, edited")
        panel.wait_text("before the edit")
        notebook.screenshot(f"{app}-edited-result", notebook.cell(1))
        panel.press("Go on")
        notebook.wait_idle()
        (result,) = requests(notebook)[1]["messages"][-1]["content"]
        assert result["content"] == "Rain in Paris"
        static = notebook.outputs(1)[0]["data"]["text/plain"]
        assert "(before the edit: 20 degrees in Paris)" in static
