from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

REPLIES = """
    [think("Where is it?"), say("Let me look."), use("get_weather", location="Paris")],
    say("It is 20 degrees in Paris."),
"""
OPTIONS = '--step --system-text "Be brief."'
ASKED, SAID = "the text, block 1 of message 1", "the text, block 2 of reply 1"
THOUGHT = "the thinking, block 1 of reply 1"
FIVE_MINUTES = {"type": "ephemeral"}
ONE_HOUR = {"type": "ephemeral", "ttl": "1h"}
APPS = pytest.mark.parametrize("app", ["lab", "notebook"])


def opened(panel: Panel, block: str) -> None:
    """Ask for the buttons of a block, whose opener shows while it is pointed at."""
    opener = panel.root.get_by_role("button", name=f"cache marks of {block}")
    opener.locator("xpath=../..").hover(position={"x": 5, "y": 5})
    opener.click()
    panel.root.get_by_role("button", name=f"1-hour cache mark on {block}").wait_for()


def unfolded(panel: Panel, words: str) -> None:
    panel.root.locator(".nbr-request > summary", has_text=words).click()


@APPS
def test_marks_go_on_every_place_and_out_with_the_next_request(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"marks-{app}", REPLIES, options=OPTIONS)
    steered.opens_the_gate()
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("paused before request 1")
        unfolded(panel, "next request")
        panel.press("1-hour cache mark on the tools")
        panel.press("1-hour cache mark on the system prompt")
        panel.wait_text("next request · 2 of 4 marks")
        opened(panel, ASKED)
        panel.press(f"cache mark on {ASKED}")
        panel.wait_text("next request · 3 of 4 marks")
        notebook.screenshot(f"{app}-marks-first", panel.root)
        panel.press("Step")
        panel.wait_status("paused before request 2")

        opened(panel, SAID)
        panel.press(f"cache mark on {SAID}")
        panel.wait_text("next request · 4 of 4 marks")
        panel.wait_text('weather.submit(ToggleCache("messages[1].content[1]"))')
        unfolded(panel, "request 1")
        notebook.screenshot(f"{app}-marks-second", panel.root)
        panel.press(f"cache mark on {ASKED}")
        panel.wait_text("next request · 3 of 4 marks")
        panel.press(f"1-hour cache mark on {SAID}")
        panel.wait_text('ToggleCache("messages[1].content[1]", ttl="1h")')
        panel.press("cache mark on the whole request")
        panel.wait_text("next request · 4 of 4 marks")
        panel.press("Go on")
        notebook.wait_idle()

        first, second = requests(notebook)
        for body in (first, second):
            assert body["tools"][-1]["cache_control"] == ONE_HOUR
            assert "cache_control" not in body["tools"][0]
            assert body["system"][-1]["cache_control"] == ONE_HOUR
        assert first["messages"][0]["content"][0]["cache_control"] == FIVE_MINUTES
        assert "cache_control" not in first
        assert second["messages"][0] == {
            "role": "user",
            "content": "What's the weather like in Paris?",
        }
        thought, said, call = second["messages"][1]["content"]
        assert said["cache_control"] == ONE_HOUR
        assert "cache_control" not in thought | call
        assert second["cache_control"] == FIVE_MINUTES

        page = notebook.cell(1).locator(".nbr-static")
        page.locator(".nbr-it > summary").first.click()
        chip = page.get_by_text("cache 1 h")
        assert chip.evaluate("it => it.checkVisibility({ opacityProperty: true })")


@APPS
def test_a_mark_that_cannot_be_set_says_why_beside_its_button(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"refused-{app}", REPLIES, options=OPTIONS)
    steered.opens_the_gate()
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("paused before request 1")
        panel.press("Step")
        panel.wait_status("paused before request 2")
        opened(panel, THOUGHT)
        panel.press(f"cache mark on {THOUGHT}")
        row = panel.root.locator(".nbr-block", has_text="Thinking").first
        row.get_by_text(
            "is a thinking block, and the API takes no cache mark"
        ).wait_for()
        assert panel.root.locator(".nbr-refused:visible").count() == 1
        notebook.screenshot(f"{app}-marks-refused", panel.root)

        unfolded(panel, "next request")
        panel.press("cache mark on the system prompt")
        panel.wait_text("next request · 1 of 4 marks")
        panel.press("1-hour cache mark on the result of get_weather")
        call = panel.root.locator(".nbr-call")
        call.get_by_text("would stand behind a 5-minute one").wait_for()
        panel.press("cache mark on the result of get_weather")
        panel.press("cache mark on the tools")
        panel.press("cache mark on the whole request")
        panel.wait_text("next request · 4 of 4 marks")
        opened(panel, SAID)
        panel.press(f"cache mark on {SAID}")
        row = panel.root.locator(".nbr-block", has_text="Let me look.").first
        row.get_by_text("All 4 cache marks that the API allows are set").wait_for()
        panel.press("Go on")
        notebook.wait_idle()
        said = str(requests(notebook)[1])
        assert said.count("'cache_control'") == 4
        assert said.count("'1h'") == 0


@APPS
def test_a_waiting_message_is_seen_and_can_be_withdrawn_until_it_goes_out(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"queue-{app}", REPLIES, options=OPTIONS)
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("paused before request 1")
        panel.press("Go on")
        panel.wait_text("asking about Paris")
        panel.send("In Fahrenheit.")
        panel.send("Please be concise.")
        waiting = panel.root.locator(".nbr-wait")
        waiting.nth(1).wait_for()
        unwanted = waiting.filter(has_text="In Fahrenheit.")
        unwanted.get_by_role("button", name="Withdraw").click()
        unwanted.wait_for(state="detached")
        assert waiting.count() == 1
        steered.opens_the_gate()
        notebook.wait_idle()
        _, second = requests(notebook)
        result, note = second["messages"][-1]["content"]
        assert result["type"] == "tool_result"
        assert note == {"type": "text", "text": "Please be concise."}


@APPS
def test_the_marks_of_a_block_are_reached_and_set_by_keyboard_alone(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"by-key-{app}", REPLIES, options=OPTIONS)
    steered.opens_the_gate()
    with lab.open(steered.name, app) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("paused before request 1")
        panel.press("Step")
        panel.wait_status("paused before request 2")
        keyboard, focused = notebook.page.keyboard, notebook.page.locator(":focus")
        opener = panel.root.get_by_role("button", name=f"cache marks of {SAID}")
        panel.root.get_by_text("Thinking", exact=True).focus()
        for _ in range(2):
            keyboard.press("Tab")
        assert focused.get_attribute("aria-label") == f"cache marks of {SAID}"
        notebook.wait_until(
            "getComputedStyle(document.activeElement.parentElement).opacity === '1'",
            "an opener that shows when focused",
        )
        keyboard.press("Enter")
        opener.wait_for(state="detached")
        assert focused.get_attribute("aria-label") == f"cache mark on {SAID}"
        keyboard.press("Enter")
        panel.wait_text("cached to here")
        assert focused.get_attribute("aria-pressed") == "true"
        panel.press("Go on")
        notebook.wait_idle()
        said = requests(notebook)[1]["messages"][1]["content"][1]
        assert said["cache_control"] == FIVE_MINUTES
