"""What works where: the table of front ends in the README says what is seen here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from nbrunner.views.notices import DEAF
from tests.browser.kernels import NEWEST, kernel
from tests.browser.panel import Panel, Steered, requests

if TYPE_CHECKING:
    from tests.browser.lab import Lab

REPLIES = """
    [say("Let me look."), use("get_weather", location="Paris")],
    say("It is 20 degrees in Paris."),
"""


class Place(NamedTuple):
    """A kernel, and whether the page that talks to it uses subshells."""

    version: str
    subshells: bool
    hears: bool  # clicks, while a cell awaits

    @property
    def name(self) -> str:
        return f"{self.version}{'' if self.subshells else '-no-subshells'}"


PLACES = [
    Place(NEWEST, subshells=True, hears=True),
    Place(NEWEST, subshells=False, hears=True),
    Place("7.3.0", subshells=True, hears=True),
    Place("7.3.0", subshells=False, hears=False),
    Place("6.31.0", subshells=True, hears=False),
]
everywhere = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
VERSION = "import ipykernel; ipykernel.__version__"


@everywhere
def test_a_cell_shows_its_run_live_and_hears_clicks_or_says_that_it_cannot(
    lab: Lab, place: Place
) -> None:
    steered = Steered(
        lab,
        f"kernel-{place.name}",
        REPLIES,
        VERSION,
        kernel=kernel(lab, place.version),
    )
    with lab.open(steered.name, subshells=place.subshells) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        assert notebook.prompt(1) == "[*]:"
        deaf = panel.root.get_by_text(DEAF)
        if place.hears:
            panel.press("Pause")
            panel.wait_status("pausing before the next request")
            assert not deaf.is_visible()
            steered.opens_the_gate()
            panel.wait_status("paused before request 2")
            panel.press("Go on")
        else:
            deaf.wait_for()
            notebook.screenshot(f"deaf-{place.name}")
            steered.opens_the_gate()
        notebook.wait_idle()
        version = notebook.outputs(2)[0]["data"]["text/plain"]
        assert version == repr(place.version)
        assert len(requests(notebook)) == 2
        notebook.save()
        (output,) = notebook.saved().cells[1].outputs
        assert sorted(output.data) == ["text/html", "text/plain"]
        assert "It is 20 degrees in Paris." in output.data["text/plain"]


@everywhere
def test_a_detached_run_hears_clicks_everywhere(lab: Lab, place: Place) -> None:
    steered = Steered(
        lab,
        f"detached-{place.name}",
        REPLIES,
        VERSION,
        options="--detach",
        kernel=kernel(lab, place.version),
    )
    with lab.open(steered.name, subshells=place.subshells) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_text("asking about Paris")
        notebook.wait_idle()
        assert notebook.outputs(2)[0]["data"]["text/plain"] == repr(place.version)
        panel.press("Pause")
        panel.wait_status("pausing before the next request")
        panel.send("Please be concise.")
        assert not panel.root.get_by_text(DEAF).is_visible()
        steered.opens_the_gate()
        panel.wait_status("paused before request 2")
        panel.press("Go on")
        notebook.cell(1).locator(".nbr-static").wait_for()
        note = requests(notebook)[1]["messages"][-1]["content"][-1]
        assert note["text"] == "Please be concise."
        assert len(notebook.outputs(2)) == 1
        notebook.save()
        (output,) = notebook.saved().cells[1].outputs
        assert sorted(output.data) == ["text/html", "text/plain"]
