"""Another way from an iteration on, by clicks: the fork, the way back, the diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab, Notebook

App = Literal["lab", "notebook"]
REPLIES = """
    [say("Let me look."), use("get_temperature", city="Paris")],
    say("It is 20 degrees in Paris."), say("It is 68 °F in Paris."),
    use("get_temperature", city="Paris"), say("Bring a coat."),
"""
BRANCH = "weather.branches[0]"


def fork_at(panel: Panel, iteration: int) -> None:
    row = panel.root.locator(f'[data-key="it{iteration - 1}"]')
    if row.get_attribute("open") is None:
        row.locator("summary").first.click()
    row.get_by_role("button", name="Fork here").click()
    panel.wait_text(f"fork of weather, from iteration {iteration} on")


def kept(notebook: Notebook) -> str:
    """What is in the old branch, but for what was forked from it."""
    line = "print(weather.transcript.model_copy(update={'branches': ()}).model_dump())"
    return notebook.evaluate(line)


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_fork_by_click_asks_anew_and_is_compared_with_the_branch_that_stays(
    lab: Lab, app: App
) -> None:
    steered = Steered(lab, f"forked-{app}", REPLIES, "weather.show()", "weather")
    with lab.open(steered.name, app) as notebook:
        for cell in range(3):
            notebook.run_cell(cell)
        notebook.wait_idle()
        panel, before = Panel(notebook, 2), kept(notebook)
        panel.wait_status("done")
        fork_at(panel, 2)
        panel.wait_status("paused before request 2")
        assert len(requests(notebook)) == 2
        notebook.screenshot(f"{app}-fork-waits")
        panel.send("In Fahrenheit, please.")
        panel.press("Go on")
        panel.wait_status("done")
        panel.wait_text("It is 68 °F in Paris.")
        panel.press("Compare weather")
        panel.wait_text("- It is 20 degrees in Paris.")
        panel.wait_text("+ It is 68 °F in Paris.")
        notebook.screenshot(f"{app}-fork-compared")
        panel.press("Back to weather")
        panel.wait_text(f"{BRANCH} from iteration 2 on")
        panel.press(f"Compare {BRANCH}")
        panel.wait_text("+ It is 68 °F in Paris.")
        notebook.screenshot(f"{app}-branches")
        notebook.set_theme("dark")
        notebook.screenshot(f"{app}-branches-dark")
        panel.press(f"Open {BRANCH}")
        panel.wait_text("fork of weather, from iteration 2 on")
        assert kept(notebook) == before
        _, second, third = requests(notebook)
        sent, said = third["messages"], second["messages"]
        assert sent[:-1] == said[:-1]
        assert sent[-1]["content"][:-1] == said[-1]["content"]
        assert sent[-1]["content"][-1]["text"] == "In Fahrenheit, please."
        assert notebook.evaluate("print(ran)") == "['Paris']\n"
        notebook.evaluate("_ = weather.fork(1, name='coat').wait()")
        panel.wait_text("coat from iteration 2 on")
        panel.press("Compare coat")
        panel.wait_text("- It is 68 °F in Paris.")
        panel.wait_text("+ Bring a coat.")
        notebook.screenshot(f"{app}-siblings")
        panel.press("Open coat")
        panel.wait_text(f"{BRANCH} from iteration 2 on")
        notebook.run_cell(3)
        notebook.wait_idle()
        notebook.screenshot(f"{app}-branches-static")
        text = notebook.outputs(3)[0]["data"]["text/plain"]
        assert f"fork {BRANCH}, from iteration 2 on · done" in "".join(text)
        assert "+ It is 68 °F in Paris." in "".join(text)


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_fork_made_in_a_held_cell_outlives_it_and_takes_a_follow_up(
    lab: Lab, app: App
) -> None:
    after = "print('after', weather.stopped_by)"
    options = "--hold --approve ask"
    steered = Steered(lab, f"held-fork-{app}", REPLIES, after, options=options)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.press("Approve: get_temperature")
        panel.wait_status("done, held open for you")
        fork_at(panel, 2)
        panel.press("Go on")
        panel.wait_text("It is 68 °F in Paris.")
        panel.wait_status("done, held open for you")
        assert notebook.prompt(1) == "[*]:"
        panel.press("Back to weather")
        panel.wait_text("It is 20 degrees in Paris.")
        panel.press("Finish")
        notebook.wait_idle()
        notebook.screenshot(f"{app}-fork-outlives")
        assert notebook.outputs(2)[0]["text"] == "after end_turn\n"
        panel.wait_text("fork of weather, from iteration 2 on")
        panel.box().fill("What should I wear?")
        panel.press("Send")
        panel.press("Approve: get_temperature")
        panel.wait_text("Bring a coat.")
        panel.wait_status("done, held open for you")
        panel.press("Finish")
        panel.root.wait_for(state="detached")
        page, fork = notebook.outputs(1)
        assert "widget" not in str(list(page["data"]) + list(fork["data"]))
        assert "".join(page["data"]["text/plain"]).startswith("tool run weather: done")
        text = "".join(fork["data"]["text/plain"])
        assert "Bring a coat." in text
        assert text.startswith(f"tool run {BRANCH}: done · fork of weather")
        said = f"fork {BRANCH}, from iteration 2 on · done · 4 iterations"
        assert said in "".join(page["data"]["text/plain"])
        assert len(requests(notebook)) == 5
        assert notebook.evaluate("print(ran)") == "['Paris', 'Paris']\n"


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_detached_run_is_forked_inside_a_tool_and_both_branches_end(
    lab: Lab, app: App
) -> None:
    replies = 'use("get_weather", location="Paris"), say("Fine."), say("Sunny.")'
    steered = Steered(lab, f"detached-fork-{app}", replies, options="--detach")
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        fork_at(panel, 1)
        panel.wait_status("paused before request 1")
        steered.opens_the_gate()
        said = notebook.cell(1).locator(".nbr-static .nbr-say")
        said.get_by_text("Fine.").wait_for()
        panel.wait_text("fork of weather, from iteration 1 on")
        panel.press("Go on")
        said.get_by_text("Sunny.").wait_for()
        panel.root.wait_for(state="detached")
        first, second, third = requests(notebook)
        assert first == third
        assert len(second["messages"]) == 3
        texts = ["".join(it["data"]["text/plain"]) for it in notebook.outputs(1)]
        assert [text.split(" · ")[0] for text in texts] == [
            "tool run weather: done",
            f"tool run {BRANCH}: done",
        ]
        assert notebook.evaluate("print(ran)") == "['Paris']\n"
