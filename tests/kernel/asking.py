"""A real kernel with someone at it: the one who answers what it asks."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from jupyter_client.manager import start_new_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_client.blocking import BlockingKernelClient

PATIENCE_S = 60
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Cell:
    """What a cell sent to its notebook.

    Attributes:
        outputs: All of it, as messages.
        asked: What it asked by `input()`.
    """

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self.asked: list[str] = []

    def stream(self, name: str) -> str:
        """What it wrote to `stdout` or `stderr`, without its colours."""
        said = [m["content"] for m in self.outputs if m["msg_type"] == "stream"]
        return _COLOUR.sub("", "".join(it["text"] for it in said if it["name"] == name))

    @property
    def error(self) -> str:
        """The name and the text of what it raised."""
        raised = [m["content"] for m in self.outputs if m["msg_type"] == "error"]
        return "".join(f"{it['ename']}: {it['evalue']}" for it in raised)


class Kernel:
    """Runs cells, one after the other, and answers what they ask."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self._client = client

    def run(self, code: str, *answers: str) -> Cell:
        """Run a cell to its end, with those answers to its questions."""
        cell, left = Cell(), list(answers)

        def answer(question: dict[str, Any]) -> None:
            cell.asked.append(question["content"]["prompt"])
            self._client.input(left.pop(0) if left else "q")

        self._client.execute_interactive(
            code,
            allow_stdin=True,
            output_hook=cell.outputs.append,
            stdin_hook=answer,
            timeout=PATIENCE_S,
        )
        return cell


@contextlib.contextmanager
def kernel() -> Iterator[Kernel]:
    """Start a kernel, and shut it down again."""
    manager, client = start_new_kernel(startup_timeout=PATIENCE_S)
    try:
        yield Kernel(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
