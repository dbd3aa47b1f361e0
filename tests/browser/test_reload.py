"""The page is loaded anew while a run is at work: nothing of the run is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from nbrunner.views.notices import RELOADED
from tests.browser.kernels import OLDER, kernel
from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab, Notebook

REPLIES = """
    [say("Let me look."), use("get_weather", location="Paris")],
    say("It is 20 degrees in Paris."),
"""


def shows_the_run(notebook: Notebook, cell: int) -> None:
    notebook.run_cell(cell)
    page = notebook.cell(cell).locator(".nbr-static")
    page.get_by_text("It is 20 degrees in Paris.").last.wait_for()
    notebook.save()
    (output,) = notebook.saved().cells[cell].outputs
    assert "It is 20 degrees in Paris." in output.data["text/html"]


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_page_that_is_reloaded_in_mid_run_is_live_again_and_says_how_to_keep_the_run(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"reloaded-{app}", REPLIES, "weather")
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        assert not panel.root.get_by_text(RELOADED).is_visible()
        notebook.save()
        notebook.reload_busy()
        panel.wait_text("asking about Paris")
        panel.root.get_by_text(RELOADED).wait_for()
        panel.press("Pause")
        panel.wait_status("pausing before the next request")
        steered.opens_the_gate()
        panel.wait_status("paused before request 2")
        notebook.screenshot(f"{app}-reloaded")
        panel.press("Go on")
        panel.wait_status("done")
        panel.root.get_by_text(RELOADED).wait_for()
        shows_the_run(notebook, 2)
        panel.wait_text("It is 20 degrees in Paris.")
        notebook.screenshot(f"{app}-reloaded-kept")
        assert len(requests(notebook)) == 2


@pytest.mark.parametrize("version", OLDER)
def test_where_a_reloaded_page_hears_nothing_its_panel_comes_back_at_the_cells_end(
    lab: Lab, version: str
) -> None:
    steered = Steered(
        lab, f"reloaded-{version}", REPLIES, "weather", kernel=kernel(lab, version)
    )
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_text("asking about Paris")
        notebook.save()
        notebook.reload_busy()
        notebook.page.wait_for_timeout(6000)
        notebook.screenshot(f"reloaded-{version}-busy")
        steered.opens_the_gate()
        notebook.wait_connected()
        panel.wait_status("done")
        panel.root.get_by_text(RELOADED).wait_for()
        notebook.screenshot(f"reloaded-{version}")
        shows_the_run(notebook, 2)
