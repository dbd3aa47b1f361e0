from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bench import loading, loop, panel, report, shows, sizes
from tests.bench.__main__ import PAGE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.lab import Lab


@pytest.mark.parametrize("way", shows.WAYS)
def test_the_bench_sees_the_iterations_of_each_way(lab: Lab, way: str) -> None:
    seen = panel.shown(lab, way, 2)
    assert seen.shown_s is not None
    assert seen.socket_mb > 0
    assert way in report.shown_table([seen], limit_s=9)


def test_what_is_not_shown_within_the_limit_is_given_up(lab: Lab) -> None:
    seen = panel.shown(lab, "ipywidgets", 60, limit_s=0.01)
    assert (seen.shown_s, seen.kernel_cpu_s, seen.heap_mb) == (None, None, None)
    assert "| over 0 |" in report.shown_table([seen], limit_s=0.01)
    assert panel.shown(lab, "whole HTML", 2).shown_s is not None


@pytest.mark.parametrize("way", ["nbrunner", "ipywidgets", "whole HTML"])
def test_the_bench_sees_each_streamed_piece(lab: Lab, way: str) -> None:
    assert way in report.streamed_table([panel.streamed(lab, way, 2, 50)])


@pytest.mark.parametrize("way", ["nbrunner", "ipywidgets"])
def test_the_bench_hears_each_click(lab: Lab, way: str) -> None:
    assert way in report.clicked_table([panel.clicked(lab, way, 2)])


def test_the_other_benches_run_and_have_their_place_in_the_page(
    tmp_path: Path,
) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(PAGE.read_text())
    tables = {
        "machine": report.machine("1"),
        "loop": report.dated(loop.row(2, 1, stream=True), 1.5),
        "loaded": report.loaded_table(loading.loaded(times=1)),
        "saved": report.saved_table([sizes.saved(way, 2) for way in sizes.WAYS]),
        **dict.fromkeys(("shown", "streamed", "clicked"), "| a table |"),
    }
    for name, text in tables.items():
        report.put(page, name, text)
        assert f"<!-- bench:{name} -->\n{text}\n<!-- /bench" in page.read_text()
    with pytest.raises(ValueError, match="no markers for 'other'"):
        report.put(page, "other", "")
