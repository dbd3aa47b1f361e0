"""The panel in a real page, against two other ways to show the same transcript.

The kernel's clock and the page's are the same machine's, so that times can be told
from one to the other.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any, Self

from tests.browser.lab import write_notebook

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from playwright.sync_api import Page, WebSocket

    from tests.browser.lab import Lab, Notebook

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("bench.js").read_text()
MB = 1_000_000

SETUP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import asyncio, json, time
from IPython.display import display
from tests.bench import shows
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What it took to show a number of iterations; None: not within the limit.

    The page is at work then for minutes on what it was sent, and is not asked.
    """

    way: str
    iterations: int
    shown_s: float | None
    socket_mb: float
    kernel_cpu_s: float | None
    heap_mb: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """How pieces of text got from the kernel to the page; times in milliseconds."""

    way: str
    pieces: int
    per_s: int
    socket_mb: float
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicked:
    """How clicks got from the page to the busy kernel; times in milliseconds."""

    way: str
    clicks: int
    p50_ms: float
    p95_ms: float


class Bench:
    """A notebook's page that counts what comes in from the kernel."""

    def __init__(self, lab: Lab, name: str, *cells: str) -> None:
        self._lab, self._name = lab, f"bench-{name}.ipynb"
        self._is_given_up = False
        self._frames: list[tuple[float, int]] = []
        write_notebook(lab.root / self._name, [SETUP, *cells])

    def __enter__(self) -> Self:
        context = self._lab._context
        context.on("page", self._listen)
        try:
            self.notebook: Notebook = self._lab.open(self._name)
        finally:
            context.remove_listener("page", self._listen)
        self.page = self.notebook.page
        self.page.evaluate(SCRIPT)
        self._devtools = self.page.context.new_cdp_session(self.page)
        self._devtools.send("Performance.enable")
        self.notebook.run_cell(0)
        self.notebook.wait_idle(timeout_s=120)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_given_up:
            self._lab.shut_down(self._name)
            self.page.close()
            return
        self._do("shutdown")
        self.notebook.__exit__(kind, error, traceback)

    def give_up(self) -> None:
        """Ask the page for nothing more: it has too much to do to hear of it."""
        self._is_given_up = True

    def _do(self, action: str) -> None:
        self.notebook._do(action, timeout_s=60)

    def _listen(self, page: Page) -> None:
        page.on("websocket", self._count)

    def _count(self, socket: WebSocket) -> None:
        def note(frame: str | bytes) -> None:
            size = len(frame) if isinstance(frame, bytes) else len(frame.encode())
            self._frames.append((time.time(), size))

        socket.on("framereceived", note)

    def socket_mb(self, since: float = 0, until: float = float("inf")) -> float:
        """What came in from the kernel, in megabytes."""
        return sum(size for at, size in self._frames if since <= at <= until) / MB

    def heap_mb(self) -> float:
        """The page's memory for JavaScript after a collection, in megabytes."""
        self._devtools.send("HeapProfiler.collectGarbage")
        told = self._devtools.send("Performance.getMetrics")["metrics"]
        return next(it["value"] for it in told if it["name"] == "JSHeapUsedSize") / MB

    def kernel(self, expression: str) -> Any:
        """A value of the kernel's, which has to be idle."""
        return json.loads(self.notebook.evaluate(f"print(json.dumps({expression}))"))

    def ran(self, index: int) -> None:
        """Run a cell and wait for its end."""
        self.notebook.run_cell(index)
        self.notebook.wait_idle(timeout_s=120)


def shown(lab: Lab, way: str, iterations: int, *, limit_s: float = 120) -> Shown:
    """Let all iterations happen at once; wait until the page shows the last."""
    cells = (
        f"show = shows.WAYS[{way!r}]({iterations}); show.display()",
        f"began = time.time()\nfor index in range({iterations}): show.add(index)",
    )
    with Bench(lab, "shown", *cells) as bench:
        bench.ran(1)
        bench.page.wait_for_timeout(1500)  # until the panel's own pushes are over
        selector = bench.kernel(f"show.last({iterations})")
        heap, cpu = bench.heap_mb(), bench.kernel("time.process_time()")
        came = bench.socket_mb()
        bench.page.evaluate("selector => bench.await(selector)", selector)
        bench.notebook.run_cell(2)
        at: float | None = None
        try:
            bench.notebook.wait_until("bench.shown", "the last iteration", limit_s)
        except TimeoutError:
            bench.give_up()
        else:
            at = bench.page.evaluate("bench.shown")
            bench.notebook.wait_idle()
        return Shown(
            way=way,
            iterations=iterations,
            shown_s=at - bench.kernel("began") if at else None,
            socket_mb=bench.socket_mb() - came,
            kernel_cpu_s=bench.kernel("time.process_time()") - cpu if at else None,
            heap_mb=bench.heap_mb() - heap if at else None,
        )


def _streaming_cell(way: str, pieces: int, per_s: int) -> str:
    if way == "nbrunner":
        run = f"shows.dripping({pieces}, {1 / per_s})"
        return f"run = {run}\ndisplay(run.show())\n_ = await run"
    show = f"shows.WAYS[{way!r}]()"
    stream = f"shows.stream(show, {pieces}, {1 / per_s})"
    return f"show = {show}\nshow.display()\nawait {stream}"


def streamed(lab: Lab, way: str, pieces: int, per_s: int) -> Streamed:
    """Stream text in a busy cell and note when each piece is in the page."""
    with Bench(lab, "streamed", _streaming_cell(way, pieces, per_s)) as bench:
        bench.page.evaluate("bench.follow(1)")
        bench.notebook.run_cell(1)
        all_seen = f"bench.seen.length >= {pieces}"
        bench.notebook.wait_until(all_seen, "all pieces", 30 + 3 * pieces / per_s)
        until = time.time()
        seen = bench.page.evaluate("bench.seen")
        bench.notebook.wait_idle()
        sent = bench.kernel("shows.sent")
        p50, p95 = middle_and_late(
            (at - since for since, at in zip(sent, seen, strict=True))
        )
        return Streamed(
            way=way,
            pieces=pieces,
            per_s=per_s,
            socket_mb=bench.socket_mb(sent[0], until),
            p50_ms=p50,
            p95_ms=p95,
        )


def clicked(lab: Lab, way: str, clicks: int, per_s: int = 50) -> Clicked:
    """Click while a cell awaits and text streams into it."""
    pieces = clicks * per_s  # a second for each click: more than it takes
    # Pause and Go on take turns in one place; both wait for a safe point.
    place = '[data-key="bar.go"]' if way == "nbrunner" else 'button:text("approve")'
    with Bench(lab, "clicked", _streaming_cell(way, pieces, per_s)) as bench:
        bench.page.evaluate("bench.follow(1)")
        bench.notebook.run_cell(1)
        bench.notebook.wait_until("bench.seen.length", "the first piece", 30)
        button = bench.notebook.output_area(1).locator(place)
        for _ in range(clicks):
            button.click()
            bench.page.wait_for_timeout(30)
        pressed = bench.page.evaluate("bench.pressed")
        assert bench.notebook.prompt(1) == "[*]:", "the cell was to be busy"
        bench.notebook.interrupt()
        bench.notebook.wait_idle()
        heard = bench.kernel("shows.clicked")
        p50, p95 = middle_and_late(
            (at - since for since, at in zip(pressed, heard, strict=True))
        )
        return Clicked(way=way, clicks=clicks, p50_ms=p50, p95_ms=p95)


def middle_and_late(times_s: Iterable[float]) -> tuple[float, float]:
    """The p50 and the p95 of times, in milliseconds."""
    cuts = quantiles([1000 * it for it in times_s], n=20, method="inclusive")
    return cuts[9], cuts[18]
