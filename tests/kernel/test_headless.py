from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import papermill
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

if TYPE_CHECKING:
    from collections.abc import Callable

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SETUP = """
%load_ext nbrunner
from anthropic import beta_tool
from nbrunner import replay
from nbrunner.replay import say, script, use, think

@beta_tool
def get_weather(location: str) -> str:
    "Get the weather."
    print("asking about", location)
    return {"Paris": "sunny"}[location]

replies = replay.play(script(
    [think("Hm."), use("get_weather", location="Paris"),
     use("get_weather", location="Oslo"), use("get_wether")],
    say("It is **sunny**."),
))
"""
CELL = """%%toolrun weather --tools get_weather --client replies
How is Paris?"""


def notebook_of(*cells: str) -> nbformat.NotebookNode:
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index}"
    return notebook


def by_nbclient(notebook: nbformat.NotebookNode, _: Path) -> nbformat.NotebookNode:
    NotebookClient(notebook, timeout=60).execute()
    return notebook


def by_papermill(
    notebook: nbformat.NotebookNode, folder: Path
) -> nbformat.NotebookNode:
    source, result = folder / "in.ipynb", folder / "out.ipynb"
    nbformat.write(notebook, source)
    papermill.execute_notebook(str(source), str(result), progress_bar=False)
    return nbformat.read(result, as_version=4)


@pytest.fixture(params=[by_nbclient, by_papermill])
def execute(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[[nbformat.NotebookNode], nbformat.NotebookNode]:
    return lambda notebook: request.param(notebook, tmp_path)


Execute = "Callable[[nbformat.NotebookNode], nbformat.NotebookNode]"


def test_a_run_leaves_one_static_output_and_no_widget(execute: Execute) -> None:
    done = execute(notebook_of(SETUP, CELL, "print('after', weather.stopped_by)"))
    (output,) = done.cells[1].outputs
    assert sorted(output.data) == ["text/html", "text/plain"]
    assert "nbr-static" in output.data["text/html"]
    assert "KeyError: 'Oslo'" in output.data["text/plain"]
    assert done.cells[2].outputs[0].text == "after end_turn\n"
    assert "widgets" not in done.metadata


def test_two_executions_give_equal_outputs(execute: Execute) -> None:
    first, second = (execute(notebook_of(SETUP, CELL, CELL)) for _ in range(2))
    data = [cell.outputs[0].data for cell in (*first.cells[1:], *second.cells[1:])]
    assert all(it == data[0] for it in data)


def test_a_step_waits_for_nobody(execute: Execute) -> None:
    step = CELL.replace("weather ", "weather --step ", 1)
    done = execute(notebook_of(SETUP, step))
    assert "done" in done.cells[1].outputs[0].data["text/plain"]


@pytest.mark.parametrize("option", ["--hold", "--detach"])
def test_what_needs_a_person_is_ignored_where_nobody_is(option: str) -> None:
    cell = CELL.replace("weather ", f"weather {option} ", 1)
    notebook = notebook_of(SETUP, cell, "print(weather.is_running)")
    NotebookClient(notebook, timeout=60).execute()
    (output,) = notebook.cells[1].outputs
    assert "nbr-static" in output.data["text/html"]
    assert notebook.cells[2].outputs[0].text == "False\n"


def test_a_break_on_error_waits_for_nobody_and_the_page_says_so() -> None:
    cell = CELL.replace("weather ", "weather --break-on-error ", 1)
    notebook = notebook_of(SETUP, cell, "weather.debug()")
    NotebookClient(notebook, timeout=60, allow_errors=True).execute()
    page = notebook.cells[1].outputs[0].data["text/plain"]
    assert "done" in page
    assert (
        "get_weather and get_wether failed; the run did not pause, since nobody is "
        "here to look."
    ) in page
    (error,) = notebook.cells[2].outputs
    assert error.ename == "NothingToDebug"
    assert "nobody sits at this kernel" in error.evalue


def test_a_held_run_from_python_hangs_nowhere() -> None:
    held = (
        "from nbrunner import Run\n"
        "run = Run(client=replies, messages='Hi', hold=True)\n"
        "print((await run).status)"
    )
    notebook = notebook_of(SETUP, held)
    NotebookClient(notebook, timeout=60).execute()
    assert notebook.cells[1].outputs[0].text == "finished\n"


def test_a_failed_request_waits_for_nobody_and_is_retried_by_the_next_cell() -> None:
    failing = "replies = replay.play(script(replay.fail(529), say('It is sunny.')))"
    retried = "weather.retry(); print((await weather).stopped_by)"
    notebook = notebook_of(SETUP, failing, CELL, retried)
    notebook.cells[2].metadata["tags"] = ["raises-exception"]
    NotebookClient(notebook, timeout=60).execute()
    assert notebook.cells[2].outputs[-1].ename == "RunFailed"
    assert notebook.cells[3].outputs[0].text == "end_turn\n"


def test_a_failed_run_ends_the_notebook_and_keeps_its_transcript() -> None:
    failing = "replies = replay.play(script(replay.fail(401, 'authentication_error')))"
    notebook = notebook_of(SETUP, failing, CELL, "print('not reached')")
    with pytest.raises(CellExecutionError, match="RunFailed: Iteration 1 failed"):
        NotebookClient(notebook, timeout=60).execute()
    assert "authentication_error" in notebook.cells[2].outputs[0].data["text/plain"]
    assert notebook.cells[3].outputs == []


def test_a_converted_page_shows_the_transcript_without_kernel_or_script(
    execute: Execute,
) -> None:
    done = execute(notebook_of(SETUP, CELL))
    page, _ = HTMLExporter().from_notebook_node(done)
    assert "asking about Oslo" in page
    assert "There is no tool" in page
    assert "application/vnd.jupyter.widget-view+json" not in page


def test_the_lesson_passes_nbval_twice(tmp_path: Path) -> None:
    for _ in range(2):
        command = [sys.executable, "-m", "pytest", "--nbval", "-p", "no:cacheprovider"]
        done = subprocess.run(  # noqa: S603 - our own notebook
            [*command, str(NOTEBOOKS / "01_first_run.ipynb")],
            cwd=tmp_path,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_lesson_keeps_within_its_budget_of_bytes() -> None:
    assert (NOTEBOOKS / "01_first_run.ipynb").stat().st_size < 100_000


def test_what_a_tool_displays_is_in_its_call_and_not_beside_it(
    execute: Execute,
) -> None:
    setup = """
%load_ext nbrunner
import asyncio, base64
from anthropic import beta_tool
from IPython.display import HTML, Image, display
from nbrunner.replay import script, use

PIXEL = base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=")

@beta_tool
def draw() -> str:
    "Draw."
    display(HTML("<table><tr><td>a frame</td></tr></table><script>1</script>"))
    display(Image(data=PIXEL, format="gif"))
    return "drawn"

replies = script(use("draw"), "So.")
"""
    run = "%%toolrun picture --tools draw --client replies\nDraw."
    after = """
display(HTML("after"))
call = picture.transcript.iterations[0].tool_calls[0]
print(len(call.displays), "frame" in str(picture.messages))"""
    done = execute(notebook_of(setup, run, after))
    (output,) = done.cells[1].outputs
    page = output.data["text/html"]
    assert "<td>a frame</td>" in page
    assert 'src="data:image/gif;base64,R0lGOD' in page
    assert "<script" not in page
    html, printed = sorted(done.cells[2].outputs, key=lambda o: o.output_type)
    assert html.data["text/html"] == "after"
    assert printed.text == "2 False\n"


def test_importing_the_package_loads_no_heavy_module() -> None:
    code = (
        "import sys, json, nbrunner; "
        "heavy = {'anthropic', 'httpx2', 'pydantic', 'IPython', 'anywidget'}; "
        "print(json.dumps(sorted(heavy & set(sys.modules))))"
    )
    done = subprocess.run(  # noqa: S603 - the code above
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


def test_every_public_name_is_there_and_sorted() -> None:
    code = (
        "import nbrunner; "
        "assert nbrunner.__all__ == sorted(nbrunner.__all__); "
        "assert set(nbrunner.__all__) <= set(dir(nbrunner)); "
        "print([getattr(nbrunner, name) is not None for name in nbrunner.__all__])"
    )
    done = subprocess.run(  # noqa: S603 - the code above
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "False" not in done.stdout
