"""What tools display is caught for their call, shown there, and never sent."""

from __future__ import annotations

import base64
import threading
from typing import TYPE_CHECKING, Any

import pytest
from anthropic import beta_tool
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import HTML, Image, Markdown, clear_output, display, update_display

from nbrunner import Run
from nbrunner.core.events import CallDisplayed
from nbrunner.core.fold_call import MOST_DISPLAYS
from nbrunner.loop.displays import LARGEST_BYTES, display_of, nothing_caught
from nbrunner.publisher import caught_displays
from nbrunner.replay import use
from tests.loop.steering import Followed
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbrunner.core.tool_call import Display

PNG = b"\x89PNG\r\n\x1a\nthe rest"


@pytest.fixture
def cell() -> Iterator[CapturingDisplayPublisher]:
    """What is displayed around the calls."""
    shell = InteractiveShell.instance()
    before, shell.display_pub = shell.display_pub, CapturingDisplayPublisher()
    yield shell.display_pub
    shell.display_pub = before
    InteractiveShell.clear_instance()


def displayed_by(tool: Callable[[], str]) -> tuple[Run, Followed]:
    wire = Wire(use("tool"), "So.")
    tools = [beta_tool(tool, name="tool")]
    run = Run(client=wire.client, tools=tools, messages="?")
    followed = Followed(run)
    run.wait(20)
    assert "shown" not in str(wire.bodies)
    return run, followed


def displays_of(run: Run) -> tuple[Display, ...]:
    return run.transcript.iterations[0].tool_calls[0].displays


def test_what_a_tool_displays_is_in_its_call_and_not_in_the_cell(
    cell: CapturingDisplayPublisher,
) -> None:
    def tool() -> str:
        """Display."""
        display(HTML("<b>shown</b>"), Markdown("*shown*"))
        display(Image(data=PNG))
        return "so"

    run, followed = displayed_by(tool)
    html, text, image = (display.data for display in displays_of(run))
    assert html["text/html"] == "<b>shown</b>"
    assert text["text/markdown"] == "*shown*"
    assert base64.b64decode(image["image/png"]) == PNG
    assert len(followed.of(CallDisplayed)) == 3
    assert cell.outputs == []


def test_after_the_call_displays_go_to_the_cell_again(
    cell: CapturingDisplayPublisher,
) -> None:
    def tool() -> str:
        """Display."""
        display(HTML("shown"))
        return "so"

    displayed_by(tool)
    assert InteractiveShell.instance().display_pub is cell
    display(HTML("after"))
    assert [output["data"]["text/html"] for output in cell.outputs] == ["after"]


def test_what_others_display_meanwhile_stays_theirs(
    cell: CapturingDisplayPublisher,
) -> None:
    mine: list[Any] = []
    other = threading.Thread(target=display, args=[HTML("of another thread")])
    with caught_displays(lambda shown, _: mine.append(shown)):
        other.start()
        other.join()
        display(HTML("mine"))
    assert [shown.data["text/html"] for shown in mine] == ["mine"]
    assert [o["data"]["text/html"] for o in cell.outputs] == ["of another thread"]


def test_calls_inside_one_another_catch_their_own(
    cell: CapturingDisplayPublisher,
) -> None:
    outer: list[str] = []
    inner: list[str] = []

    def into(these: list[str]) -> Any:
        return caught_displays(lambda it, _: these.append(it.data["text/html"]))

    with into(outer):
        with into(inner):
            display(HTML("inner"))
        display(HTML("outer"))
    assert (outer, inner, cell.outputs) == (["outer"], ["inner"], [])


def test_a_display_made_anew_takes_the_place_of_the_old_one(
    cell: CapturingDisplayPublisher,
) -> None:
    def tool() -> str:
        """Display."""
        display(HTML("shown 1"), display_id="progress")
        display(HTML("shown, other"))
        update_display(HTML("shown 2"), display_id="progress")
        update_display(HTML("of the cell"), display_id="elsewhere")
        return "so"

    run, _ = displayed_by(tool)
    shown = [display.data["text/html"] for display in displays_of(run)]
    assert shown == ["shown 2", "shown, other"]
    assert [o["data"]["text/html"] for o in cell.outputs] == ["of the cell"]


def test_a_cleared_display_goes_when_the_next_one_comes(
    cell: CapturingDisplayPublisher,
) -> None:
    def tool() -> str:
        """Display."""
        for step in range(3):
            clear_output(wait=True)
            display(HTML(f"shown {step}"))
        clear_output()
        return "so"

    run, _ = displayed_by(tool)
    assert [d.data["text/html"] for d in displays_of(run)] == ["shown 2"]
    assert cell.outputs == []


def test_a_widget_goes_to_the_cell_where_it_lives(
    cell: CapturingDisplayPublisher,
) -> None:
    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}}

    def tool() -> str:
        """Display."""
        display(widget, raw=True)
        return "so"

    run, _ = displayed_by(tool)
    assert displays_of(run) == ()
    assert [output["data"] for output in cell.outputs] == [widget]


def test_a_tool_that_displays_in_a_loop_keeps_the_newest(
    cell: CapturingDisplayPublisher,
) -> None:
    def tool() -> str:
        """Display."""
        for step in range(MOST_DISPLAYS + 5):
            display(HTML(f"shown {step}"))
        return "so"

    run, _ = displayed_by(tool)
    assert len(displays_of(run)) == MOST_DISPLAYS
    assert displays_of(run)[-1].data["text/html"] == "shown 24"
    assert cell.outputs == []


def test_what_is_too_large_is_said_and_not_kept() -> None:
    bundle = {"text/html": "x" * (LARGEST_BYTES + 1), "text/plain": "a table"}
    kept = display_of(bundle)
    assert kept.data == {"text/plain": "a table"}
    assert kept.left_out == "not kept, too large: text/html of 4,000,001 characters"


def test_only_what_a_page_may_show_is_kept() -> None:
    bundle = {
        "image/svg+xml": "<svg onload=alert(1)>",
        "application/javascript": "alert(1)",
        "application/json": {"a": 1},
        "text/plain": ["two\n", "lines \ud800"],
        "text/html": None,
    }
    assert display_of(bundle).data == {"text/plain": "two\nlines \ufffd"}


def test_without_a_notebook_nothing_is_caught() -> None:

    told: list[Any] = []
    for catcher in (nothing_caught, caught_displays):
        with catcher(lambda *it: told.append(it)):
            pass
    assert told == []
