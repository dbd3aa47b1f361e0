"""What a cell shows of its run, in a shell that seems to have a kernel."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.displaypub import DisplayPublisher

from nbrunner import Run
from nbrunner.cell_output import opened
from nbrunner.replay import say, script, use
from tests.magic.conftest import get_weather
from tests.panel.recording_comm import RecordingComm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

WIDGET = "application/vnd.jupyter.widget-view+json"
PAGE = ["text/html", "text/plain"]
NESTED = "%%toolrun weather --tools get_weather --client replies\nHow is Paris?"


class Notebook(DisplayPublisher):
    """A publisher that keeps what it is given, as a front end does."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[tuple[list[str], bool]] = []

    def publish(self, data: Any, metadata: Any = None, **more: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        kinds = sorted(data)
        self.shown.append((kinds, bool(more.get("update"))))


@pytest.fixture
def notebook(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Notebook]:
    """The shell's display, with a person at it."""
    monkeypatch.setattr("comm.create_comm", RecordingComm)
    monkeypatch.setattr("nbrunner.panel.widget._LINGER_S", 0.0)
    request = {"content": {"allow_stdin": True}}
    kernel = SimpleNamespace(get_parent=lambda _: request)
    monkeypatch.setattr(type(shell), "kernel", kernel, raising=False)
    display = Notebook()
    shell.display_pub = display
    yield display
    request["content"]["allow_stdin"] = False
    for thread in threading.enumerate():
        if thread.name == "nbrunner-panel":
            thread.join(30)


def a_run(**given: Any) -> Run:
    replies = script(use("get_weather", location="Paris"), say("It is sunny."))
    return Run(client=replies, tools=[get_weather], messages="Hi", **given)


LIVE_THEN_PAGE = [(sorted([WIDGET, "text/plain"]), False), (PAGE, True)]


def test_waiting_shows_the_run_live_and_puts_its_page_in_place(
    notebook: Notebook,
) -> None:
    a_run().wait()
    assert notebook.shown == LIVE_THEN_PAGE


def test_a_nested_magic_shows_the_run_once(
    notebook: Notebook, shell: InteractiveShell
) -> None:
    shell.run_cell(f"%%time\n{NESTED}")
    assert notebook.shown == LIVE_THEN_PAGE


def test_what_is_captured_is_the_page_alone(
    notebook: Notebook, shell: InteractiveShell
) -> None:
    shell.run_cell(f"%%capture kept\n{NESTED}")
    assert notebook.shown == []
    assert [sorted(it.data) for it in shell.user_ns["kept"].outputs] == [PAGE]


def test_a_run_that_is_shown_already_is_not_shown_twice(notebook: Notebook) -> None:
    run = a_run()
    panel = run.show()
    panel._repr_mimebundle_()
    run.wait()
    assert notebook.shown == []
    panel.close()


@pytest.mark.parametrize("how", ["never displayed", "closed", "its views are gone"])
def test_a_panel_that_nobody_sees_does_not_count(notebook: Notebook, how: str) -> None:
    run = a_run()
    panel = run.show()
    if how != "never displayed":
        panel._repr_mimebundle_()
    if how == "closed":
        panel.close()
    if how == "its views are gone":
        panel.comm.hear({"op": "hello", "page": "home"})
        panel.comm.hear({"op": "bye", "page": "home"})
    run.wait()
    assert notebook.shown == LIVE_THEN_PAGE
    panel.close()


def test_nothing_is_shown_of_a_run_that_is_over_already(notebook: Notebook) -> None:
    run = a_run()
    run.wait()
    notebook.shown.clear()
    run.wait()
    assert notebook.shown == []


def test_who_waits_in_pieces_is_shown_nothing(notebook: Notebook) -> None:
    a_run().wait(timeout_s=60)
    assert notebook.shown == []


def test_a_thread_that_waits_shows_nothing(notebook: Notebook) -> None:
    thread = threading.Thread(target=a_run().wait)
    thread.start()
    thread.join(30)
    assert notebook.shown == []


def test_where_nobody_is_waiting_shows_nothing(
    notebook: Notebook, shell: InteractiveShell
) -> None:
    shell.kernel.get_parent("shell")["content"]["allow_stdin"] = False
    a_run().wait()
    assert notebook.shown == []


def test_what_was_forked_in_a_cell_is_left_below_it_and_its_own_end_is_awaited(
    notebook: Notebook,
) -> None:
    run = a_run(name="weather")
    close = opened(run)
    (panel,) = run.panels
    run.wait(30)
    for _ in range(2):
        panel.comm.hear({"intent": "open", "branch": "parent"})
        panel.comm.hear({"intent": "fork", "at": 1})
    over, fork = panel.forked
    over.stop()
    over.wait(30)
    close()
    live, page = LIVE_THEN_PAGE
    assert notebook.shown == [live, page, (PAGE, False), live]
    notebook.shown.clear()
    has_ended = threading.Event()
    fork.when_finished(has_ended.set)
    fork.stop()
    assert has_ended.wait(30)
    assert notebook.shown == [page, page]
    assert [it.name for it in run.branches] == [
        f"weather.branches[{n}]" for n in (0, 1)
    ]


def test_where_a_click_starts_a_run_somebody_is_there(
    notebook: Notebook,  # noqa: ARG001 - a person
    shell: InteractiveShell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    click = {"header": {"msg_type": "comm_msg"}, "content": {"comm_id": "1"}}
    monkeypatch.setattr(shell.kernel, "get_parent", lambda _: click)
    run, is_held = a_run(hold=True), threading.Event()
    run.subscribe(lambda event, _: event.kind == "run_held" and is_held.set())
    run.start()
    assert is_held.wait(30)
    run.stop()
    run.wait(30)


def test_cells_of_side_by_side_threads_do_not_nest(shell: InteractiveShell) -> None:
    rewritten: list[str] = []

    def other_subshell() -> None:
        rewritten.append(shell.transform_cell(NESTED))

    def inside() -> None:
        thread = threading.Thread(target=other_subshell)
        thread.start()
        thread.join(30)
        rewritten.append(shell.transform_cell(NESTED))

    shell.user_ns["inside"] = inside
    shell.run_cell("inside()")
    elsewhere, nested = rewritten
    assert elsewhere.startswith("await ")
    assert nested.startswith("get_ipython().run_cell_magic")
