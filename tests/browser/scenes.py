"""A real panel brought into every state a person can meet it in.

    with Scene(lab, "road", ROAD) as scene:
        for state in road(scene):
            ...                     # look at `scene.root`

The replies are scripted, and each wait of a run is for a file of this module's:
nothing here depends on a clock.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from tests.browser.lab import write_notebook
from tests.browser.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator

    from tests.browser.lab import Lab

SETUP = """
%load_ext nbrunner
import collections, pathlib, time
from anthropic import beta_tool
from nbrunner.replay import Replies, cut, reply, say, script, think, use

GATES = pathlib.Path({gates!r})

def wait_for(name):
    while not (GATES / name).exists():
        time.sleep(0.01)

HOLDS = {holds!r}  # where a reply waits: (request, stream event): gate
seen = collections.Counter()

def hold(_):
    request = len(replies.requests)
    gate = HOLDS.get((request, seen[request]))
    seen[request] += 1
    if gate:
        wait_for(gate)

@beta_tool
def get_weather(location: str) -> str:
    "Get the weather in a place."
    print("asking the station of", location)
    wait_for("weather")
    return "20 °C and sunny in " + location

@beta_tool
def get_forecast(city: str, days: int) -> str:
    "Get the forecast for a city."
    return {{"Paris": "Light rain, 17 °C"}}[city]

replies = Replies(script({replies}), 1, sleep=hold)
"""
SYSTEM = "You answer questions about the weather, shortly."
CELL = (
    "%%toolrun weather --tools get_weather,get_forecast --client replies "
    "--max-iterations 100 {options} "
    f'--system-text "{SYSTEM}"\n'
    "What's the weather like in Paris, and will it rain in Oslo tomorrow?"
)

USAGE = 'usage={"input_tokens": 640, "output_tokens": 96}'
CACHED = (
    'usage={"input_tokens": 42, "output_tokens": 58, "cache_read_input_tokens": 3800}'
)
BOTH = f"""reply(
    think("Two questions. The weather now is one call, the forecast another."),
    say("Let me look at both: the weather in Paris now, and the forecast for Oslo."),
    use("get_weather", location="Paris"),
    use("get_forecast", city="Oslo", days=1), {USAGE})"""
ROAD = f"""
    {BOTH},
    cut([say("The weather in Paris is fine, " + "and it stays fine " * 8)], after=7,
        error="drop"),
    reply(say("There is no station in Oslo, so I look at the one in Paris."),
          use("get_forecast", city="Paris", days=2), {CACHED}),
    reply(say("It is **20 °C and sunny** in Paris. Tomorrow brings light rain.\\n\\n"
              "- Oslo has no forecast: its station is not known to the tool.\\n"
              "- Take an umbrella, not a coat."), {CACHED}),
"""
ROAD_HOLDS = {
    (1, 0): "first-word",
    (1, 13): "half-a-thought",
    (3, 5): "retried",
}
ANSWER = f'say("It is sunny in Paris."), {USAGE}'
DECIDED = f"""
    {BOTH},
    reply(say("Light rain is forecast for Paris: take an umbrella."), {CACHED}),
"""
HUNDRED = f"""
    *[reply(say(f"Station {{n}} of 99."), use("get_forecast", city="Paris", days=n),
            {CACHED}) for n in range(1, 100)],
    reply({ANSWER})
"""


class Scene:
    """A notebook whose second cell runs a tool loop, held at gates, and its panel.

    Attributes:
        notebook: The page.
        panel: The live panel.
        root: The panel or the static page, whichever the cell shows.
    """

    def __init__(  # noqa: PLR0913 - most of them by name
        self,
        lab: Lab,
        name: str,
        replies: str,
        *,
        holds: dict[tuple[int, int], str] | None = None,
        options: str = "",
        app: Literal["lab", "notebook"] = "lab",
    ) -> None:
        self._lab, self._app, self._name = lab, app, f"{name}.ipynb"
        self._gates = lab.root / f"{name}-gates"
        self._gates.mkdir()
        setup = SETUP.format(gates=self._gates.name, holds=holds or {}, replies=replies)
        cell = CELL.replace("{options}", options)
        write_notebook(lab.root / self._name, [setup, cell, "print('after')"])

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            opened = self._lab.open(self._name, self._app)
            self.notebook = stack.enter_context(opened)
            self.panel = Panel(self.notebook)
            self.root: Locator = self.notebook.cell(1).locator(".nbr")
            if self._app == "lab":
                self.notebook.hide_sidebar()
            self.notebook.run_cell(0)
            self.notebook.wait_idle()
            self.notebook.run_cell(1)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        # A run that still waits would keep its kernel.
        for gate in ("first-word", "half-a-thought", "weather", "retried", "last"):
            self.opens(gate)
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    def opens(self, gate: str) -> None:
        """Let what waits at a gate go on."""
        (self._gates / gate).touch()

    def ends(self) -> None:
        """Wait for the static page."""
        self.notebook.wait_idle()
        self.notebook.cell(1).locator(".nbr-static").wait_for()


def road(scene: Scene) -> Iterator[str]:
    """One run through most states; gives the name of each as it is reached."""
    panel = scene.panel
    panel.wait_status("running, iteration 1")
    panel.wait_text("waiting for the first words")
    # Python says nothing now: the seconds are the front end's own.
    panel.root.locator("[data-clock]").filter(has_text="1 s").wait_for()
    yield "waiting"
    scene.opens("first-word")
    panel.wait_text("Let me look at both: the weather in Paris")
    yield "streaming"
    scene.opens("half-a-thought")
    panel.wait_text("asking the station of Paris")
    yield "calling"
    panel.press("Pause")
    panel.wait_status("pausing before the next request")
    scene.opens("weather")
    panel.wait_status("paused before request 2")
    yield "paused"
    panel.press("cache mark on the result of get_weather")
    panel.wait_text("cache 5 min")
    panel.send("Please be concise, and say which station you asked.")
    yield "steered"
    panel.press("Go on")
    panel.wait_status("request 2 failed, waiting for you")
    yield "failed"
    panel.press("Retry")
    panel.wait_text("There is no station")
    yield "retried"
    scene.opens("retried")
    scene.ends()
    yield "done"


def stopped(scene: Scene) -> Iterator[str]:
    """A run that a person stops between two calls."""
    scene.panel.wait_text("asking the station of Paris")
    scene.panel.press("Stop")
    scene.panel.wait_status("stopping when this step is done")
    yield "stopping"
    scene.opens("weather")
    scene.ends()
    yield "stopped"


def interrupted(scene: Scene) -> Iterator[str]:
    """A run that is left while a tool does not return."""
    scene.panel.wait_text("asking the station of Paris")
    scene.panel.press("Stop")
    scene.panel.press("Stop now")
    scene.ends()
    yield "interrupted"


def asking(scene: Scene) -> Iterator[str]:
    """A run whose calls wait for a person, who is about to change one."""
    panel = scene.panel
    panel.wait_status("waiting for your decision on 2 calls")
    waiting = panel.root.locator(".nbr-call").filter(has_text="get_forecast")
    waiting.get_by_text("Edit the input").click()
    waiting.get_by_role("textbox", name="city of get_forecast").fill("Paris")
    days = waiting.get_by_role("textbox", name="days of get_forecast")
    days.fill("2")
    days.blur()  # no caret that blinks in a picture
    yield "asking"
    panel.press("Run with this input: get_forecast")
    panel.wait_status("waiting for your decision on 1 call")
    why = panel.root.get_by_role("textbox", name="why get_weather is rejected")
    why.fill("Only the forecast, please.")
    panel.press("Reject: get_weather")
    scene.ends()
    yield "decided"


def one(scene: Scene) -> Iterator[str]:
    """A run of one iteration."""
    scene.ends()
    yield "one-iteration"


def hundred(scene: Scene) -> Iterator[str]:
    """A run of a hundred iterations, live at its last."""
    scene.panel.wait_status("running, iteration 100")
    scene.panel.wait_text("waiting for the first words")
    yield "hundred-iterations"
    scene.opens("last")
    scene.ends()
    yield "hundred-done"


class Story(NamedTuple):
    """What a scene plays, and the states it is brought into."""

    replies: str
    holds: dict[tuple[int, int], str]
    states: Callable[[Scene], Iterator[str]]
    options: str = ""


STORIES: dict[str, Story] = {
    "road": Story(ROAD, ROAD_HOLDS, road),
    "stopped": Story(BOTH, {}, stopped),
    "interrupted": Story(BOTH, {}, interrupted),
    "asking": Story(DECIDED, {}, asking, "--approve ask"),
    "one": Story(f"reply({ANSWER})", {}, one),
    "hundred": Story(HUNDRED, {(100, 0): "last"}, hundred),
}
