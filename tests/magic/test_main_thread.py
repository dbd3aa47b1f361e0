from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from anthropic import beta_tool

from nbrunner import replay
from nbrunner.replay import say, script, use
from tests.magic.test_toolrun import complaint, run_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

    from nbrunner import Run

CELL = "%%toolrun cities --tools {} --main-thread {} --client replies\nWhich?"


@pytest.fixture
def notebook(shell: InteractiveShell) -> Iterator[InteractiveShell]:
    database = sqlite3.connect(":memory:")
    database.execute("create table city (name text)")
    database.execute("insert into city values ('Paris')")

    @beta_tool(name="ask_database")
    def query(sql: str) -> str:
        """Ask the database."""
        return str(database.execute(sql).fetchall())

    asks = use("ask_database", sql="select name from city")
    replies = replay.play(script([asks], say("Paris.")))
    shell.user_ns.update(query=query, tools=[query], replies=replies)
    yield shell
    database.close()


@pytest.mark.parametrize(
    ("tools", "named"),
    [("query", "query"), ("query", "ask_database"), ("tools", "tools")],
)
def test_a_tool_of_the_main_thread_goes_by_its_variable_or_its_own_name(
    notebook: InteractiveShell, tools: str, named: str
) -> None:
    run_cell(notebook, CELL.format(tools, named))
    run: Run = notebook.user_ns["cities"]
    assert run.transcript.iterations[0].tool_calls[0].result == "[('Paris',)]"


def test_a_nested_cell_serves_its_main_thread_too(notebook: InteractiveShell) -> None:
    run_cell(notebook, f"%%time\n{CELL.format('query', 'query')}")
    run: Run = notebook.user_ns["cities"]
    assert run.transcript.iterations[0].tool_calls[0].result == "[('Paris',)]"


def test_an_unknown_name_is_a_complaint_of_one_line(
    notebook: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(notebook, capsys, CELL.format("query", "qery"))
    assert "--main-thread qery: the run has no tool of that name." in said
    assert "Did you mean query?" in said


def test_a_tool_of_the_notebook_that_is_not_the_run_s_is_unknown(
    notebook: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(notebook, capsys, CELL.format("query", "get_weather"))
    assert "Its tools: ask_database, query." in said
