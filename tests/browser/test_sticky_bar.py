"""In a long run the bar stays in sight, and Stop with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect

from tests.browser.panel import Panel, Steered

if TYPE_CHECKING:
    from tests.browser.lab import Lab, Notebook

REPLIES = """
    *[[say(f"Step {i}.\\n\\n" + "More of it.\\n\\n" * 9), use("get_temperature",
       city="Paris" if i % 2 else "Oslo")] for i in range(12)],
    [say("And now " + "for long\\n\\n" * 30), use("get_weather", location="Paris")],
    say("Done."),
"""

SCROLLED = "area => { area.scrollIntoView(); area.scrollTop = area.scrollHeight; }"


def stop_is_in_sight(notebook: Notebook, panel: Panel) -> bool:
    """Whether a person can press Stop: it is there, and nothing covers it."""
    button = panel.root.get_by_role("button", name="Stop", exact=True)
    expect(button).to_be_in_viewport(ratio=1)
    box = button.bounding_box()
    assert box is not None
    at = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    found = notebook.page.evaluate(
        "at => document.elementFromPoint(...at).innerText", at
    )
    return bool(found == "Stop")


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_stop_stays_in_sight_however_long_the_run_is(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"sticky-{app}", REPLIES)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        for theme in ("light", "dark"):
            notebook.set_theme(theme)
            panel.box().scroll_into_view_if_needed()
            assert stop_is_in_sight(notebook, panel)
            notebook.screenshot(f"{app}-sticky-{theme}")
        notebook.page.evaluate("harness.cell(1).outputsScrolled = true")
        notebook.output_area(1).evaluate(SCROLLED)
        assert stop_is_in_sight(notebook, panel)
        notebook.screenshot(f"{app}-sticky-scrolled")
        panel.press("Stop")
        steered.opens_the_gate()
        notebook.wait_idle()
