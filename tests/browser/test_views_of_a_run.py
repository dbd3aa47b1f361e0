"""Other views of a run: after a reload, a second one, and `run.show()` later on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.kernels import NEWEST, OLDER, kernel
from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

REPLIES = """
    [say("Let me look."), use("get_weather", location="Paris")],
    say("It is 20 degrees in Paris."), say("You are welcome."),
"""
SHOW = "weather.show()"


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_page_that_is_loaded_anew_in_mid_run_shows_it_live_and_steers_it(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"reloaded-{app}", REPLIES, SHOW)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        notebook.save()
        notebook.page.reload()
        panel.wait_text("asking about Paris")
        panel.press("Pause")
        panel.wait_status("pausing before the next request")
        steered.opens_the_gate()
        panel.wait_status("paused before request 2")
        notebook.screenshot(f"{app}-reloaded")
        panel.press("Go on")
        notebook.cell(1).get_by_text("It is 20 degrees in Paris.").last.wait_for()
        notebook.run_cell(2)
        later = Panel(notebook, 2)
        later.wait_text("It is 20 degrees in Paris.")
        notebook.screenshot(f"{app}-reloaded-after")


@pytest.mark.parametrize("version", OLDER)
def test_on_an_older_kernel_a_page_loaded_anew_loses_nothing_of_the_run(
    lab: Lab, version: str
) -> None:
    steered = Steered(
        lab, f"reloaded-{version}", REPLIES, SHOW, kernel=kernel(lab, version)
    )
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        notebook.save()
        notebook.page.reload()
        steered.opens_the_gate()
        notebook.run_cell(2)
        notebook.wait_idle()
        notebook.screenshot(f"reloaded-{version}")
        later = Panel(notebook, 2)
        later.wait_text("It is 20 degrees in Paris.")
        said = notebook.evaluate("print(weather.to_text(), weather.stopped_by)")
        assert "asking about Paris" in said
        assert said.endswith("end_turn\n")


def test_the_same_output_opened_twice_is_live_in_both_views(lab: Lab) -> None:
    steered = Steered(lab, "twice", REPLIES)
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        notebook.page.evaluate(
            "harness.panel().content.activeCellIndex = 1;"
            "harness.run('notebook:create-output-view')"
        )
        second = Panel(notebook)
        second.root = notebook.page.locator(".jp-LinkedOutputView .nbr-live")
        second.wait_text("asking about Paris")
        second.press("Pause")
        for view in (panel, second):
            view.wait_status("pausing before the next request")
        notebook.screenshot("opened-twice")
        steered.opens_the_gate()
        for view in (panel, second):
            view.wait_status("paused before request 2")
        panel.press("Go on")
        notebook.wait_idle()
        static = notebook.page.locator(".jp-LinkedOutputView .nbr-static")
        static.get_by_text("It is 20 degrees in Paris.").last.wait_for()


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_a_run_is_shown_again_in_later_cells_and_taken_further_there(
    lab: Lab, version: str
) -> None:
    steered = Steered(
        lab, f"shown-{version}", REPLIES, SHOW, SHOW, kernel=kernel(lab, version)
    )
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        notebook.interrupt()
        panel.wait_status("stopping when this step is done")
        steered.opens_the_gate()
        notebook.wait_idle()
        notebook.run_cell(2)
        notebook.run_cell(3)
        notebook.wait_idle()
        first, second = Panel(notebook, 2), Panel(notebook, 3)
        for view in (first, second):
            view.wait_status("stopped by you")
        second.press("Go on")
        for view in (first, second):
            view.wait_status("done")
            view.wait_text("It is 20 degrees in Paris.")
        notebook.screenshot(f"shown-again-{version}")
        assert notebook.evaluate("print(ran)") == "['Paris']\n"
        assert len(requests(notebook)) == 2
