"""Coroutine and MCP tools in a real kernel, where cells open what the tools use."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbclient import NotebookClient

from tests.kernel.test_headless import notebook_of

SERVER = Path(__file__).parents[1] / "loop" / "mcp_server.py"
SETUP = """
%load_ext nbrunner
import asyncio, sys
from anthropic import beta_async_tool
from nbrunner import Run, replay
from nbrunner.replay import say, script, use

def told(run):
    call = run.transcript.iterations[0].tool_calls[0]
    print(call.status, call.result, call.stdout.strip(), sep=" | ")
"""
LOCK = """
lock = asyncio.Lock()

@beta_async_tool
async def count() -> str:
    "Count, one at a time."
    async with lock:
        print("counting")
        await asyncio.sleep(0)
    return "1"

replies = replay.play(script(use("count"), say("One.")))
"""
MCP = f"""
import contextlib
from anthropic.lib.tools.mcp import async_mcp_tool
from mcp import ClientSession, StdioServerParameters, stdio_client

open_things = contextlib.AsyncExitStack()
server = StdioServerParameters(command=sys.executable, args=[{str(SERVER)!r}])
log = open("mcp.log", "w")  # a kernel's stderr may have no file descriptor
pipes = await open_things.enter_async_context(stdio_client(server, errlog=log))
session = await open_things.enter_async_context(ClientSession(*pipes))
_ = await session.initialize()
tools = [async_mcp_tool(tool, session) for tool in (await session.list_tools()).tools]
replies = replay.play(script(use("get_weather", location="Paris"), say("Sunny.")))
"""
CELL = "%%toolrun run --tools {} --client replies\nHow is it?"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def last_words(*cells: str) -> str:
    notebook = notebook_of(SETUP, *cells, "told(run)")
    NotebookClient(notebook, timeout=60).execute()
    said: str = notebook.cells[-1].outputs[0].text
    return said


def test_a_coroutine_tool_shares_the_loop_of_the_cells() -> None:
    assert last_words(LOCK, CELL.format("count")) == "ok | 1 | counting\n"


def test_a_coroutine_tool_under_another_magic_runs_on_a_loop_of_its_own() -> None:
    assert last_words(LOCK, "%%time\n" + CELL.format("count")) == "ok | 1 | counting\n"


@pytest.mark.parametrize("waiting", ["run.wait()", "await run"])
def test_both_ways_to_wait_work_in_a_cell_whose_loop_runs_already(waiting: str) -> None:
    made = "run = Run(client=replies, tools=[count], messages='?')\n"
    assert last_words(LOCK, f"{made}_ = {waiting}") == "ok | 1 | counting\n"


def test_an_mcp_server_with_a_log_file_opened_in_a_cell_answers_in_the_next() -> None:
    said = last_words(MCP, CELL.format("tools"))
    assert said.startswith("ok | ")
    assert "1 sunny days in Paris" in said


def test_a_session_under_another_magic_is_told_how_to_wait() -> None:
    said = last_words(MCP, "%%time\n" + CELL.format("tools"))
    assert said.startswith("error | ")
    assert "use %%toolrun outside %%time" in said
