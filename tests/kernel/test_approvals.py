"""Approvals in a kernel: where nobody sits at it, and where the cell itself asks."""

from __future__ import annotations

import pytest
from nbclient import NotebookClient

from tests.kernel.test_headless import SETUP, by_nbclient, by_papermill, notebook_of

ASKING = """%%toolrun weather --tools get_weather --client replies --approve ask
How is Paris?"""
NESTED = f"%%time\n{ASKING}"
DECIDED = "[call.status for call in weather.transcript.iterations[0].tool_calls]"
NOBODY = "This call was not allowed, and it was not run. Nobody is there to ask."


@pytest.mark.parametrize("execute", [by_nbclient, by_papermill])
@pytest.mark.parametrize("cell", [ASKING, NESTED])
def test_where_nobody_can_be_asked_calls_are_rejected_and_nothing_hangs(
    execute: object, cell: str, tmp_path: object
) -> None:
    done = execute(notebook_of(SETUP, cell, DECIDED), tmp_path)  # type: ignore[operator]
    page = next(o for o in done.cells[1].outputs if "data" in o)
    assert page.data["text/plain"].count(NOBODY) == 2
    assert "Rejected: nobody was there to ask." in page.data["text/html"]
    decided = done.cells[2].outputs[0].data["text/plain"]
    assert decided == "['rejected', 'rejected', 'unknown']"
    assert "asking about" not in page.data["text/plain"]


@pytest.mark.parametrize(
    "road",
    [
        "run.wait()",
        "await run",
        "for _ in run: pass",
        "run.until_done()",
        "run.start(); run.wait()",
    ],
)
def test_no_road_of_python_waits_for_a_person_who_is_not_there(road: str) -> None:
    asking = (
        "from nbrunner import Run, ask\n"
        "run = Run(client=replies, tools=[get_weather], messages='?', approver=ask)\n"
        f"{road}\n"
        "print(run.stopped_by, run.transcript.iterations[0].tool_calls[0].reason)"
    )
    notebook = notebook_of(SETUP, asking)
    NotebookClient(notebook, timeout=60).execute()
    printed = "".join(o.text for o in notebook.cells[1].outputs if "text" in o)
    assert printed == "end_turn Nobody is there to ask.\n"


def typed(source: str, *answers: str, interrupt: bool = False) -> tuple[str, list[str]]:
    """Run cells in a kernel with a person at it; what they print, and the prompts."""
    from jupyter_client.manager import start_new_kernel  # noqa: PLC0415

    manager, client = start_new_kernel()
    prompts: list[str] = []
    left = list(answers)

    def answer(message: dict[str, object]) -> None:
        content = message["content"]
        assert isinstance(content, dict)
        prompts.append(content["prompt"])
        if left:
            client.input(left.pop(0))
        elif interrupt:
            manager.interrupt_kernel()

    printed: list[str] = []

    def hear(message: dict[str, object]) -> None:
        content = message["content"]
        assert isinstance(content, dict)
        printed.append(content.get("text") or content.get("ename") or "")

    try:
        for code in (SETUP, source):
            client.execute_interactive(
                code,
                allow_stdin=True,
                timeout=60,
                stdin_hook=answer,
                output_hook=hear,
            )
        client.execute_interactive(
            "print(run.stopped_by, run.transcript.iterations[0].tool_calls[0].status)",
            allow_stdin=True,
            timeout=60,
            output_hook=hear,
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return "".join(printed), prompts


RUN = (
    "from nbrunner import Run, ask\n"
    "run = Run(client=replies, tools=[get_weather], messages='?', approver=ask)\n"
)


@pytest.mark.parametrize("road", ["run.wait()", "for _ in run: pass"])
def test_a_blocking_cell_asks_the_person_who_is_there(road: str) -> None:
    printed, prompts = typed(RUN + road, "y", "n", "Not there.")
    assert "Claude wants to run get_weather" in prompts[0]
    assert len(prompts) == 3
    assert printed.endswith("end_turn ok\n")


@pytest.mark.parametrize("road", ["run.wait()", "for _ in run: pass"])
def test_an_interrupt_at_the_question_leaves_a_run_that_can_go_on(road: str) -> None:
    printed, prompts = typed(RUN + road, interrupt=True)
    assert len(prompts) == 1
    assert printed.endswith("person interrupted\n")
