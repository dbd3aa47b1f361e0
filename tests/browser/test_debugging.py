from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab, Notebook

REPLIES = """
    [say("Let me look."), use("get_temperature", city="Oslo")],
    say("I have no temperature for Oslo."),
"""


def answers(notebook: Notebook, text: str) -> None:
    """Type an answer to what the cell asks."""
    # The box that was answered stays for a moment beside the next one.
    box = notebook.page.locator(".jp-Stdin-input:not([data-answered])")
    box.fill(text)
    box.evaluate("box => { box.dataset.answered = 'yes'; }")
    notebook.page.locator(".jp-Stdin-input[data-answered]").last.press("Enter")


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_failed_tool_pauses_the_run_and_the_next_cell_debugs_it(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(
        lab, f"debugged-{app}", REPLIES, "%debug", options="--break-on-error"
    )
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_status("paused before request 2: get_temperature failed")
        # The call is open, with what happened beside what Claude will be told.
        trace = panel.root.get_by_text("KeyError: 'Oslo'").first
        assert trace.is_visible()
        assert panel.root.get_by_text("what Claude was told").is_visible()
        line = panel.root.get_by_text('weather.debug("toolu_01")')
        assert line.is_visible()
        assert "%debug" in (line.get_attribute("title") or "")
        for theme in ("light", "dark"):
            notebook.set_theme(theme)
            notebook.screenshot(f"{app}-break-on-error-{theme}", panel.root)
        notebook.set_theme("light")
        panel.press("Go on")
        notebook.wait_idle()

        notebook.run_cell(2)
        answers(notebook, "p city")
        notebook.output_area(2).get_by_text("'Oslo'").first.wait_for()
        shown = notebook.output_area(2).inner_text()
        assert 'return {"Paris": "20"}[city]' in shown
        assert "nbrunner" not in shown
        answers(notebook, "u")
        notebook.output_area(2).get_by_text("Oldest frame").wait_for()
        notebook.screenshot(f"{app}-debugged")
        answers(notebook, "q")
        notebook.wait_idle()
        _, second = requests(notebook)
        (result,) = second["messages"][-1]["content"]
        assert (result["is_error"], result["content"]) == (True, "KeyError('Oslo')")
