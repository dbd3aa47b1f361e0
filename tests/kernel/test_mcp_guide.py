"""The guide on MCP servers, cell by cell, in a kernel without a file descriptor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nbclient import NotebookClient

from tests.kernel.test_headless import notebook_of

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "mcp.md"
LIKE_ON_WINDOWS = """
import io, sys

def no_descriptor():
    raise io.UnsupportedOperation("fileno")

sys.stderr.fileno = no_descriptor
"""
SETUP = """
%load_ext nbrunner
from nbrunner import replay
from nbrunner.replay import say, script, use

replies = replay.play(script(use("get_weather", location="Paris"), say("So.")))
"""
CELL = "%%toolrun weather --tools tools --client replies\nHow is Paris?"
TOLD = """
call = weather.transcript.iterations[0].tool_calls[0]
print(call.status, call.stdout.strip(), weather.text, sep=" | ")
print(call.result)
"""
SERVER = """
import os, sys
from mcp.server import MCPServer

server = MCPServer("weather", log_level="CRITICAL")

@server.tool()
def get_weather(location: str) -> str:
    {body}

server.run("stdio")
"""
ANSWERS = 'return f"sunny in {location}"'
DIES = 'print("the station is gone", file=sys.stderr, flush=True); os._exit(1)'
OPENING, LOGGED = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def told(*cells: str) -> str:
    """What the last cell prints."""
    notebook = notebook_of(LIKE_ON_WINDOWS, *cells)
    NotebookClient(notebook, timeout=60).execute()
    said: str = notebook.cells[-1].outputs[0].text
    return said


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("body", "outcome", "result"),
    [
        (ANSWERS, "ok |  | So.", "sunny in Paris"),
        (DIES, "error | the station is gone | So.", "Connection closed"),
    ],
    ids=["answers", "dies"],
)
def test_without_a_file_descriptor_a_server_that_has_a_log_file_answers_or_is_heard(
    body: str, outcome: str, result: str
) -> None:
    Path("server.py").write_text(SERVER.replace("{body}", body))
    said = told(SETUP, OPENING, LOGGED, CELL, TOLD)
    assert said.startswith(outcome)
    assert result in said


def test_without_a_file_descriptor_a_server_that_has_no_log_file_cannot_start() -> None:
    opening = OPENING.replace(", errlog=log", "").replace("\n", "\n    ")
    tried = f"try:\n    {opening}\nexcept io.UnsupportedOperation as e:\n    print(e)"
    assert told(tried) == "fileno\n"
