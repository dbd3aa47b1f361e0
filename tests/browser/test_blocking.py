"""Cells that block the kernel while a run goes on: it is shown all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from nbrunner.views.notices import blocked
from tests.browser.kernels import NEWEST, kernel
from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab, Notebook

REPLIES = """
    [say("Let me look."), use("get_weather", location="Paris")],
    say("It is 20 degrees in Paris."),
"""
MADE = "from nbrunner import Run\nrun = Run(client=replies, tools=[get_weather], "
WAITED = f"{MADE}messages='How is Paris?')\nrun.wait()"
NESTED = "%%time\n%%toolrun timed --tools get_weather --client replies\nHow is Paris?"
SHOWN = f"{MADE}messages='And now?').start()\ndisplay(run.show())\nrun.wait()"


def live(notebook: Notebook, steered: Steered, cell: int) -> Panel:
    """The panel of a cell that is inside a tool."""
    steered.gate.unlink(missing_ok=True)
    panel = Panel(notebook, cell)
    notebook.run_cell(cell)
    panel.wait_text("asking about Paris")
    assert notebook.prompt(cell) == "[*]:"
    return panel


def kinds(notebook: Notebook, cell: int) -> list[list[str]]:
    """The media types of a cell's outputs; a stream has none."""
    return [sorted(output.get("data", {})) for output in notebook.outputs(cell)]


PAGE = ["text/html", "text/plain"]
REPR = ["text/plain"]


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_cell_that_waits_shows_its_run_live_and_then_its_page(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"blocking-{app}", REPLIES, WAITED, NESTED, SHOWN)
    with lab.open(steered.name, app) as notebook:
        notebook.run_cell(0)
        notebook.wait_idle()
        panel = live(notebook, steered, 2)
        panel.root.get_by_text(blocked("run")).wait_for()
        panel.press("Pause")
        notebook.screenshot(f"{app}-blocking", notebook.cell(2))
        steered.opens_the_gate()
        notebook.wait_idle()
        assert kinds(notebook, 2) == [PAGE, REPR]
        assert "It is 20 degrees in Paris." in notebook.outputs(2)[0]["data"][PAGE[1]]
        assert notebook.evaluate("print(run.stopped_by)") == "end_turn\n"

        panel = live(notebook, steered, 3)
        notebook.interrupt()
        panel.wait_status("stopping when this step is done")
        steered.opens_the_gate()
        notebook.wait_idle()
        assert kinds(notebook, 3)[0] == PAGE
        assert "stopped by you" in notebook.outputs(3)[0]["data"][PAGE[1]]

        panel = live(notebook, steered, 4)
        assert notebook.cell(4).locator(".nbr").count() == 1
        steered.opens_the_gate()
        notebook.wait_idle()
        panel.wait_status("done")
        assert notebook.cell(4).locator(".nbr").count() == 1


def test_where_clicks_come_by_subshells_a_cell_that_waits_hears_them(lab: Lab) -> None:
    name = kernel(lab, "7.3.0")
    steered = Steered(lab, "blocking-7.3", REPLIES, WAITED, kernel=name)
    with lab.open(steered.name) as notebook:
        notebook.run_cell(0)
        notebook.wait_idle()
        panel = live(notebook, steered, 2)
        panel.press("Pause")
        panel.wait_status("pausing before the next request")
        steered.opens_the_gate()
        panel.wait_status("paused before request 2")
        assert not panel.root.get_by_text(blocked("run")).is_visible()
        panel.press("Go on")
        notebook.wait_idle()
        assert kinds(notebook, 2) == [PAGE, REPR]
        assert len(requests(notebook)) == 2


def test_what_is_captured_is_the_page_alone(lab: Lab) -> None:
    captured = NESTED.replace("%%time", "%%capture kept")
    steered = Steered(lab, f"captured-{NEWEST}", REPLIES, captured, "kept.show()")
    steered.opens_the_gate()
    with lab.open(steered.name) as notebook:
        for cell in (0, 2, 3):
            notebook.run_cell(cell)
        notebook.wait_idle()
        assert kinds(notebook, 2) == []
        assert kinds(notebook, 3) == [PAGE]
