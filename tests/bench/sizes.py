"""What a notebook weighs when it is saved, shown in one way or another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ipywidgets
import nbformat
from nbconvert import HTMLExporter

from nbrunner.views.page import static_page
from nbrunner.views.text import as_text
from tests.bench.shows import Composed, card
from tests.bench.story import story

KB = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The sizes of one notebook, in kilobytes."""

    way: str
    iterations: int
    notebook_kb: float
    html_kb: float


def saved(way: str, iterations: int) -> Saved:
    """Write a notebook with one output, and convert it."""
    data, metadata = _MAKERS[way](iterations)
    output = nbformat.v4.new_output("display_data", data)
    cell = nbformat.v4.new_code_cell("# the cell of the run", outputs=[output])
    cell.id = "run"
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata=metadata)
    html, _ = HTMLExporter().from_notebook_node(notebook)
    return Saved(
        way=way,
        iterations=iterations,
        notebook_kb=len(nbformat.writes(notebook).encode()) / KB,
        html_kb=len(html.encode()) / KB,
    )


def _page(iterations: int) -> tuple[dict[str, Any], dict[str, Any]]:
    _, transcript = story(iterations)[-1][-1]
    html, text = static_page(transcript, name="run"), as_text(transcript, name="run")
    return {"text/html": html, "text/plain": text}, {}


def _widgets(iterations: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The view, and the state without which it shows nothing later."""
    shown = Composed()
    for index in range(iterations):
        shown.add(index)
    data = dict(shown.root._repr_mimebundle_())
    state = ipywidgets.Widget.get_manager_state()
    ipywidgets.Widget.close_all()
    kind = "application/vnd.jupyter.widget-state+json"
    return data, {"widgets": {kind: state}}


def _html(iterations: int) -> tuple[dict[str, Any], dict[str, Any]]:
    html = "".join(card(index) for index in range(iterations))
    return {"text/html": html, "text/plain": "<IPython.core.display.HTML object>"}, {}


_MAKERS = {"nbrunner": _page, "ipywidgets, state saved": _widgets, "whole HTML": _html}
WAYS = tuple(_MAKERS)
