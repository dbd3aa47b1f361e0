"""A large JSON value in the live panel: its levels come as they are opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect

from tests.browser.lab import write_notebook
from tests.browser.panel import Panel
from tests.browser.test_accessibility import TOO_PALE, grave_findings

if TYPE_CHECKING:
    from tests.browser.lab import Lab

SETUP = """
%load_ext nbrunner
from anthropic import beta_tool
from nbrunner import Run
from nbrunner.replay import script, use

ROWS = [{"row": n, "tags": [f"tag {n}.{m}" for m in range(20)]} for n in range(60)]

@beta_tool
def store(rows: list, note: str) -> str:
    "Store."
    return "stored"

run = Run(client=script(use("store", rows=ROWS, note="so " * 400 + "the end"), "So."),
          tools=[store], messages="Store.")
run.wait()
run.show()
"""


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_level_comes_when_it_is_opened_by_keyboard_or_mouse(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    name = f"levels-{app}.ipynb"
    write_notebook(lab.root / name, [SETUP])
    with lab.open(name, app) as notebook:
        panel = Panel(notebook, cell=0)
        notebook.run_cell(0)
        panel.root.locator("summary").filter(has_text="store").first.click()
        tree = panel.root.locator(".nbr-tree")
        tree.locator("summary").filter(has_text="rows 60 items").press("Enter")
        assert "tag 7." not in tree.inner_text()
        tree.locator("[data-key$='.0.7'] > summary").click()
        tags = tree.locator("[data-key$='.0.7.1'] > summary")
        last = tree.get_by_text('19: "tag 7.19"')
        assert tags.inner_text() == "tags\n20 items"
        tags.press("Enter")
        expect(last).to_be_visible()
        expect(tags).to_be_focused()
        assert "tag 8." not in tree.inner_text()
        for seen in (False, True):
            tags.press(" ")
            expect(last).to_be_visible(visible=seen)

        more = tree.get_by_role("button", name="Show the next 20 of rows")
        more.scroll_into_view_if_needed()
        notebook.screenshot(f"{app}-json-page", panel.root)
        more.press("Enter")
        tree.locator("[data-key$='.0.59']").wait_for()
        # The button is gone, and the focus stays in the level that it was in.
        expect(tree.locator("summary", has_text="rows 60 items")).to_be_focused()
        tree.get_by_text('note: "so').click()
        expect(tree.locator("pre")).to_contain_text("the end")
        tree.locator("pre").scroll_into_view_if_needed()
        notebook.screenshot(f"{app}-json-tree", panel.root)
        assert grave_findings(notebook.page) == []
        assert panel.root.evaluate(TOO_PALE) == []

        # In a branch nothing was asked for yet: what was open is not left empty.
        panel.press("Fork here, from iteration 2 on")
        panel.wait_status("paused before request 2")
        row = tree.locator("[data-key$='.0.7.1']")
        expect(row).to_have_attribute("data-intent", "more")
        expect(row).not_to_have_attribute("open", "")
        tags.press("Enter")
        expect(last).to_be_visible()


def test_a_level_that_is_not_there_is_refused_at_its_tree(lab: Lab) -> None:
    write_notebook(lab.root / "forged.ipynb", [SETUP])
    with lab.open("forged.ipynb") as notebook:
        panel = Panel(notebook, cell=0)
        notebook.run_cell(0)
        panel.root.locator("summary").filter(has_text="store").first.click()
        panel.root.locator("summary").filter(has_text="rows 60 items").click()
        panel.root.locator("[data-key$='.0.7'] > summary").click()
        row = panel.root.locator("[data-key$='.0.7.1']")
        row.evaluate("it => { it.dataset.part += '.9' }")
        row.locator("summary").click()
        refused = panel.root.locator(".nbr-json").get_by_role("alert")
        expect(refused).to_have_text("That is no longer part of the run.")
        expect(row).not_to_have_attribute("open", "")
        expect(row.locator("summary")).to_be_focused()
        notebook.screenshot("json-tree-refused", panel.root)
