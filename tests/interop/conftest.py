"""A real IPython shell, and a client of a server that others wrote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from anthropic import beta_tool
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from tests.interop.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

    from nbrunner import Run


@pytest.fixture(scope="session")
def aimock() -> Iterator[Server]:
    with Server() as server:
        yield server


class Notebook:
    """A shell with the extension, a tool, and a client of the server.

    Attributes:
        bodies: The requests as they went out, in order.
        ran: Where the tool was asked about, in order.
    """

    def __init__(self, server: Server) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.ran: list[str] = []
        InteractiveShell.clear_instance()
        # No history: its database would be one file for all test runs of a machine.
        config = Config({"HistoryManager": {"enabled": False}})
        self.shell = InteractiveShell.instance(config=config)
        # An answer such as the server's failures is tried once: the run shows it.
        self.client = anthropic.Anthropic(
            base_url=server.url, api_key="none", max_retries=0, http_client=self._wire()
        )
        self.shell.user_ns.update(
            client=self.client, get_weather=self._tool(), plain={"stream": False}
        )
        self.shell.run_line_magic("load_ext", "nbrunner")

    def close(self) -> None:
        self.shell.run_line_magic("unload_ext", "nbrunner")
        self.client.close()
        InteractiveShell.clear_instance()

    def run(self, message: str, options: str = "") -> Run:
        first = "%%toolrun weather --tools get_weather --client client"
        self.shell.run_cell(f"{first} {options}\n{message}")
        run: Run = self.shell.user_ns["weather"]
        return run

    def _wire(self) -> httpx2.Client:
        def noted(request: httpx2.Request) -> None:
            self.bodies.append(json.loads(request.content))

        return anthropic.DefaultHttpxClient(event_hooks={"request": [noted]})

    def _tool(self) -> object:
        @beta_tool
        def get_weather(location: str) -> str:
            """Get the weather of Paris."""
            self.ran.append(location)
            return {"Paris": "sunny"}[location]

        return get_weather


@pytest.fixture
def notebook(aimock: Server) -> Iterator[Notebook]:
    aimock.is_well()
    aimock.forget()
    notebook = Notebook(aimock)
    yield notebook
    notebook.close()
