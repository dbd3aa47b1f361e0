"""What a run does to the kernel it runs in, and to the cells beside it: nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kernel.asking import Kernel, kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

SETUP = """
%load_ext nbrunner
import sys, threading
from anthropic import beta_tool
from IPython.display import HTML, display
from nbrunner import replay
from nbrunner.replay import say, script, use

may_print, has_printed = threading.Event(), threading.Event()

@beta_tool
def get_weather(location: str) -> str:
    "Get the weather."
    assert may_print.wait(20)
    print("asking about", location)
    display(HTML("<b>a map</b>"))
    has_printed.set()
    return "sunny"

replies = replay.play(script(use("get_weather", location="Paris"), say("Sunny.")))
"""
LINE = "%%toolrun weather --tools get_weather --client replies"


@pytest.fixture
def started() -> Iterator[Kernel]:
    with kernel() as running:
        assert running.run(SETUP).error == ""
        yield running


def test_what_a_tool_shows_while_the_next_cell_runs_is_in_its_call_and_not_there(
    started: Kernel,
) -> None:
    started.run(f"{LINE} --detach\nHow is Paris?")
    next_cell = started.run("may_print.set(); print(has_printed.wait(20))")
    assert next_cell.error == ""
    assert next_cell.stream("stdout") == "True\n"
    assert "display_data" not in [m["msg_type"] for m in next_cell.outputs]
    joined = started.run(
        "_ = await weather\n"
        "call = weather.transcript.iterations[0].tool_calls[0]\n"
        "print(call.stdout.strip(), call.displays[0].data['text/html'], sep=' | ')"
    )
    assert joined.stream("stdout") == "asking about Paris | <b>a map</b>\n"


def test_a_cell_binds_no_socket_and_its_page_has_no_frame_and_names_no_server(
    started: Kernel,
) -> None:
    started.run(
        "bound = []\n"
        "def note(event, args):\n"
        "    if event == 'socket.bind': bound.append(args)\n"
        "sys.addaudithook(note)\n"
        "may_print.set()"
    )
    cell = started.run(f"{LINE}\nHow is Paris?")
    pages = [
        m["content"]["data"].get("text/html", "")
        for m in cell.outputs
        if "data" in m["content"]
    ]
    assert any("nbr-static" in page for page in pages)
    assert not any("<iframe" in page or "localhost" in page for page in pages)
    heard = started.run(
        "print(len(bound))\n"
        "import socket; socket.socket().bind(('127.0.0.1', 0))\n"
        "print(len(bound))"
    )
    assert heard.stream("stdout") == "0\n1\n"


def test_the_magic_called_by_hand_gives_no_coroutine_and_its_run_can_be_awaited(
    started: Kernel,
) -> None:
    started.run("may_print.set()")
    line = LINE.removeprefix("%%toolrun ")
    called = started.run(
        f"given = get_ipython().run_cell_magic('toolrun', {line!r}, 'How is Paris?')\n"
        "print(given, weather.stopped_by)\n"
        "print((await weather).text)"
    )
    assert called.error == ""
    assert called.stream("stdout").splitlines()[-2:] == ["None end_turn", "Sunny."]
