from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

REPLIES = """
    use("get_weather", location="Paris"), say("It is sunny in Paris."),
    use("get_temperature", city="Paris"), say("And 20 degrees."),
"""


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_held_run_takes_a_follow_up_in_its_cell_until_it_is_finished(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    after = "print('after', weather.stopped_by)"
    steered = Steered(lab, f"held-{app}", REPLIES, after, options="--hold")
    steered.opens_the_gate()
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("done, held open for you")
        assert notebook.prompt(1) == "[*]:"
        notebook.screenshot(f"{app}-held")
        panel.box().fill("And the temperature?")
        panel.press("Send")
        panel.wait_text("And 20 degrees.")
        panel.wait_status("done, held open for you")
        assert notebook.prompt(1) == "[*]:"
        finish = panel.root.get_by_role("button", name="Finish")
        assert finish.get_attribute("title") == "in Python: weather.stop()"
        finish.click()
        notebook.wait_idle()
        assert notebook.outputs(2)[0]["text"] == "after end_turn\n"
        follow_up = requests(notebook)[2]["messages"][-1]
        assert follow_up["content"][-1]["text"] == "And the temperature?"
        (static,) = notebook.outputs(1)
        assert "held" not in static["data"]["text/plain"]
