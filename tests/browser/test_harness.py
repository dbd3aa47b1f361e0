from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.lab import write_notebook

if TYPE_CHECKING:
    from tests.browser.lab import Lab


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_notebook_runs_and_is_saved(
    lab: Lab, app: Literal["lab", "notebook"]
) -> None:
    write_notebook(lab.root / f"{app}.ipynb", ["print('hello')", "6 * 7"])
    with lab.open(f"{app}.ipynb", app) as notebook:
        notebook.run_all()
        notebook.wait_idle()
        assert notebook.prompt(1) == "[2]:"
        assert notebook.outputs(0)[0]["text"] == "hello\n"
        assert notebook.outputs(1)[0]["data"]["text/plain"] == "42"
        assert notebook.evaluate("print(_ + 1)") == "43\n"
        notebook.save()
        assert notebook.saved().cells[0].outputs[0].text == "hello\n"


def test_a_cell_is_interrupted_and_the_kernel_restarted(lab: Lab) -> None:
    slow = "import time; print('started', flush=True); time.sleep(60)"
    write_notebook(lab.root / "stop.ipynb", [slow, "a = 1"])
    with lab.open("stop.ipynb") as notebook:
        notebook.run_cell(0)
        notebook.output_area(0).get_by_text("started").wait_for()
        assert notebook.prompt(0) == "[*]:"
        with pytest.raises(TimeoutError, match=r"an idle notebook; .*'\[\*\]:'"):
            notebook.wait_idle(timeout_s=0.2)
        notebook.interrupt()
        notebook.wait_idle()
        assert notebook.outputs(0)[1]["ename"] == "KeyboardInterrupt"
        notebook.run_cell(1)
        notebook.wait_idle()
        notebook.reload()
        assert notebook.evaluate("print(a)") == "1\n"
        notebook.restart_kernel()
        with pytest.raises(RuntimeError, match="NameError"):
            notebook.evaluate("print(a)")


def test_the_theme_turns_dark_for_one_page(lab: Lab) -> None:
    write_notebook(lab.root / "theme.ipynb", ["6 * 7"])
    background = "getComputedStyle(document.body).backgroundColor"
    with lab.open("theme.ipynb") as notebook:
        light = notebook.page.evaluate(background)
        notebook.set_theme("dark")
        notebook.run_all()
        notebook.wait_idle()
        assert notebook.page.evaluate(background) != light
        assert notebook.screenshot("dark").stat().st_size > 0
    with lab.open("theme.ipynb") as notebook:
        assert notebook.page.evaluate(background) == light


def test_a_page_finds_no_other_host(lab: Lab) -> None:
    write_notebook(lab.root / "network.ipynb", ["6 * 7"])
    with lab.open("network.ipynb") as notebook:
        # By its number this machine is found; by a name nothing is, not even this one.
        reach = "fetch(`http://localhost:${location.port}/`).then(() => '', String)"
        assert notebook.page.evaluate(reach) == "TypeError: Failed to fetch"
        assert "ERR_NAME_NOT_RESOLVED" in notebook.console[-1]
