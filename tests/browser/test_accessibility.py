from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.scenes import STORIES, Scene

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.lab import Lab

App = Literal["lab", "notebook"]
GRAVE = ("serious", "critical")
OPEN_ALL = (
    "root => root.querySelectorAll('details').forEach((it) => { it.open = true })"
)
# axe cannot tell the contrast inside JupyterLab's scrolling areas; a pixel can.
TOO_PALE = """(root) => {
  const pixel = new OffscreenCanvas(1, 1).getContext("2d");
  const luminance = (colors) => {
    for (const color of colors) {
      pixel.fillStyle = color;
      pixel.fillRect(0, 0, 1, 1);
    }
    const [red, green, blue] = [...pixel.getImageData(0, 0, 1, 1).data].map((it) =>
      it / 255 <= 0.04045 ? it / 255 / 12.92 : ((it / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const isRead = (it) => it.checkVisibility() && [...it.childNodes].some(
    (child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
  return [...root.querySelectorAll("*")].filter(isRead).flatMap((it) => {
    const layers = [];
    for (let on = it; on; on = on.parentElement) {
      layers.unshift(getComputedStyle(on).backgroundColor);
    }
    const [ground, ink] = [
      luminance(["white", ...layers]),
      luminance([getComputedStyle(it).color]),
    ];
    const ratio = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
    return ratio < 4.5 ? [[it.outerHTML.slice(0, 120), ratio.toFixed(2)]] : [];
  });
}"""
FOCUSED = """() => {
  const it = document.activeElement;
  if (!it.closest(".nbr")) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(it);
  const seen = it.checkVisibility() && outlineStyle === "solid";
  const name = it.ariaLabel ?? it.querySelector(".nbr-gist, .nbr-sig")?.textContent;
  return [name ?? it.textContent, seen && parseFloat(outlineWidth) >= 2];
}"""


def scene(lab: Lab, story: str, name: str, app: App = "lab") -> Scene:
    replies, holds, _, options = STORIES[story]
    return Scene(lab, name, replies, holds=holds, options=options, app=app)


def reached(it: Scene, state: str) -> None:
    states = STORIES["road"].states(it)
    assert state in states  # takes the steps that lead there


def grave_findings(page: Page) -> list[tuple[str, Any]]:
    found = Axe().run(page, ".nbr").response["violations"]
    return [
        (it["id"], node["html"][:200], node["failureSummary"])
        for it in found
        if it["impact"] in GRAVE
        for node in it["nodes"]
    ]


@pytest.mark.parametrize("app", ["lab", "notebook"])
@pytest.mark.parametrize("story", ["road", "interrupted", "asking"])
def test_no_state_has_a_serious_finding_or_pale_text(
    lab: Lab, story: str, app: App
) -> None:
    with scene(lab, story, f"axe-{story}-{app}", app) as it:
        for state in STORIES[story].states(it):
            it.root.evaluate(OPEN_ALL)
            for theme in ("light", "dark", "contrast"):
                it.notebook.set_theme(theme)
                assert grave_findings(it.notebook.page) == [], (state, theme)
                assert it.root.evaluate(TOO_PALE) == [], (state, theme)


def test_the_keyboard_reaches_every_control_and_leaves_again(lab: Lab) -> None:
    with scene(lab, "road", "walk") as it:
        reached(it, "steered")
        page, order = it.notebook.page, []
        it.root.get_by_role("button", name="Go on").focus()
        page.keyboard.press("Shift+Tab")
        assert page.evaluate(FOCUSED) is None
        page.keyboard.press("Tab")
        while focused := page.evaluate(FOCUSED):
            order.append(focused)
            assert len(order) < 40, "a trap"
            page.keyboard.press("Tab")
        assert [name for name, _ in order] == [
            *("Go on", "Step", "Stop"),
            "System prompt",
            (
                "get_weather, get_forecast failed — Let me look at both: "
                "the weather in Paris now, and the forecast for Oslo."
            ),
            *("request 1 · 1 message · 2 tools", "Thinking"),
            "cache marks of the thinking, block 1 of reply 1",
            "cache marks of the text, block 2 of reply 1",
            'get_weather(location="Paris")',
            "cache marks of the tool_use, block 3 of reply 1",
            "Edit the result",
            "cache mark on the result of get_weather",
            "1-hour cache mark on the result of get_weather",
            'get_forecast(city="Oslo", days=1)',
            "cache marks of the tool_use, block 4 of reply 1",
            "Edit the result",
            "cache mark on the result of get_forecast",
            "1-hour cache mark on the result of get_forecast",
            *("Fork here, from iteration 1 on", "Ask again, and drop reply 1"),
            "next request · 1 of 4 marks",
            *("Withdraw", "message to Claude", "Send"),
        ]
        assert [name for name, seen in order if not seen] == []
        back = []
        page.keyboard.press("Shift+Tab")
        while focused := page.evaluate(FOCUSED):
            back.append(focused)
            page.keyboard.press("Shift+Tab")
        assert back == order[::-1]


def test_enter_and_space_press_and_escape_leaves_to_jupyter(lab: Lab) -> None:
    with scene(lab, "road", "press") as it:
        reached(it, "paused")
        keyboard = it.notebook.page.keyboard
        name = "cache mark on the result of get_weather"
        toggle = it.root.get_by_role("button", name=name, exact=True)
        for key, pressed in ((" ", "true"), ("Enter", "false"), (" ", "true")):
            toggle.press(key)
            it.root.locator(f"[data-place][aria-pressed={pressed}]").first.wait_for()
            it.notebook.page.wait_for_function(
                "pressed => document.activeElement.ariaPressed === pressed", arg=pressed
            )
        it.root.get_by_text("Thinking", exact=True).press("Enter")
        it.panel.wait_text("Two questions.")
        keyboard.press("Escape")
        assert it.notebook.page.evaluate(FOCUSED) is None
        keyboard.press("b")
        it.notebook.wait_until("harness.panel().content.widgets.length === 4", "b")


def test_a_screen_reader_is_told_each_name_and_one_status(lab: Lab) -> None:
    with scene(lab, "road", "names") as it:
        status = it.root.get_by_role("status")
        said = []
        for state in STORIES["road"].states(it):
            if state == "done":
                break
            assert status.count() == 1
            if state == "waiting":
                status.evaluate("it => { it.isTheFirst = true }")
            assert status.evaluate("it => it.isTheFirst"), state
            said.append(status.inner_text())
            if state == "steered":
                lines = [line.strip() for line in it.root.aria_snapshot().splitlines()]
        assert said == [
            *["running, iteration 1"] * 3,
            *["paused before request 2"] * 2,
            "request 2 failed, waiting for you",
            "running, iteration 2",
        ]
    named = ("- region", "- button", "- textbox", "- status", "- alert", '- group "')
    assert [line for line in lines if line.startswith(named)] == [
        '- region "tool run weather":',
        '- group "controls of the run":',
        "- status: paused before request 2",
        *('- button "Go on"', '- button "Step"', '- button "Stop"'),
        "- alert",
        '- button "cache marks of the thinking, block 1 of reply 1": Cache mark',
        '- button "cache marks of the text, block 2 of reply 1": Cache mark',
        '- button "cache marks of the tool_use, block 3 of reply 1": Cache mark',
        '- button "cache mark on the result of get_weather" [pressed]: Cache mark',
        '- button "1-hour cache mark on the result of get_weather": 1 h',
        '- button "cache marks of the tool_use, block 4 of reply 1": Cache mark',
        '- button "cache mark on the result of get_forecast": Cache mark',
        '- button "1-hour cache mark on the result of get_forecast": 1 h',
        '- button "Fork here, from iteration 1 on": Fork here',
        '- button "Ask again, and drop reply 1": Ask again',
        '- button "Withdraw"',
        '- textbox "message to Claude":',
        '- button "Send"',
    ]


def test_with_reduced_motion_nothing_moves(lab: Lab) -> None:
    moving = "root => root.getAnimations({subtree: true}).length"
    with scene(lab, "road", "still") as it:
        page = it.notebook.page
        for state in STORIES["road"].states(it):
            assert bool(it.root.evaluate(moving)) == (state in ("waiting", "streaming"))
            page.emulate_media(reduced_motion="reduce")
            assert it.root.evaluate(moving) == 0
            page.emulate_media(reduced_motion="no-preference")
            if state == "streaming":
                break
