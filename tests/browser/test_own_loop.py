"""A loop over `tool_runner(client, ...)` in a cell, as on the SDK's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

REPLIES = """
    [say("Let me look."), use("get_weather", location="Paris")],
    say("It is 20 degrees in Paris."),
"""
LOOP = """
from nbrunner import tool_runner

client = replay.connect(replies)
runner = tool_runner(
    client,
    model="claude-opus-5",
    max_tokens=1024,
    tools=[get_weather],
    messages=[{"role": "user", "content": "How is Paris?"}],
)
for message in runner:
    print(message.stop_reason)
"""
ON = "for message in runner:\n    print(message.content[0].text)"
PAGE = ["text/html", "text/plain"]


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_an_own_loop_is_shown_live_interrupted_and_gone_on_with(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    steered = Steered(lab, f"own-loop-{app}", REPLIES, LOOP, ON)
    with lab.open(steered.name, app) as notebook:
        notebook.run_cell(0)
        notebook.wait_idle()
        panel = Panel(notebook, 2)
        notebook.run_cell(2)
        panel.wait_text("asking about Paris")
        assert notebook.prompt(2) == "[*]:"
        notebook.screenshot(f"{app}-own-loop", notebook.cell(2))
        notebook.interrupt()
        notebook.wait_idle()
        page, said, error = sorted(
            notebook.outputs(2), key=lambda o: ("data" not in o, "ename" in o)
        )
        assert sorted(page["data"]) == PAGE
        assert "stopped by you" in page["data"]["text/plain"]
        assert said["text"] == "tool_use\n"
        assert error["ename"] == "KeyboardInterrupt"

        notebook.run_cell(3)
        notebook.wait_idle()
        notebook.screenshot(f"{app}-own-loop-gone-on", notebook.cell(3))
        texts = [o.get("text") for o in notebook.outputs(3)]
        assert "It is 20 degrees in Paris.\n" in texts
        assert notebook.evaluate("print(runner.stopped_by, ran)") == (
            "end_turn ['Paris']\n"
        )
        (result,) = requests(notebook)[1]["messages"][2]["content"]
        assert result["is_error"]
