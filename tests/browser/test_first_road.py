from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import nbformat
import pytest
from nbconvert import HTMLExporter

from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

REPLIES = """
    [say("Let me look."), use("get_weather", location="Paris"),
     use("get_temperature", city="Oslo")],
    [say("One more."), use("get_temperature", city="Paris")],
    say("It is **20 degrees** in Paris."),
"""


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_person_steers_a_run_while_its_cell_is_busy(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"road-{app}", REPLIES, "print('after', weather.stopped_by)")
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.console.clear()  # Notebook 7 complains of itself while it loads
        notebook.run_all()
        panel.wait_text("asking about Paris")
        panel.press("Pause")
        panel.wait_status("pausing before the next request")
        panel.send("Please be concise.")
        assert notebook.prompt(1) == "[*]:"

        steered.opens_the_gate()
        panel.wait_status("paused before request 2")
        panel.wait_text("KeyError: 'Oslo'")
        panel.press("cache mark on the result of get_weather")
        panel.wait_text("cache 5 min")
        for theme in ("light", "dark"):
            notebook.set_theme(theme)
            notebook.screenshot(f"{app}-paused-{theme}")
        notebook.set_theme("light")
        assert notebook.prompt(1) == "[*]:"
        assert notebook.prompt(2) == "[*]:"
        panel.press("Go on")
        notebook.wait_idle()

        first, second, third = requests(notebook)
        assert len(first["messages"]) == 1
        weather, temperature, note = second["messages"][-1]["content"]
        assert weather["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in temperature
        assert note == {"type": "text", "text": "Please be concise."}
        assert third["messages"][: len(second["messages"])] == second["messages"]
        assert notebook.evaluate("print(ran)") == "['Paris', 'Oslo', 'Paris']\n"
        assert notebook.outputs(2)[0]["text"] == "after end_turn\n"
        assert not [line for line in notebook.console if "error" in line.lower()]


def test_the_saved_notebook_shows_the_transcript_without_its_kernel(lab: Lab) -> None:
    steered = Steered(lab, "saved", REPLIES)
    steered.opens_the_gate()
    with lab.open(steered.name) as notebook:
        notebook.run_all()
        notebook.wait_idle()
        notebook.save()
        (output,) = notebook.saved().cells[1].outputs
        assert sorted(output.data) == ["text/html", "text/plain"]
        assert "widgets" not in notebook.saved().metadata
        for theme in ("light", "dark"):
            notebook.set_theme(theme)
            notebook.screenshot(f"saved-{theme}")
    with lab.open(steered.name) as notebook:  # with a kernel that knows nothing
        page = notebook.cell(1).locator(".nbr-static")
        page.get_by_text("KeyError: 'Oslo'").wait_for()
        answer = page.locator(".nbr-say").get_by_text("It is 20 degrees in Paris.")
        assert answer.is_visible()
        page.locator("summary").filter(has_text="One more.").click()
        answer_2 = page.get_by_text("One more.").nth(1)
        assert answer_2.is_visible()


def test_the_converted_page_reads_without_a_server(lab: Lab) -> None:
    steered = Steered(lab, "converted", REPLIES)
    steered.opens_the_gate()
    with lab.open(steered.name) as notebook:
        notebook.run_all()
        notebook.wait_idle()
        notebook.save()
        exporter = HTMLExporter()
        html, _ = exporter.from_notebook_node(nbformat.read(notebook.path, 4))
        page = notebook.page.context.new_page()
        page.set_content(html)
        page.locator(".nbr-static").get_by_text("KeyError: 'Oslo'").wait_for()
        answer = page.locator(".nbr-say").get_by_text("It is 20 degrees in Paris.")
        assert answer.is_visible()
        page.locator(".nbr-static").screenshot(path=notebook.picture("converted"))
        page.close()
