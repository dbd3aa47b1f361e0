"""Tools on the main thread of a real kernel, by every road that leads there."""

from __future__ import annotations

import pytest
from nbclient import NotebookClient

from tests.kernel.test_headless import notebook_of

SETUP = """
%load_ext nbrunner
import sqlite3, threading
from anthropic import beta_tool
from IPython.display import display
from nbrunner import Run, replay
from nbrunner.replay import say, script, use

database = sqlite3.connect(":memory:")
database.execute("create table city (name text)")
database.execute("insert into city values ('Paris'), ('Oslo')")

@beta_tool
def query(sql: str) -> str:
    "Ask the database."
    print("asked on", threading.current_thread().name)
    display({"text/plain": "a table"}, raw=True)
    return ", ".join(name for (name,) in database.execute(sql))

replies = replay.play(script(
    use("query", sql="select name from city"), say("Two cities."),
))

def told(run):
    call = run.transcript.iterations[0].tool_calls[0]
    print(call.result, call.stdout.strip(), len(call.displays), call.remark, sep=" | ")
"""
CELL = "%%toolrun cities --tools query --client replies {}\nWhich cities?"
MADE = """
cities = Run(client=replies, tools=[query], messages='?', main_thread=['query'])
"""
SERVED = "Paris, Oslo | asked on MainThread | 1 | None\n"
ROADS = {
    "a cell that awaits": [CELL.format("--main-thread query")],
    "a nested cell": ["%%time\n" + CELL.format("--main-thread query")],
    "a run between cells, joined by await": [
        MADE + "_ = cities.start()",
        "_ = await cities",
    ],
    "a run between cells, joined by wait": [
        MADE + "_ = cities.start().wait()",
    ],
}


@pytest.mark.parametrize("road", ROADS)
def test_a_tool_finds_the_notebook_s_own_thread_and_is_caught_there(road: str) -> None:
    notebook = notebook_of(SETUP, *ROADS[road], "told(cities)")
    NotebookClient(notebook, timeout=60).execute()
    assert notebook.cells[-1].outputs[0].text == SERVED


def test_a_run_that_nobody_joins_is_served_between_cells() -> None:
    notebook = notebook_of(
        SETUP,
        MADE + "import asyncio\nended = asyncio.Event()\n"
        "loop = asyncio.get_running_loop()\n"
        "_ = cities.start(then=lambda: loop.call_soon_threadsafe(ended.set))",
        "_ = await ended.wait()",
        "told(cities)",
    )
    NotebookClient(notebook, timeout=60).execute()
    assert notebook.cells[-1].outputs[0].text == SERVED


def test_without_the_option_the_error_names_it() -> None:
    notebook = notebook_of(SETUP, CELL.format(""), "told(cities)")
    NotebookClient(notebook, timeout=60).execute()
    said = notebook.cells[-1].outputs[0].text
    assert said.startswith("ProgrammingError('SQLite objects created in a thread")
    assert "--main-thread query" in said
