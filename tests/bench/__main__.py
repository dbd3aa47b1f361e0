"""`make bench`: measure everything and keep docs/benchmarks.md.

make bench                          all of it: about ten minutes
make bench BENCH=--quick            the small sizes only, printed and not kept
make bench BENCH="loop clicked"     some of the tables
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench import loading, loop, panel, report, shows, sizes
from tests.browser.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
SIZES = (10, 100, 500, 1000)
RATES = (50, 200)
CLICKING = ("nbrunner", "ipywidgets")
STREAMING = (*CLICKING, "whole HTML")
LIMIT_S = 30
"""How long a way of showing may take: what is slower is told to be over the limit."""


class Bench:
    """What is measured, and how much of it."""

    def __init__(self, *, quick: bool) -> None:
        self._sizes = SIZES[:1] if quick else SIZES
        self._rounds = loop.ROUNDS[:2] if quick else loop.ROUNDS
        self._pieces, self._clicks = (50, 10) if quick else (500, 60)
        self._loads = 1 if quick else 5

    def loaded(self, _: Lab) -> str:
        """How long it takes to load."""
        return report.loaded_table(loading.loaded(times=self._loads))

    def saved(self, _: Lab) -> str:
        """How much a saved notebook weighs."""
        each = [(way, n) for n in self._sizes for way in sizes.WAYS]
        return report.saved_table([sizes.saved(*it) for it in each])

    def clicked(self, lab: Lab) -> str:
        """How long a click takes to the kernel."""
        measured = [panel.clicked(lab, way, self._clicks) for way in CLICKING]
        return report.clicked_table(measured)

    def streamed(self, lab: Lab) -> str:
        """How text gets to the page."""
        each = [(way, self._pieces, rate) for rate in RATES for way in STREAMING]
        return report.streamed_table([panel.streamed(lab, *it) for it in each])

    def shown(self, lab: Lab) -> str:
        """How long it takes to show iterations."""
        each = [(way, n) for n in self._sizes for way in shows.WAYS]
        measured = [panel.shown(lab, *it, limit_s=LIMIT_S) for it in each]
        return report.shown_table(measured, limit_s=LIMIT_S)

    def loop(self, _: Lab) -> str:
        """What a loop costs."""
        return loop.table(self._rounds)


TABLES = ("loaded", "saved", "clicked", "streamed", "shown", "loop")


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--quick", action="store_true", help="small sizes, not kept")
    parser.add_argument("tables", nargs="*", help=f"some of {', '.join(TABLES)}")
    asked = parser.parse_args()
    if unknown := set(asked.tables) - set(TABLES):
        parser.error(f"no table {', '.join(unknown)}: {', '.join(TABLES)}")
    bench, noise = Bench(quick=asked.quick), report.Noise()
    browser = os.environ["NBRUNNER_BROWSER"]
    with tempfile.TemporaryDirectory() as folder, Lab(browser, Path(folder)) as lab:
        for name in asked.tables or TABLES:
            measure: Callable[[Lab], str] = getattr(bench, name)
            text = measure(lab)
            noise.listen()
            print(f"\n{text}", flush=True)
            if not asked.quick:
                report.put(PAGE, name, text)
        told = lab._context.browser
        if not asked.quick:
            machine = report.machine(told.version if told else "?", noise)
            report.put(PAGE, "machine", machine)


if __name__ == "__main__":
    main()
