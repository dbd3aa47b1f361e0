"""The five real exchanges, which lie beside the repository and are not part of it."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NAMES = (
    "weather_async",
    "weather_cached_results",
    "weather_single_call",
    "weather_streaming",
    "weather_tool_error",
)


def recording(name: str) -> Path:
    """The file of a recording; the test is skipped where there is none."""
    folders = _folders()
    for folder in folders:
        if (path := folder / f"{name}.json").exists():
            return path
    pytest.skip(f"no recording {name} in {folders[0]}: it is not part of this clone")


def exchanges(name: str) -> list[dict[str, Any]]:
    """The exchanges of a recording, as they lie in its file."""
    listed: list[dict[str, Any]] = json.loads(recording(name).read_text())
    return listed


@cache
def _folders() -> list[Path]:
    """Where they may be: beside this clone, or beside the one of this worktree."""
    if own := os.environ.get("NBRUNNER_RECORDINGS"):
        return [Path(own)]
    asked = subprocess.run(
        ["git", "rev-parse", "--path-format=absolute", "--git-common-dir"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    common = [Path(asked.stdout.strip()).parent] if asked.returncode == 0 else []
    return [root.parent / "shared" / "recordings" for root in (ROOT, *common)]
