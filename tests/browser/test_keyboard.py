from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect

from tests.browser.panel import Panel, Steered, requests
from tests.browser.test_approvals import refresh

if TYPE_CHECKING:
    from tests.browser.lab import Lab

REPLIES = 'use("get_weather", location="Paris"), say("Done.")'
CELLS = "harness.panel().content.widgets.length"


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_keys_pressed_in_the_panel_are_the_panels(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"keys-{app}", REPLIES)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        keyboard = notebook.page.keyboard
        summary = panel.root.locator(".nbr-it > summary")
        button = panel.root.get_by_role("button", name="Pause")
        for place in (summary, button):
            for key in ("b", "x", "a", "d", "ArrowDown"):
                place.focus()
                keyboard.press(key)
                assert notebook.page.evaluate(CELLS) == 2
                assert place.evaluate("it => it === document.activeElement")
        summary.press("Enter")
        assert panel.root.locator(".nbr-it").get_attribute("open") is None
        summary.press(" ")
        assert panel.root.locator(".nbr-it").get_attribute("open") is not None

        box = panel.box()
        box.focus()
        keyboard.type("bx")
        keyboard.press("Enter")
        keyboard.type("second line")
        assert box.input_value() == "bx\nsecond line"
        keyboard.press("Shift+Enter")
        keyboard.press("Control+Enter")
        panel.wait_text("goes out with the next request")
        assert box.input_value() == ""
        steered.opens_the_gate()
        notebook.wait_idle()
        assert notebook.page.evaluate(CELLS) == 2
        note = requests(notebook)[1]["messages"][-1]["content"][-1]
        assert note["text"].startswith("bx\nsecond line")


def test_what_a_person_types_opens_and_focuses_outlives_the_refreshing(
    lab: Lab,
) -> None:
    steered = Steered(lab, "kept", REPLIES)
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        call = panel.root.locator(".nbr-call")
        call.locator("summary").click()
        assert call.get_attribute("open") is None
        panel.box().fill("half a thought")
        panel.root.get_by_role("button", name="Pause").press("Enter")
        panel.wait_status("pausing before the next request")
        focused = notebook.page.locator(":focus")
        assert focused.inner_text() == "Go on"
        steered.opens_the_gate()
        panel.wait_status("paused before request 2")
        assert focused.inner_text() == "Go on"
        assert call.get_attribute("open") is None
        assert panel.box().input_value() == "half a thought"
        panel.press("Go on")
        notebook.wait_idle()


def test_the_focus_comes_back_to_step_once_the_step_is_done(lab: Lab) -> None:
    steered = Steered(lab, "stepping", REPLIES)
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        panel.press("Pause")
        steered.opens_the_gate()
        panel.wait_status("paused before request 2")
        step = panel.root.get_by_role("button", name="Step")
        step.press("Enter")
        panel.wait_status("paused, Claude is done")
        expect(step).to_be_focused()
        step.press("Enter")
        notebook.wait_idle()


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_escape_closes_an_open_form_and_the_next_one_leaves_the_panel(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"escape-{app}", REPLIES, options="--approve ask")
    steered.opens_the_gate()
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("waiting for your decision on 1 call")
        keyboard = notebook.page.keyboard
        line = panel.root.locator("summary", has_text="Edit the input")
        form = panel.root.locator(".nbr-way").filter(has_text="Edit the input")
        line.press("Enter")
        field = panel.root.get_by_role("textbox", name="location of get_weather")
        field.fill("Oslo")
        keyboard.press("Escape")
        expect(line).to_be_focused()
        expect(form).not_to_have_attribute("open", "")
        line.press("Enter")
        # What was typed is there again, and the line itself closes the form too.
        expect(field).to_have_value("Oslo")
        keyboard.press("Escape")
        expect(form).not_to_have_attribute("open", "")
        # A refreshing opens nothing again.
        refresh(notebook, app)
        expect(form).not_to_have_attribute("open", "")
        line.focus()
        keyboard.press("Escape")
        inside = "it => it.contains(document.activeElement)"
        assert not panel.root.evaluate(inside)
        assert notebook.page.evaluate(CELLS) == 2
        panel.press("Approve: get_weather")
        notebook.wait_idle()
