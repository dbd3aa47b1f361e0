"""Deciding about calls in the panel, while the cell runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, requests
from tests.browser.test_accessibility import OPEN_ALL, TOO_PALE, grave_findings

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.lab import Lab, Notebook

App = Literal["lab", "notebook"]
CALL = 'use("get_weather", location="Paris")'
BOTH = f'[{CALL}, use("get_temperature", city="Paris")]'
ASK = "--approve ask"


def call(panel: Panel, name: str) -> Locator:
    """The block of the call of that tool which waits."""
    asked = panel.root.locator(".nbr-call").filter(has_text=name)
    return asked.filter(has=panel.notebook.page.locator(".nbr-decide"))


def refresh(notebook: Notebook, app: App) -> None:
    """Have the whole panel rendered anew: a second view of it asks for a snapshot."""
    if app == "notebook":  # it has no place for one
        return
    notebook.page.evaluate(
        "harness.panel().content.activeCellIndex = 1;"
        "harness.run('notebook:create-output-view')"
    )
    second = notebook.page.locator(".jp-LinkedOutputView .nbr-live")
    second.get_by_text("waiting for your decision").wait_for()


def results(notebook: Notebook) -> list[dict[str, object]]:
    last: list[dict[str, object]] = requests(notebook)[1]["messages"][-1]["content"]
    return last


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_call_runs_once_with_the_input_that_a_person_edited(
    lab: Lab, app: App
) -> None:
    replies = f'{CALL}, say("Not Paris.")'
    steered = Steered(lab, f"edited-{app}", replies, options=ASK)
    steered.opens_the_gate()
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("waiting for your decision on 1 call")
        waiting = call(panel, "get_weather")
        waiting.get_by_text("Edit the input").click()
        field = waiting.get_by_role("textbox", name="location of get_weather")
        assert field.input_value() == "Paris"
        field.fill("Os")
        # What is half typed outlives a refreshing.
        refresh(notebook, app)
        field.press("End")
        field.type("lo")
        assert field.input_value() == "Oslo"
        notebook.screenshot(f"{app}-approval-form")
        panel.press("Run with this input: get_weather")
        notebook.wait_idle()
        assert notebook.evaluate("print(ran)") == "['Oslo']\n"
        (result,) = results(notebook)
        assert result["content"] == "20 degrees in Oslo"
        proposed = requests(notebook)[1]["messages"][1]["content"][0]["input"]
        assert proposed == {"location": "Paris"}
        page = notebook.cell(1).locator(".nbr-static")
        page.locator("summary").filter(has_text="get_weather").first.click()
        words = page.inner_text()
        assert "Approved by you, with another input than Claude proposed." in words
        assert words.index("input Claude proposed") < words.index("input it ran with")
        notebook.screenshot(f"{app}-approval-edited", page)


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_two_calls_are_decided_one_by_one_in_reverse_order(lab: Lab, app: App) -> None:
    steered = Steered(lab, f"reverse-{app}", f'{BOTH}, say("Done.")', options=ASK)
    steered.opens_the_gate()
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("waiting for your decision on 2 calls")
        notebook.screenshot(f"{app}-approval-two")
        why = panel.root.get_by_role("textbox", name="why get_temperature is rejected")
        why.fill("Only the weather, please.")
        why.press("Control+Enter")
        panel.wait_status("waiting for your decision on 1 call")
        panel.wait_text("Rejected by you: Only the weather, please.")
        assert not panel.root.get_by_text("asking about Paris").count()
        panel.press("Approve: get_weather")
        notebook.wait_idle()
        assert notebook.evaluate("print(ran)") == "['Paris']\n"
        first, second = results(notebook)
        assert first["content"] == "20 degrees in Paris"
        assert second["content"] == (
            "This call was not allowed, and it was not run. Only the weather, please."
        )
        assert second["is_error"]
        notebook.screenshot(f"{app}-approval-rejected", notebook.output_area(1))


def test_an_input_that_does_not_fit_is_refused_at_its_form_and_can_be_mended(
    lab: Lab,
) -> None:
    steered = Steered(lab, "unfit", f'{CALL}, say("Done.")', options=ASK)
    steered.opens_the_gate()
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.wait_idle()
        # A tool whose input is not flat is edited as JSON.
        notebook.evaluate(
            "from pydantic import BaseModel\n"
            "class Place(BaseModel):\n    name: str\n"
            "@beta_tool\n"
            "def get_weather(location: Place) -> str:\n"
            "    'Get.'\n    ran.append(location.name)\n    return 'fine'\n"
            "replies = replay.play(script(\n"
            "    use('get_weather', location={'name': 'Paris'}), say('Done.')))"
        )
        notebook.run_cell(1)
        panel.wait_status("waiting for your decision")
        waiting = call(panel, "get_weather")
        waiting.get_by_text("Edit the input").click()
        box = waiting.get_by_role("textbox", name="the input of get_weather, as JSON")
        assert json.loads(box.input_value()) == {"location": {"name": "Paris"}}
        box.fill('{"location": {"name": 7}}')
        box.press("Control+Enter")
        refused = waiting.get_by_role("alert").filter(has_text="location.name")
        refused.wait_for()
        assert "has to be of type string" in refused.inner_text()
        assert box.input_value() == '{"location": {"name": 7}}'
        notebook.screenshot("approval-unfit")
        box.fill('{"location": {"name": "Rome"}}')
        panel.press("Run with this input: get_weather")
        notebook.wait_idle()
        assert notebook.evaluate("print(ran)") == "['Rome']\n"


def test_a_tool_is_approved_for_the_rest_and_another_answered_by_hand(
    lab: Lab,
) -> None:
    replies = f'{BOTH}, {CALL}, say("Done.")'
    steered = Steered(lab, "rest", replies, options=ASK)
    steered.opens_the_gate()
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("waiting for your decision on 2 calls")
        panel.press("Approve get_weather for the rest of the run")
        panel.wait_status("waiting for your decision on 1 call")
        # The focus went to the call that still waits, not onto a button of it.
        focused = "document.activeElement.closest('.nbr-call > summary')?.innerText"
        notebook.wait_until(f"({focused} ?? '').includes('get_temperature')", "focus")
        waiting = call(panel, "get_temperature")
        waiting.get_by_text("Answer by hand").click()
        waiting.get_by_role("textbox", name="the result of get_temperature").fill("21")
        panel.press("Send as the result: get_temperature")
        notebook.wait_idle()
        assert notebook.evaluate("print(ran)") == "['Paris', 'Paris']\n"
        assert [result["content"] for result in results(notebook)] == [
            "20 degrees in Paris",
            "21",
        ]
        notebook.screenshot("approval-answered", notebook.output_area(1))


EVERY_KIND = """
from typing import Literal, Optional

@beta_tool
def book(hotel: str, nights: int, stars: float, breakfast: bool,
         bed: Literal["single", "double"], wish: Optional[str] = None) -> str:
    '''Book a room.

    Args:
        hotel: The name of the hotel, as it stands on its page.
        nights: How many.
        stars: At least.
        breakfast: Whether to book it too.
        bed: Which kind.
        wish: Whatever else.
    '''
    ran.append([hotel, nights, stars, breakfast, bed, wish])
    return "booked"

replies = replay.play(script(use("book", hotel="Ritz", nights=2, stars=4.5,
                                 breakfast=True, bed="single"), say("Booked.")))
"""


def test_a_form_is_filled_and_sent_by_the_keyboard_alone_and_read_in_every_theme(
    lab: Lab,
) -> None:
    cell = "%%toolrun weather --tools book --client replies --approve ask\nBook!"
    steered = Steered(lab, "kinds", 'say("Hi.")', EVERY_KIND, cell)
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook, 3)
        for index in (0, 2):
            notebook.run_cell(index)
            notebook.wait_idle()
        notebook.hide_sidebar()
        notebook.run_cell(3)
        panel.wait_status("waiting for your decision on 1 call")
        panel.root.evaluate(OPEN_ALL)
        for theme in ("dark", "contrast", "light"):
            notebook.set_theme(theme)
            assert grave_findings(notebook.page) == [], theme
            assert panel.root.evaluate(TOO_PALE) == [], theme
            notebook.screenshot(f"approval-kinds-{theme}", panel.root)
        notebook.page.set_viewport_size({"width": 560, "height": 1400})
        notebook.screenshot("approval-kinds-narrow", panel.root)
        notebook.page.set_viewport_size({"width": 1300, "height": 1000})
        keyboard = notebook.page.keyboard
        panel.root.get_by_role("textbox", name="hotel of book").focus()
        keyboard.press("Control+A")
        keyboard.type("dax, Bxb")  # d, a, x and b are keys of Jupyter's own
        keyboard.press("Tab")
        keyboard.press("Control+A")
        keyboard.type("3")
        for _ in range(2):
            keyboard.press("Tab")
        keyboard.press("ArrowDown")
        keyboard.press("Tab")
        keyboard.press("ArrowDown")
        assert notebook.page.evaluate("harness.panel().content.widgets.length") == 4
        keyboard.press("Control+Enter")
        notebook.wait_idle()
        expected = "[['dax, Bxb', 3, 4.5, False, 'double', None]]\n"
        assert notebook.evaluate("print(ran)") == expected
