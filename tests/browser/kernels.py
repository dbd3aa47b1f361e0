"""Older kernels beside the newest, each an ipykernel in a folder of its own.

    name = kernel(lab, "7.3.0")     # of its kernelspec, for a notebook

The folder goes first on the kernel's path, so all else is what the tests run on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.browser.lab import Lab, Notebook

KERNELS = Path(__file__).parents[2] / "build" / "kernels"
NEWEST = "7.4.0"
OLDER = ("7.3.0", "6.31.0")
"""The versions tried: clicks through subshells, and none while a cell runs."""
FORGETFUL = "7.3.0"
"""Versions 7.0 to 7.3 can leave a request unread (ipython/ipykernel#1529)."""


def kernel(lab: Lab, version: str) -> str:
    """The name of a kernelspec of that ipykernel, installed where it is not yet."""
    if version == NEWEST:
        return "python3"
    folder = _installed(version)
    name = _named(version)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": name,
        "language": "python",
        "env": {"PYTHONPATH": path},
    }
    place = lab.kernelspecs / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "kernel.json").write_text(json.dumps(spec))
    return name


def keep_awake(notebook: Notebook) -> None:
    """Let no request of a page to a forgetful kernel wait for ever.

    Such a kernel, which sends a reply while a request comes in, may not read that one
    until somebody connects: 52 of 15,000 requests were left so, and each was read at
    the next connection; 7.4 left none. So the page connects anew every few seconds.
    """
    if notebook.kernel == _named(FORGETFUL):
        notebook.page.evaluate("harness.connectOften()")


def _named(version: str) -> str:
    return f"ipykernel-{version}"


def _installed(version: str) -> Path:
    folder = KERNELS / version
    if not (folder / f"ipykernel-{version}.dist-info").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run(  # noqa: S603 - our own pins
            [*command, "--target", str(folder), f"ipykernel=={version}"], check=True
        )
    return folder
