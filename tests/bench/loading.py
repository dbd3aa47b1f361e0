"""How long nbrunner takes to load, each time in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

# What a kernel has loaded before the first cell runs.
_KERNEL = """
import asyncio, sys, time, types
import ipykernel.ipkernel, ipykernel.zmqshell
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
empty = types.ModuleType("empty_extension")
empty.load_ipython_extension = lambda shell: None
sys.modules["empty_extension"] = empty
shell.run_line_magic("load_ext", "empty_extension")
del sys.modules["empty_extension"]
sys.modules["another_extension"] = empty
"""
_STEPS = {
    "%load_ext of an empty extension": (
        'shell.run_line_magic("load_ext", "another_extension")'
    ),
    "import nbrunner": "import nbrunner",
    "%load_ext nbrunner": 'shell.run_line_magic("load_ext", "nbrunner")',
    "import anthropic": "import anthropic",
    "from nbrunner import Run": "from nbrunner import Run",
    "the same, after import anthropic": "from nbrunner import Run",
    "from nbrunner.panel import Panel, after Run": "from nbrunner.panel import Panel",
}
_BEFORE = {
    "the same, after import anthropic": "import anthropic",
    "from nbrunner.panel import Panel, after Run": "from nbrunner import Run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """How long a line took in a kernel's process, in seconds."""

    line: str
    best_s: float


def loaded(*, times: int) -> list[Loaded]:
    """The least time of each line."""
    return [
        Loaded(line=line, best_s=min(_once(line) for _ in range(times)))
        for line in _STEPS
    ]


def _once(line: str) -> float:
    code = f"""{_KERNEL}
{_BEFORE.get(line, "")}
began = time.perf_counter()
{_STEPS[line]}
print(time.perf_counter() - began)
"""
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return float(done.stdout)
