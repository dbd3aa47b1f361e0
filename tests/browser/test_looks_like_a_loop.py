"""A run in a cell that goes round and round pauses, for a person to look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

SAME = 'use("get_temperature", city="Paris")'


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_the_third_same_call_in_a_row_pauses_until_a_person_says_what_to_do(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"round-{app}", f'{SAME}, {SAME}, {SAME}, say("Done.")')
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_cell(0)
        notebook.run_cell(1)
        panel.wait_status("paused before request 4: the same call of get_temperature")
        notebook.screenshot(f"{app}-looks-like-a-loop", notebook.cell(1))
        panel.send("You know it already.")
        panel.press("Go on")
        notebook.wait_idle()
        assert "Done." in notebook.outputs(1)[0]["data"]["text/plain"]
        said = requests(notebook)[3]["messages"][-1]["content"]
        assert said[-1] == {"type": "text", "text": "You know it already."}
