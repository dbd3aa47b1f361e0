"""The reference pages: what they name is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from nbrunner.core.events import Event

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
TEST = re.compile(r"`(tests/\S+\.py)::(\w+)`")


def rows(page: Path) -> list[str]:
    """The rows of the tables of a page, their heads left out."""
    lines = page.read_text().splitlines()
    return [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if line.startswith("|") and before.startswith("|") and "|---" not in line
    ]


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


TABLES = [REFERENCE / "tool_runner.md", REFERENCE / "cases.md"]


@pytest.mark.parametrize("row", [row for page in TABLES for row in rows(page)])
def test_each_row_of_the_table_names_tests_that_are_there(row: str) -> None:
    named = TEST.findall(row)
    assert named, "a row without a test"
    assert row.count("::") == len(named), "a test named in a form that is not checked"
    for path, name in named:
        assert name in names_in(ROOT / path), f"{path} has no {name}"


def test_each_trap_that_is_tested_stands_in_the_table() -> None:
    traps = names_in(ROOT / "tests/loop/test_sdk_traps.py")
    named = {
        name for _, name in TEST.findall((REFERENCE / "tool_runner.md").read_text())
    }
    assert {trap for trap in traps if trap.startswith("test_")} - named == set()


EVENTS = {
    kind.model_fields["kind"].default: kind for kind in get_args(get_args(Event)[0])
}


@pytest.mark.parametrize("kind", EVENTS)
def test_each_event_has_its_place_with_all_its_fields(kind: str) -> None:
    page = (REFERENCE / "events.md").read_text()
    head, *_ = page.partition(f"### `{kind}`")[2].partition("\n### ")
    assert head, f"no section on {kind}"
    fields = set(EVENTS[kind].model_fields) - {"kind"}
    assert set(re.findall(r"^- `(\w+)`", head, re.MULTILINE)) == fields


def test_no_event_is_described_that_there_is_not() -> None:
    page = (REFERENCE / "events.md").read_text()
    assert set(re.findall(r"^### `(\w+)`", page, re.MULTILINE)) == set(EVENTS)
