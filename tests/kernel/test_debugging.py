"""A failed tool in a real kernel: the debugger, and what logging shows there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kernel.asking import Kernel, kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

SETUP = """
%load_ext nbrunner
from anthropic import beta_tool
from nbrunner import Run, replay
from nbrunner.replay import fail, say, script, use

@beta_tool
def get_weather(location: str) -> str:
    "Get the weather."
    forecasts = {"Paris": "sunny"}
    return looked_up(forecasts, location)

def looked_up(forecasts, place):
    return forecasts[place]

def answers(*replies):
    return replay.play(script(*replies))

paris, oslo = (use("get_weather", location=city) for city in ("Paris", "Oslo"))
bad = answers(oslo, say("No luck."))
good = answers(paris, say("Sunny."))
dying = answers(oslo, fail(400))
"""


def toolrun(name: str, client: str) -> str:
    return f"%%toolrun {name} --tools get_weather --client {client}\nHow is Oslo?"


@pytest.fixture
def started() -> Iterator[Kernel]:
    with kernel() as running:
        assert running.run(SETUP).error == ""
        yield running


def test_debug_opens_the_failing_frame_of_the_tool(started: Kernel) -> None:
    cell = started.run(toolrun("weather", "bad"))
    assert (cell.error, cell.stream("stderr")) == ("", "")
    said = started.run("%debug", "p place", "u", "p location", "u", "p run", "q")
    printed = said.stream("stdout")
    assert "return forecasts[place]" in printed
    assert printed.count("'Oslo'") == 2
    # No frame stands above the tool's own: not ours, not the SDK's.
    assert "Oldest frame" in printed
    assert said.asked[0].startswith("ipdb>")

    said = started.run("weather.debug()", "p place", "q")
    assert "'Oslo'" in said.stream("stdout")
    said = started.run("weather.debug('toolu_9')")
    assert said.error.startswith("NothingToDebug: No error of the call 'toolu_9'")


def test_debug_after_a_cell_whose_tools_did_well_stays_at_the_last_error(
    started: Kernel,
) -> None:
    started.run(toolrun("weather", "bad"))
    started.run("mine = 7; 1 / 0")
    started.run(toolrun("weather", "good"))
    said = started.run("%debug", "p mine", "q")
    assert "ZeroDivisionError" not in said.error
    assert "7" in said.stream("stdout")
    assert "forecasts" not in said.stream("stdout")
    assert started.run("weather.debug()").error.startswith(
        "NothingToDebug: No tool of weather raised an error"
    )


def test_the_next_error_of_a_person_takes_the_place_of_the_tools(
    started: Kernel,
) -> None:
    started.run(toolrun("weather", "bad"))
    started.run("def mine(x):\n    return 1 / x\nmine(0)")
    said = started.run("%debug", "p x", "q")
    assert "return 1 / x" in said.stream("stdout")


def test_a_run_that_died_still_opens_at_its_tool(started: Kernel) -> None:
    cell = started.run(toolrun("weather", "dying"))
    assert cell.error.startswith("RunFailed: Iteration 2 failed")
    said = started.run("%debug", "p place", "q")
    assert "'Oslo'" in said.stream("stdout")
    said = started.run("weather.debug()", "p place", "q")
    assert "'Oslo'" in said.stream("stdout")


def test_a_detached_run_is_debugged_by_its_name(started: Kernel) -> None:
    cell = toolrun("weather", "bad").replace("\n", " --detach\n", 1)
    assert started.run(cell).error == ""
    started.run("_ = await weather")
    said = started.run("weather.debug()", "p place", "q")
    assert "'Oslo'" in said.stream("stdout")


def test_a_blocking_cell_under_another_magic_is_debugged_too(started: Kernel) -> None:
    started.run("%%time\n" + toolrun("weather", "bad"))
    said = started.run("%debug", "p place", "q")
    assert "'Oslo'" in said.stream("stdout")


def test_logging_is_switched_on_between_cells_and_shows_below_the_running_one(
    started: Kernel,
) -> None:
    # IPython's root logger has no handler: a NullHandler keeps Python from printing.
    assert started.run(toolrun("first", "bad")).stream("stderr") == ""
    started.run("import nbrunner; nbrunner.log('debug')")
    cell = started.run(toolrun("second", "good"))
    assert "second 1: reply, tool_use" in cell.stream("stderr")
    assert "Request options:" in cell.stream("stderr")
    started.run("nbrunner.log('off'); good = answers(paris, say('Sunny.'))")
    assert started.run(toolrun("third", "good")).stream("stderr") == ""


def test_a_program_that_configures_logging_gets_the_stack_of_a_failed_tool(
    started: Kernel,
) -> None:
    started.run("import logging; logging.basicConfig()")
    said = started.run(toolrun("weather", "bad")).stream("stderr")
    assert "ERROR:nbrunner.tools:tool get_weather failed in call toolu_01" in said
    assert "return forecasts[place]" in said
    assert said.endswith("KeyError: 'Oslo'\n")


def test_a_pause_on_an_error_waits_for_a_person_who_sits_there(
    started: Kernel,
) -> None:
    pausing = toolrun("weather", "bad").replace("\n", " --break-on-error --detach\n", 1)
    assert started.run(pausing).error == ""
    said = started.run(
        "import time\n"
        "while weather.transcript.status != 'paused': time.sleep(0.01)\n"
        "print(weather.transcript.paused_for)\n"
        "weather.debug()",
        "p place",
        "q",
    )
    assert said.stream("stdout").startswith("get_weather failed\n")
    assert "'Oslo'" in said.stream("stdout")
    done = started.run("weather.resume(); print((await weather).text)")
    assert done.stream("stdout") == "No luck.\n"
