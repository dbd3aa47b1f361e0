"""The panel in a notebook's page, as a person meets it: by its words and names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.browser.lab import write_notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.lab import Lab, Notebook

SETUP = """
%load_ext nbrunner
import json, pathlib, time
from anthropic import beta_tool
from nbrunner import replay
from nbrunner.replay import cut, fail, say, script, think, use

gate = pathlib.Path("gate")
ran = []

@beta_tool
def get_weather(location: str) -> str:
    "Get the weather, once the test opens the gate."
    ran.append(location)
    print("asking about", location)
    while not gate.exists():
        time.sleep(0.01)
    return "20 degrees in " + location

@beta_tool
def get_temperature(city: str) -> str:
    "Get the temperature."
    ran.append(city)
    return {"Paris": "20"}[city]
"""
TOOLRUN = "%%toolrun weather --tools get_weather,get_temperature --client replies"
CELL = f"{TOOLRUN}\nWhat's the weather like in Paris?"


class Steered:
    """A notebook whose second cell runs a tool loop; `get_weather` waits for a gate."""

    def __init__(
        self,
        lab: Lab,
        name: str,
        replies: str,
        *after: str,
        options: str = "",
        kernel: str = "python3",
    ) -> None:
        self.name = f"{name}.ipynb"
        self.gate = lab.root / "gate"
        self.gate.unlink(missing_ok=True)
        setup = f"{SETUP}\nreplies = replay.play(script({replies}))"
        first_line, message = CELL.split("\n")
        cell = f"{first_line} {options}\n{message}" if options else CELL
        write_notebook(lab.root / self.name, [setup, cell, *after], kernel)

    def opens_the_gate(self) -> None:
        """Let `get_weather` return."""
        self.gate.touch()


class Panel:
    """The live panel of a cell: press, read, wait. Each wait has Playwright's limit."""

    def __init__(self, notebook: Notebook, cell: int = 1) -> None:
        self.notebook = notebook
        self.root: Locator = notebook.cell(cell).locator(".nbr-live")

    def press(self, name: str) -> None:
        """Press the button of that name."""
        self.root.get_by_role("button", name=name, exact=True).click()

    def wait_status(self, words: str) -> None:
        """Wait until the panel's status says these words."""
        self.root.get_by_role("status").filter(has_text=words).wait_for()

    def wait_text(self, words: str) -> None:
        """Wait until the panel shows these words."""
        self.root.get_by_text(words).first.wait_for()

    def box(self) -> Locator:
        """The box for a message to Claude."""
        return self.root.get_by_role("textbox", name="message to Claude")

    def send(self, text: str) -> None:
        """Send a message to Claude."""
        self.box().fill(text)
        self.press("Send")
        self.root.locator(".nbr-wait").last.wait_for()


def pause_behind_the_tool(steered: Steered, panel: Panel) -> None:
    """Halt a run before its second request, from inside its waiting tool."""
    panel.wait_text("asking about Paris")
    panel.press("Pause")
    panel.wait_status("pausing before the next request")
    steered.opens_the_gate()
    panel.wait_status("paused before request 2")


def requests(notebook: Notebook) -> list[dict[str, Any]]:
    """The bodies of the requests that the transport of `replies` received."""
    said = notebook.evaluate("print(json.dumps(replies.requests))")
    bodies: list[dict[str, Any]] = json.loads(said)
    return bodies
