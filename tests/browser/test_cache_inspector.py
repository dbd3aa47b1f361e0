from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.lab import write_notebook
from tests.browser.panel import Panel
from tests.browser.test_accessibility import TOO_PALE, grave_findings
from tests.browser.test_states import STICKS_OUT

if TYPE_CHECKING:
    from tests.browser.lab import Lab

# The tool changes the system prompt of its own run, as a time stamp in it would.
SETUP = """
%load_ext nbrunner
from anthropic import beta_tool
from nbrunner import Run, SetSystem, ToggleCache
from nbrunner.replay import reply, say, script, use

def prompt(minute):
    return f"You answer shortly.\\nIt is Monday, 10:0{minute}.\\nBe kind."

@beta_tool
def get_weather(location: str) -> str:
    "Get the weather in a place."
    asked = len(run.transcript.iterations)
    if asked < 3:
        run.submit(SetSystem(prompt(asked)))
    return "20 °C and sunny in " + location

def counted(*blocks, read=0, wrote=0, **more):
    usage = {"input_tokens": 42, "output_tokens": 58,
             "cache_read_input_tokens": read, "cache_creation_input_tokens": wrote}
    return reply(*blocks, usage=usage, **more)

cleared = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1,
           "cleared_input_tokens": 900}
run = Run(
    client=script(
        counted(say("Let me look."), use("get_weather", location="Paris"), wrote=4200),
        counted(use("get_weather", location="Oslo"), wrote=4700),
        counted(use("get_weather", location="Rome"), wrote=5600),
        counted(say("It is warm."), read=5600, wrote=800,
                context_management={"applied_edits": [cleared]}),
    ),
    tools=[get_weather], messages="How warm is it?", system=prompt(0), name="run")
for place in ("system", "results"):
    run.submit(ToggleCache(place))
run.wait()
run.show()
"""


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_missed_read_is_found_and_the_first_block_that_differs_is_shown(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    name = f"inspector-{app}"
    write_notebook(lab.root / f"{name}.ipynb", [SETUP, "run.inspect(at=1)"])
    with lab.open(f"{name}.ipynb", app) as notebook:
        page = notebook.page
        page.set_viewport_size({"width": 1300, "height": 1500})
        if app == "lab":
            notebook.hide_sidebar()
        notebook.run_all()
        notebook.wait_idle()
        root = Panel(notebook, cell=0).root
        second = root.locator("details.nbr-it").nth(1)
        second.locator("summary").first.click()
        assert second.locator("summary").first.get_by_text("cache missed").is_visible()
        difference = second.get_by_text("first difference from request 1: system[0]")
        assert not difference.is_visible()
        second.locator("summary", has_text="read missed").click()
        difference.wait_for()
        diff = second.locator("pre.nbr-diff").inner_text()
        assert "- It is Monday, 10:00.\n+ It is Monday, 10:01." in diff
        assert second.get_by_text("run.inspect(at=1)").is_visible()
        third = root.locator("details.nbr-it").nth(2)
        third.locator("summary").first.click()
        assert third.get_by_text("belongs behind the last mark").is_visible()
        assert root.get_by_role("meter").count() == 4
        assert root.get_by_text("The API cleared 1 tool use").is_visible()
        alone = notebook.cell(1).locator(".nbr-static")
        alone.get_by_text("first difference from request 1: system[0]").wait_for()
        for theme in ("light", "dark"):
            notebook.set_theme(theme)
            notebook.screenshot(f"{name}-{theme}")
            for shown in (root, alone):
                assert shown.evaluate(TOO_PALE) == []
                assert shown.evaluate(STICKS_OUT) == []
            assert grave_findings(page) == []
