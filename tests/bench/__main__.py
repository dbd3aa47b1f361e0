"""`make bench`: measure everything and keep docs/benchmarks.md."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.bench import loading, loop, panel, report, shows, sizes
from tests.browser.lab import Lab

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
ITERATIONS = (10, 100, 500, 1000)
RATES = (50, 200)
CLICKING = ("nbrunner", "ipywidgets")
STREAMING = (*CLICKING, "whole HTML")


def keep(name: str, text: str) -> None:
    """Print a table and put it into the page."""
    print(f"\n{text}", flush=True)
    report.put(PAGE, name, text)


def by_panel(lab: Lab) -> None:
    """What needs a page."""
    told = lab._context.browser
    keep("machine", report.machine(told.version if told else "?"))
    each = [(way, n) for n in ITERATIONS for way in shows.WAYS]
    shown = [panel.shown(lab, *it) for it in each]
    keep("shown", report.shown_table(shown))
    streamed = [panel.streamed(lab, way, 500, n) for n in RATES for way in STREAMING]
    keep("streamed", report.streamed_table(streamed))
    clicked = [panel.clicked(lab, way, 60) for way in CLICKING]
    keep("clicked", report.clicked_table(clicked))


def main() -> None:
    """Measure, print, keep."""
    keep("loaded", report.loaded_table(loading.loaded(times=5)))
    saved = [sizes.saved(way, n) for n in ITERATIONS for way in sizes.WAYS]
    keep("saved", report.saved_table(saved))
    browser = os.environ["NBRUNNER_BROWSER"]
    with tempfile.TemporaryDirectory() as folder, Lab(browser, Path(folder)) as lab:
        by_panel(lab)
    lines = [
        loop.row(n, times, stream=s) for n, times in loop.ROUNDS for s in (False, True)
    ]
    keep("loop", "\n".join([loop.HEAD, *lines]))


if __name__ == "__main__":
    main()
