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
    from tests.browser.lab import Lab

KERNELS = Path(__file__).parents[2] / "build" / "kernels"
NEWEST = "7.4.0"
OLDER = ("7.3.0", "6.31.0")
"""The versions tried: clicks through subshells, and none while a cell runs."""


def kernel(lab: Lab, version: str) -> str:
    """The name of a kernelspec of that ipykernel, installed where it is not yet."""
    if version == NEWEST:
        return "python3"
    folder = _installed(version)
    name = f"ipykernel-{version}"
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


def _installed(version: str) -> Path:
    folder = KERNELS / version
    if not (folder / f"ipykernel-{version}.dist-info").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run(  # noqa: S603 - our own pins
            [*command, "--target", str(folder), f"ipykernel=={version}"], check=True
        )
    return folder
