"""Other views of a run: a second one of its output, and `run.show()` later on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from nbrunner.views.notices import RELOADED
from tests.browser.kernels import NEWEST, OLDER, kernel
from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

REPLIES = """
    [say("Let me look."), use("get_weather", location="Paris")],
    say("It is 20 degrees in Paris."), say("You are welcome."),
"""
SHOW = "weather.show()"


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


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_notebook_opened_in_two_tabs_is_live_in_both_and_kept_by_the_first(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"tabs-{app}", REPLIES)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        notebook.save()
        tab = notebook.page.context.new_page()
        tab.goto(notebook.page.url)
        second = Panel(notebook)
        second.root = tab.locator(".jp-Notebook .jp-Cell").nth(1).locator(".nbr-live")
        second.root.get_by_text(RELOADED).wait_for()
        assert not panel.root.get_by_text(RELOADED).is_visible()
        second.press("Pause")
        for view in (panel, second):
            view.wait_status("pausing before the next request")
        steered.opens_the_gate()
        for view in (panel, second):
            view.wait_status("paused before request 2")
        panel.press("Go on")
        notebook.cell(1).locator(".nbr-static").wait_for()
        second.wait_status("done")
        tab.close()
        notebook.wait_idle()


@pytest.mark.parametrize(
    ("version", "app"),
    [(NEWEST, "lab"), (NEWEST, "notebook"), *((version, "lab") for version in OLDER)],
)
def test_a_run_is_shown_again_in_later_cells_and_taken_further_there(
    lab: Lab, version: str, app: Literal["lab", "notebook"]
) -> None:
    name = f"shown-{version}-{app}"
    steered = Steered(lab, name, REPLIES, SHOW, SHOW, kernel=kernel(lab, version))
    with lab.open(steered.name, app) as notebook:
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
        notebook.screenshot(f"shown-again-{version}-{app}")
        assert notebook.evaluate("print(ran)") == "['Paris']\n"
        assert len(requests(notebook)) == 2
