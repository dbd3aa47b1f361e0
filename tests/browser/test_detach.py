from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import TOOLRUN, Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

REPLIES = """
    [say("Let me look."), use("get_weather", location="Paris")],
    say("It is **20 degrees** in Paris."),
"""
MEANWHILE = "print('meanwhile', weather.is_running)"
JOIN = "print('joined', (await weather).stopped_by)"


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_detached_run_is_steered_while_other_cells_run(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(
        lab, f"detached-{app}", REPLIES, MEANWHILE, JOIN, options="--detach"
    )
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        notebook.run_cell(2)
        notebook.wait_idle()
        assert notebook.prompt(1) == "[2]:"
        assert notebook.outputs(2)[0]["text"] == "meanwhile True\n"
        panel.press("Pause")
        panel.wait_status("pausing before the next request")
        panel.send("Please be concise.")
        steered.opens_the_gate()
        panel.wait_status("paused before request 2")
        notebook.screenshot(f"{app}-detached")
        panel.press("Go on")
        notebook.cell(1).locator(".nbr-static").wait_for()
        notebook.run_cell(3)
        notebook.wait_idle()
        assert notebook.outputs(3)[0]["text"] == "joined end_turn\n"
        assert len(notebook.outputs(2)) == 1
        note = requests(notebook)[1]["messages"][-1]["content"][-1]
        assert note["text"] == "Please be concise."
        notebook.save()
        (output,) = notebook.saved().cells[1].outputs
        assert sorted(output.data) == ["text/html", "text/plain"]
        assert "20 degrees in Paris" in output.data["text/plain"]
        assert "20 degrees" in output.data["text/html"]


def test_a_detached_run_is_joined_while_it_runs_and_stopped_from_its_panel(
    lab: Lab,
) -> None:
    steered = Steered(lab, "joined", REPLIES, JOIN, options="--detach")
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        assert notebook.prompt(2) == "[*]:"
        panel.press("Stop")
        panel.press("Stop now")
        notebook.cell(1).locator(".nbr-static").wait_for()
        notebook.wait_idle()
        assert notebook.outputs(2)[0]["text"] == "joined person\n"
        steered.opens_the_gate()


def test_the_cell_of_a_run_that_goes_on_refuses_to_start_another_of_its_name(
    lab: Lab,
) -> None:
    again = f"{TOOLRUN} --detach\nAnd in Lyon?"
    steered = Steered(lab, "again", REPLIES, again, options="--detach")
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        notebook.run_cell(2)
        notebook.wait_idle()
        (error,) = notebook.outputs(2)
        assert "weather is running already" in error["text"]
        assert len(requests(notebook)) == 1
        steered.opens_the_gate()
        notebook.cell(1).locator(".nbr-static").wait_for()
