from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from tests.browser.lab import SCREENSHOTS
from tests.browser.scenes import STORIES, Scene

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.browser.lab import Lab, Notebook

PICTURES = Path(os.environ.get("NBRUNNER_PICTURES") or SCREENSHOTS / "states")
LARGEST_BYTES = 60_000
TALLEST_PX = 1_300
SIZES = {"narrow": (600, 1), "wide": (1500, 1), "zoomed": (1300, 2)}
THEMES = {"": "light", "-dark": "dark", "-contrast": "contrast"}
IN_EVERY_THEME = ("streaming", "steered", "asking", "failed", "done")
IN_EVERY_SIZE = ("steered", "asking", "failed", "done")

# What sticks out of the panel's edge; a gist ends in an ellipsis instead.
STICKS_OUT = """(root) => {
  const edge = root.getBoundingClientRect();
  return [...root.querySelectorAll("*")]
    .filter((it) => it.checkVisibility() && !it.closest(".nbr-gist *"))
    .filter((it) => it.getBoundingClientRect().right > edge.right + 1)
    .map((it) => it.outerHTML.slice(0, 120));
}"""


def resize(page: Page, width: int, height: float = 1600) -> None:
    page.set_viewport_size({"width": width, "height": int(height)})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")


def zoom(root: Locator, factor: int) -> None:
    root.evaluate("(it, factor) => { it.parentElement.style.zoom = factor }", factor)


def picture(root: Locator, name: str) -> None:
    # What is scrolled out of sight is not in a picture.
    height = root.evaluate("it => it.getBoundingClientRect().height")
    width = root.evaluate("it => innerWidth")
    resize(root.page, width, max(1600, height + 400))
    root.page.mouse.move(0, 0)
    # The same picture however long it took.
    root.evaluate(
        "it => it.querySelectorAll('[data-clock]')"
        ".forEach((clock) => { clock.textContent = '3 s' })"
    )
    taken = root.screenshot(animations="disabled", caret="hide")
    image = Image.open(io.BytesIO(taken)).convert("RGB")
    # Of a long one its end.
    image = image.crop((0, max(0, image.height - TALLEST_PX), *image.size))
    path = PICTURES / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    assert path.stat().st_size < LARGEST_BYTES


def looks_at(notebook: Notebook, root: Locator, state: str) -> None:
    page = notebook.page
    for suffix, theme in THEMES.items():
        if theme == "light" or state in IN_EVERY_THEME:
            notebook.set_theme(theme)
            picture(root, f"{state}{suffix}")
    notebook.set_theme("light")
    if state not in IN_EVERY_SIZE:
        return
    for size, (width, factor) in SIZES.items():
        resize(page, width)
        zoom(root, factor)
        assert root.evaluate(STICKS_OUT) == []
        picture(root, f"{state}-{size}")
        zoom(root, 1)
    resize(page, 1300)
    page.emulate_media(forced_colors="active")
    picture(root, f"{state}-forced-colors")
    page.emulate_media(forced_colors="none")


@pytest.mark.parametrize("story", STORIES)
def test_the_panel_fits_its_page_in_every_state(lab: Lab, story: str) -> None:
    replies, holds, states, options = STORIES[story]
    name = f"states-{story}"
    with Scene(lab, name, replies, holds=holds, options=options) as scene:
        resize(scene.notebook.page, 1300)
        for state in states(scene):
            assert scene.root.evaluate(STICKS_OUT) == []
            looks_at(scene.notebook, scene.root, state)
