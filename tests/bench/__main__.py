"""`make bench`: measure everything and keep docs/benchmarks.md.

make bench                          all of it: about ten minutes
make bench BENCH=--quick            the small sizes only, printed and not kept
make bench BENCH="loop clicked"     some of the tables
"""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import ExitStack
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

    def __init__(self, lab: Lab | None, *, quick: bool) -> None:
        self._lab = lab
        self._sizes = SIZES[:1] if quick else SIZES
        self._rounds = loop.ROUNDS[:2] if quick else loop.ROUNDS
        self._pieces, self._clicks = (50, 10) if quick else (500, 60)
        self._loads = 1 if quick else 5

    @property
    def lab(self) -> Lab:
        """Where a page is needed."""
        assert self._lab is not None
        return self._lab

    def loaded(self) -> str:
        """How long it takes to load."""
        return report.loaded_table(loading.loaded(times=self._loads))

    def saved(self) -> str:
        """How much a saved notebook weighs."""
        each = [(way, n) for n in self._sizes for way in sizes.WAYS]
        return report.saved_table([sizes.saved(*it) for it in each])

    def clicked(self) -> str:
        """How long a click takes to the kernel."""
        measured = [panel.clicked(self.lab, way, self._clicks) for way in CLICKING]
        return report.clicked_table(measured)

    def streamed(self) -> str:
        """How text gets to the page."""
        each = [(way, self._pieces, rate) for rate in RATES for way in STREAMING]
        return report.streamed_table([panel.streamed(self.lab, *it) for it in each])

    def shown(self) -> str:
        """How long it takes to show iterations."""
        each = [(way, n) for n in self._sizes for way in shows.WAYS]
        measured = [panel.shown(self.lab, *it, limit_s=LIMIT_S) for it in each]
        return report.shown_table(measured, limit_s=LIMIT_S)

    def loop(self) -> str:
        """What a loop costs."""
        return loop.table(self._rounds)


TABLES = ("loaded", "saved", "clicked", "streamed", "shown", "loop")
PAGED = ("clicked", "streamed", "shown")


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--quick", action="store_true", help="small sizes, not kept")
    parser.add_argument("tables", nargs="*", help=f"some of {', '.join(TABLES)}")
    asked = parser.parse_args()
    tables = asked.tables or TABLES
    if unknown := set(tables) - set(TABLES):
        parser.error(f"no table {', '.join(unknown)}: {', '.join(TABLES)}")
    with ExitStack() as stack:
        lab = a_lab(stack) if set(tables) & set(PAGED) else None
        bench = Bench(lab, quick=asked.quick)
        for name in tables:
            load = os.getloadavg()[0]
            measure: Callable[[], str] = getattr(bench, name)
            text = report.dated(measure(), load)
            print(f"\n{text}", flush=True)
            if not asked.quick:
                report.put(PAGE, name, text)
        if lab is not None and not asked.quick:
            told = lab._context.browser
            machine = report.machine(told.version if told else None)
            report.put(PAGE, "machine", machine)


def a_lab(stack: ExitStack) -> Lab:
    """A JupyterLab and a browser, for as long as the stack stands."""
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return stack.enter_context(Lab(os.environ["NBRUNNER_BROWSER"], Path(folder)))


if __name__ == "__main__":
    main()
