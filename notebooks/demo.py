"""The first notebook, run with no browser and no key: what `make demo` shows.

Prints each iteration as its cell ends, and writes the whole page to build/demo.html.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

HERE = Path(__file__).parent
NOTEBOOK = HERE / "01_first_run.ipynb"
PAGE = HERE.parent / "build" / "demo.html"


def main() -> None:
    """Run the notebook, print its runs, write its page."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook,
        resources={"metadata": {"path": str(HERE)}},
        on_cell_executed=lambda cell, **_: show(cell),
    )
    client.execute()
    page, _ = HTMLExporter().from_notebook_node(notebook)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page, encoding="utf-8")
    print(f"\nThe whole notebook: {PAGE.relative_to(HERE.parent)}")
    print("Live, with a panel to pause, step and steer it: make lab")


def show(cell: nbformat.NotebookNode) -> None:
    """Print a cell with a run: its source, and what the run left behind."""
    if not cell.source.startswith("%%toolrun"):
        return
    print(f"\n{cell.source}\n")
    for output in cell.outputs:
        print(output["data"]["text/plain"])


if __name__ == "__main__":
    main()
