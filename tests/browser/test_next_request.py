"""The settings of the next request, changed in the panel while a run is paused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, pause_behind_the_tool, requests

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.lab import Lab

REPLIES = 'use("get_weather", location="Paris"), say("Sunny.")'


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_model_system_prompt_and_parameters_change_with_the_very_next_request(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"settings-{app}", REPLIES)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        pause_behind_the_tool(steered, panel)

        def box(name: str) -> Locator:
            return panel.root.get_by_role("textbox", name=f"{name} of the next request")

        panel.root.get_by_text("next request").first.click()
        panel.root.get_by_text("Change model, system prompt").click()
        box("max_tokens").fill("many")
        box("system").fill("Be brief.")
        box("max_tokens").press("Control+Enter")
        panel.wait_text("`max_tokens` has to be a whole number")
        assert box("system").input_value() == "Be brief."
        assert box("max_tokens").input_value() == "many"

        box("max_tokens").fill("99")
        box("model").fill("claude-other")
        choice = panel.root.get_by_role("combobox", name="tool_choice of the next")
        choice.select_option("any")
        effort = panel.root.get_by_role("combobox", name="effort of the next")
        effort.select_option("low")
        effort.press("Control+Enter")
        panel.wait_text("claude-other")
        assert (choice.input_value(), effort.input_value()) == ("any", "low")
        choice.select_option("none")
        box("parameters").fill('{"stop_sequences": ["END"]}')
        notebook.screenshot(f"{app}-next-request", notebook.cell(1))
        box("parameters").press("Control+Enter")
        choice.locator("option[value=none][selected]").wait_for(state="attached")
        panel.root.get_by_text("System prompt", exact=True).first.wait_for()
        panel.press("Go on")
        notebook.wait_idle()
        first, second = requests(notebook)
        changed = {key for key in second if second[key] != first.get(key)}
        assert changed == {
            *("model", "max_tokens", "system", "messages"),
            *("tool_choice", "output_config", "stop_sequences"),
        }
        assert second["output_config"] == {"effort": "low"}
        assert second["stop_sequences"] == ["END"]
        assert (second["model"], second["max_tokens"]) == ("claude-other", 99)
        assert second["system"] == "Be brief."
        assert second["tool_choice"] == {"type": "none"}
        assert second["messages"][: len(first["messages"])] == first["messages"]
        line = notebook.cell(1).get_by_text("request 2 · 3 messages · 2 tools")
        assert "model, max_tokens, system, " in line.inner_text()


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_tool_is_taken_from_claude_by_its_checkbox_and_given_back(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"tools-{app}", REPLIES)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        panel.root.get_by_text("next request").first.click()
        panel.root.get_by_text("Choose the tools that Claude has: 2 of 2").click()
        weather = panel.root.get_by_role("checkbox", name="Claude has get_weather")
        other = panel.root.get_by_role("checkbox", name="Claude has get_temperature")
        weather.click()
        panel.wait_text("tools: take get_weather")
        panel.wait_text("waits for the next safe point")
        assert weather.get_attribute("aria-checked") == "false"
        notebook.screenshot(f"{app}-tools-waiting", notebook.cell(1))
        pause_behind_the_tool(steered, panel)
        panel.wait_text("Choose the tools that Claude has: 1 of 2")
        other.focus()
        for key in ("Space", "Enter"):
            for left in (0, 1):
                notebook.page.keyboard.press(key)
                panel.wait_text(f"Choose the tools that Claude has: {left} of 2")
        assert other.evaluate("it => it === document.activeElement")
        for theme in ("light", "dark"):
            notebook.set_theme(theme)
            notebook.screenshot(f"{app}-tools-{theme}", notebook.cell(1))
        panel.press("Go on")
        notebook.wait_idle()
        first, second = requests(notebook)
        assert second["tools"] == first["tools"]
        told = second["messages"][-1]
        assert told["role"] == "system"
        changes = [
            (change["type"], change["tool"].get("name", "defined"))
            for change in told["content"]
        ]
        assert changes[0] == ("tool_removal", "get_weather")
        assert (
            changes[1:]
            == [
                ("tool_removal", "get_temperature"),
                ("tool_addition", "defined"),
            ]
            * 2
        )


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_change_that_waits_is_seen_and_withdrawn_until_it_is_made(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"edits-{app}", REPLIES)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        panel.root.get_by_text("next request").first.click()
        panel.root.get_by_text("Change model, system prompt").click()

        def box(name: str) -> Locator:
            return panel.root.get_by_role("textbox", name=f"{name} of the next request")

        before = box("max_tokens").input_value()
        box("max_tokens").fill("99")
        box("system").fill("Be brief.")
        box("system").press("Control+Enter")
        waiting = panel.root.locator(".nbr-wait")
        waiting.nth(1).wait_for()
        for theme in ("light", "dark"):
            notebook.set_theme(theme)
            notebook.screenshot(f"{app}-edits-{theme}", notebook.cell(1))
        unwanted = waiting.filter(has_text="max_tokens: 99")
        unwanted.get_by_role("button", name="Withdraw max_tokens: 99").click()
        unwanted.wait_for(state="detached")
        assert waiting.count() == 1
        notebook.wait_until(
            "document.querySelector('[data-field=max_tokens]').value === "
            f"{json.dumps(before)}",
            "the box with what the next request has",
        )
        steered.opens_the_gate()
        notebook.wait_idle()
        first, second = requests(notebook)
        assert second["max_tokens"] == first["max_tokens"]
        assert second["system"] == "Be brief."


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_box_that_was_used_once_does_not_undo_a_later_change_from_python(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"settings-twice-{app}", REPLIES, options="--detach")
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        pause_behind_the_tool(steered, panel)
        panel.root.get_by_text("next request").first.click()
        panel.root.get_by_text("Change model, system prompt").click()
        boxes = panel.root.locator('[data-key="next.settings"] textarea')
        model, most = boxes.nth(0), boxes.nth(1)
        model.fill("claude-typed")
        model.press("Control+Enter")
        panel.wait_text("claude-typed")
        line = "from nbrunner import SetParams; weather.submit(SetParams(model={!r}))"
        notebook.evaluate(line.format("claude-python"))
        panel.wait_text("claude-python")
        assert model.input_value() == "claude-python"
        effort = panel.root.get_by_role("combobox", name="effort of the next")
        effort.select_option("low")
        effort.press("Control+Enter")
        effort.locator("option[value=low][selected]").wait_for(state="attached")
        for by_python, pending, shown in (
            ("max", None, "max"),
            ("low", None, "low"),
            ("high", "xhigh", "xhigh"),
        ):
            if pending:
                effort.select_option(pending)
            given = {"effort": by_python}
            notebook.evaluate(f"weather.submit(SetParams(output_config={given}))")
            option = effort.locator(f"option[value={by_python}][selected]")
            option.wait_for(state="attached")
            assert effort.input_value() == shown
        effort.select_option("high")
        most.fill("99")
        most.press("Control+Enter")
        panel.press("Go on")
        notebook.cell(1).locator(".nbr-static").wait_for()
        _, second = requests(notebook)
        assert (second["model"], second["max_tokens"]) == ("claude-python", 99)


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_the_conversation_is_summarized_by_a_click_before_the_next_reply(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    summary = {"type": "compaction", "content": "They asked about Paris."}
    replies = (
        'use("get_weather", location="Paris"), '
        f'replay.reply({summary!r}, stop_reason="compaction"), say("Sunny.")'
    )
    steered = Steered(lab, f"summary-{app}", replies)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        pause_behind_the_tool(steered, panel)
        panel.root.get_by_text("next request").first.click()
        button = panel.root.get_by_role("button", name="Summarize the conversation")
        for pressed in ("true", "false", "true"):
            button.click()
            panel.root.locator(
                f'[data-key="next.summarize"][aria-pressed={pressed}]'
            ).wait_for()
        notebook.screenshot(f"{app}-summary", notebook.cell(1))
        panel.press("Go on")
        notebook.wait_idle()
        first, second, third = requests(notebook)
        assert second["compaction"] == {"type": "summarize"}
        assert second["messages"][: len(first["messages"])] == first["messages"]
        assert [message["role"] for message in third["messages"]] == ["assistant"]
        assert notebook.evaluate("print(weather.text)") == "Sunny.\n"
