"""The tables of the bench, and their places in docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tests.bench.loading import Loaded
    from tests.bench.panel import Clicked, Shown, Streamed
    from tests.bench.sizes import Saved

_PACKAGES = ("anthropic", "anywidget", "ipykernel", "ipywidgets", "jupyterlab")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def machine(browser: str | None) -> str:
    """What it was measured on; the machine itself is not named."""
    versions = [f"Chromium {browser}"] if browser else []
    versions += [f"{name} {version(name)}" for name in _PACKAGES]
    return (
        f"The machine: {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}, Python {sys.version.split()[0]}, {', '.join(versions)}."
    )


def dated(text: str, load: float) -> str:
    """A table with when it was measured, and what else the machine did.

    Args:
        text: The table.
        load: The load average before it, of which the bench makes one or two itself.
    """
    cores = os.cpu_count() or 1
    others = (
        ": others were at work on it, so times are too long" if load > cores else ""
    )
    when = f"{datetime.now(UTC):%Y-%m-%d}, load average {load:.1f} on {cores} cores"
    return f"{text}\n\nMeasured {when}{others}."


def shown_table(measured: Sequence[Shown], *, limit_s: float) -> str:
    """The time to show iterations, with ratios to nbrunner's."""
    ours = {it.iterations: it.shown_s for it in measured if it.way == "nbrunner"}
    rows = [
        (
            it.iterations,
            it.way,
            f"{it.shown_s:.2f}" if it.shown_s is not None else f"over {limit_s:.0f}",
            _ratio(it.shown_s, ours.get(it.iterations), limit_s),
            f"{it.socket_mb:.2f}" if it.shown_s else f"over {it.socket_mb:.2f}",
            f"{it.kernel_cpu_s:.2f}" if it.kernel_cpu_s is not None else "-",
            f"{it.heap_mb:.1f}" if it.heap_mb is not None else "-",
        )
        for it in measured
    ]
    head = ("iterations", "shown by", "s to show", "times nbrunner's")
    return table((*head, "MB received", "kernel CPU s", "MB of JS heap"), rows)


def _ratio(other: float | None, ours: float | None, limit_s: float) -> str:
    if not ours:
        return "-"
    return f"{other / ours:.1f}" if other else f"over {limit_s / ours:.0f}"


def streamed_table(measured: Sequence[Streamed]) -> str:
    """The way of a piece of text to the page."""
    rows = [
        (
            f"{it.pieces} at {it.per_s}/s",
            it.way,
            f"{it.socket_mb:.3f}",
            f"{it.p50_ms:.0f}",
            f"{it.p95_ms:.0f}",
        )
        for it in measured
    ]
    return table(("deltas", "shown by", "MB received", "p50 ms", "p95 ms"), rows)


def clicked_table(measured: Sequence[Clicked]) -> str:
    """The way of a click to the kernel."""
    rows = [
        (it.way, it.clicks, f"{it.p50_ms:.1f}", f"{it.p95_ms:.1f}") for it in measured
    ]
    return table(("shown by", "clicks", "p50 ms", "p95 ms"), rows)


def saved_table(measured: Sequence[Saved]) -> str:
    """The sizes of saved notebooks."""
    rows = [
        (it.iterations, it.way, f"{it.notebook_kb:.0f}", f"{it.html_kb:.0f}")
        for it in measured
    ]
    return table(("iterations", "saved as", ".ipynb kB", "nbconvert html kB"), rows)


def loaded_table(measured: Sequence[Loaded]) -> str:
    """The times to load."""
    rows = [(f"`{it.line}`", f"{it.best_s:.3f}") for it in measured]
    return table(("line, in a fresh kernel's process", "s, best"), rows)


def put(page: Path, name: str, text: str) -> None:
    """Put a text between the markers of that name, in place of what stood there.

    Raises:
        ValueError: The page has no such markers.
    """
    start, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    found = re.compile(f"({re.escape(start)}\n).*?({re.escape(end)})", re.DOTALL)
    before = page.read_text(encoding="utf-8")
    after, count = found.subn(lambda m: f"{m[1]}{text}\n{m[2]}", before)
    if count != 1:
        message = f"{page.name} has no markers for {name!r}: {start} and {end}"
        raise ValueError(message)
    page.write_text(after, encoding="utf-8")
