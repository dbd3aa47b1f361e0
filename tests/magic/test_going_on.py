"""`--continue` goes on with a run; `--fork` goes another way from a place in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nbrunner import Run, replay
from nbrunner.replay import say, script, use

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def ran(shell: InteractiveShell) -> InteractiveShell:
    replies = script(
        use("get_weather", location="Paris"), say("It is sunny."), say("And warm.")
    )
    shell.user_ns["many"] = replay.play(replies)
    line = "weather --tools get_weather --client many"
    shell.run_cell_magic("toolrun", line, "How is Paris?\n")
    return shell


def test_a_cell_goes_on_with_a_run_in_the_same_conversation(
    ran: InteractiveShell,
) -> None:
    run = ran.user_ns["weather"]
    line = "--continue weather --model other --system polite"
    ran.run_cell_magic("toolrun", line, "And warm?\n")
    assert ran.user_ns["weather"] is run
    assert ran.user_ns["_run"] is run
    assert run.text == "And warm."
    request = run.transcript.iterations[2].request
    assert (request.settings.model, request.settings.system) == ("other", "Be polite.")
    assert len(request.messages) == 5
    assert run.transcript.iterations[2].injected == ("And warm?",)


def test_a_cell_goes_on_with_a_run_in_a_branch_of_its_own(
    ran: InteractiveShell,
) -> None:
    run = ran.user_ns["weather"]
    ran.run_cell_magic("toolrun", "late --continue weather", "And warm?\n")
    assert run.text == "It is sunny."
    assert ran.user_ns["late"].text == "And warm."
    assert run.branches == [ran.user_ns["late"]]


def test_a_cell_forks_a_run_at_an_iteration(ran: InteractiveShell) -> None:
    run = ran.user_ns["weather"]
    ran.run_cell_magic("toolrun", "--fork weather@1", "Be brief.\n")
    fork = ran.user_ns["weather_1"]
    assert isinstance(fork, Run)
    assert (run.text, fork.text) == ("It is sunny.", "And warm.")
    assert len(fork.transcript.iterations[1].request.messages) == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--continue wether", "Did you mean weather?"),
        ("--fork weather", "--fork weather@1"),
        ("--fork weather@9", "none at 9"),
        ("--continue weather --fork weather@1", "not both"),
        ("--continue weather --new", "leave out --continue"),
        ("--continue weather --approve ask", "set where a run starts"),
        ("--continue weather --client replies", "goes on with the client it has"),
    ],
)
def test_what_cannot_be_gone_on_with_is_said(
    ran: InteractiveShell, line: str, said: str
) -> None:
    with pytest.raises(Exception, match=said.replace("?", r"\?")):
        ran.run_cell_magic("toolrun", line, "And warm?\n")
    assert ran.user_ns["weather"].transcript.waiting == ()


@pytest.fixture
def chatting(ran: InteractiveShell) -> InteractiveShell:
    ran.run_line_magic("config", "ToolrunMagics.continues = True")
    return ran


@pytest.mark.parametrize(
    "line", ["weather", "weather --tools get_weather --client many", "--model other"]
)
def test_by_config_a_cell_goes_on_with_the_run_of_its_name_or_the_last(
    chatting: InteractiveShell, line: str
) -> None:
    run = chatting.user_ns["weather"]
    chatting.run_cell_magic("toolrun", line, "And warm?\n")
    assert chatting.user_ns["_run"] is run
    assert run.text == "And warm."
    assert run.branches == []


@pytest.mark.parametrize("line", ["weather --new", "other"])
def test_by_config_too_a_cell_can_start_anew(
    chatting: InteractiveShell, line: str
) -> None:
    run = chatting.user_ns["weather"]
    chatting.user_ns["more"] = replay.play(script(say("Hello.")))
    chatting.run_cell_magic("toolrun", f"{line} --client more", "Hello?\n")
    assert chatting.user_ns["_run"].text == "Hello."
    assert len(run.transcript.iterations) == 2


def test_by_config_a_first_cell_starts_a_run(shell: InteractiveShell) -> None:
    shell.run_line_magic("config", "ToolrunMagics.continues = True")
    line = "weather --tools get_weather --client replies"
    shell.run_cell_magic("toolrun", line, "How is Paris?\n")
    assert shell.user_ns["weather"].text == "It is sunny."
