from __future__ import annotations

from typing import TYPE_CHECKING

import nbformat
from nbconvert import HTMLExporter

from tests.browser.panel import TOOLRUN, Panel, Steered

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.lab import Lab

# Markup that runs where it is not escaped, and what MathJax takes for formulas.
ATTACK = (
    "<img src=x onerror='window.pwned=1'><svg onload='window.pwned=2'></svg>"
    "<script>window.pwned=3</script><a href='javascript:window.pwned=4'>x</a>"
    "[y](javascript:window.pwned=5) ![z](https://127.0.0.1/pixel.png)"
    "</pre></details></section><iframe srcdoc='<script>parent.pwned=6</script>'>"
    " costs $5 or $10, \\\\(x\\\\) and $$y$$"
)
REPLIES = f"""
    [think({ATTACK!r}), say({ATTACK!r}), use("get_temperature", city={ATTACK!r}),
     use({ATTACK!r}, {{{ATTACK!r}: {ATTACK!r}}}), use("echo", text={ATTACK!r})],
    say({ATTACK!r}),
"""
ECHO = """
@beta_tool
def echo(text: str) -> str:
    "Echo."
    print(text)
    return text
"""


def harmless(page: Page, root: str) -> bool:
    found: bool = page.evaluate(
        """root => window.pwned === undefined
          && !document.querySelector(`${root} :is(img, svg, script, iframe)`)
          && !document.querySelector(`${root} :is(mjx-container, .MathJax)`)
          && ![...document.querySelectorAll(`${root} a`)]
              .some((a) => a.protocol === 'javascript:')""",
        root,
    )
    return found


def test_nothing_that_a_model_or_a_tool_says_runs_or_becomes_a_formula(
    lab: Lab,
) -> None:
    steered = Steered(lab, "hostile", REPLIES)
    source = nbformat.read(lab.root / steered.name, 4)
    source.cells[0].source += f"{ECHO}\nattack = {ATTACK!r}"
    first_line = TOOLRUN.replace("--tools ", "--step --system attack --tools echo,")
    source.cells[1].source = f"{first_line}\n{ATTACK}"
    nbformat.write(source, lab.root / steered.name)
    with lab.open(steered.name) as notebook:
        panel = Panel(notebook)
        notebook.run_all()
        panel.wait_status("paused before request 1")
        panel.send(ATTACK)
        panel.press("Step")
        panel.wait_status("paused before request 2")
        panel.root.evaluate(
            "root => root.querySelectorAll('details').forEach((d) => { d.open = true })"
        )
        panel.wait_text("There is no tool")
        assert harmless(notebook.page, ".nbr-live")
        assert "costs $5 or $10" in panel.root.inner_text()
        notebook.screenshot("hostile")
        panel.press("Go on")
        notebook.wait_idle()
        assert harmless(notebook.page, ".nbr-static")
        notebook.save()
    with lab.open(steered.name) as notebook:
        notebook.cell(1).locator(".nbr-static").wait_for()
        assert harmless(notebook.page, ".nbr-static")
        html, _ = HTMLExporter().from_notebook_node(notebook.saved())
        page = notebook.page.context.new_page()
        page.set_content(html)
        page.locator(".nbr-static").wait_for()
        assert harmless(page, ".nbr-static")
        page.close()
