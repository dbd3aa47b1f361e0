from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.lab import write_notebook
from tests.browser.panel import Panel

if TYPE_CHECKING:
    from tests.browser.lab import Lab

SETUP = """
%load_ext nbrunner
import base64
from anthropic import beta_tool
from IPython.display import HTML, Image, display
from nbrunner import Run
from nbrunner.replay import script, use

PIXEL = base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=")

@beta_tool
def draw() -> str:
    "Draw."
    display(HTML("<table><tr><td>a frame</td></tr></table><img src=x onerror=y()>"))
    display(Image(data=PIXEL, format="gif"))
    return "word " * 200_000 + "the end"

run = Run(client=script(use("draw"), "So."), tools=[draw], messages="Draw.")
run.wait()
run.show()
"""


def test_a_long_result_is_fetched_when_asked_for_and_a_figure_is_in_its_call(
    lab: Lab,
) -> None:
    write_notebook(lab.root / "long.ipynb", [SETUP])
    with lab.open("long.ipynb") as notebook:
        panel = Panel(notebook, cell=0)
        notebook.run_cell(0)
        panel.root.locator("summary").filter(has_text="draw").first.click()
        call = panel.root.locator("details.nbr-call")
        call.locator("summary").first.click()
        call.get_by_text("displayed (not sent to Claude)").wait_for()
        image = call.locator("img")
        assert image.count() == 1
        assert image.evaluate("it => it.complete && it.naturalWidth") == 1
        assert call.get_by_role("cell", name="a frame").is_visible()
        assert "the end" not in call.inner_text()
        panel.press("Show all (1.0 MB)")
        call.locator("pre", has_text="the end").wait_for()
        assert call.get_by_role("button", name="Show all").count() == 0
        assert call.get_attribute("open") is not None
        assert "transcript.find_call" not in call.inner_text()
