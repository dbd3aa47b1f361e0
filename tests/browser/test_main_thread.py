"""Tools on the kernel's main thread, in a cell that awaits its run in JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.lab import write_notebook
from tests.browser.panel import SETUP, Panel

if TYPE_CHECKING:
    from tests.browser.lab import Lab

SQLITE = """
import sqlite3
database = sqlite3.connect(":memory:")
database.execute("create table city (name text)")
database.execute("insert into city values ('Paris'), ('Oslo')")
gate.unlink(missing_ok=True)

@beta_tool
def query(sql: str) -> str:
    "Ask the database, once the test opens the gate."
    print("asking the database")
    while not gate.exists():
        time.sleep(0.01)
    return ", ".join(name for (name,) in database.execute(sql))

ask = use("query", sql="select name from city")
replies = replay.play(script(ask, say("Two cities."), ask, say("Two cities.")))
"""
CELL = "%%toolrun cities --tools query --client replies {}\nWhich cities do we know?"
GO_ON = "cities.start(); print((await cities).stopped_by, cities.text)"


def test_a_database_opened_in_a_cell_answers_once_its_tool_is_on_the_main_thread(
    lab: Lab,
) -> None:
    cells = [SETUP + SQLITE, CELL.format(""), CELL.format("--main-thread query")]
    write_notebook(lab.root / "main-thread.ipynb", cells)
    with lab.open("main-thread.ipynb") as notebook:
        notebook.run_cell(0)
        notebook.evaluate("gate.touch()")
        notebook.run_cell(1)
        notebook.wait_idle()
        (failed,) = notebook.outputs(1)
        assert (
            "Run it on the main thread: --main-thread query"
            in (failed["data"]["text/html"])
        )
        notebook.screenshot("main-thread-advice")
        notebook.evaluate("gate.unlink()")
        notebook.run_cell(2)
        panel = Panel(notebook, cell=2)
        panel.wait_text("asking the database")
        notebook.screenshot("main-thread-live")
        (lab.root / "gate").touch()
        notebook.wait_idle()
        (done,) = notebook.outputs(2)
        assert "Paris, Oslo" in done["data"]["text/plain"]


def test_an_interrupt_reaches_a_tool_on_the_main_thread_and_the_kernel_goes_on(
    lab: Lab,
) -> None:
    cells = [SETUP + SQLITE, CELL.format("--main-thread query"), "1 + 1", GO_ON]
    write_notebook(lab.root / "main-thread-stop.ipynb", cells)
    with lab.open("main-thread-stop.ipynb") as notebook:
        notebook.run_cell(0)
        notebook.run_cell(1)
        Panel(notebook).wait_text("asking the database")
        notebook.interrupt()
        notebook.wait_idle()
        static, error = notebook.outputs(1)
        assert error["ename"] == "RunInterrupted"
        assert "This call was interrupted" in static["data"]["text/plain"]
        notebook.run_cell(3)
        notebook.wait_idle()
        assert notebook.outputs(3)[0]["text"] == "end_turn Two cities.\n"
