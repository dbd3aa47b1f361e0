"""`--approve`: who is asked about the calls of a cell."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from nbrunner import approve_all, ask, by_tool, reject_all
from nbrunner.run import asking
from tests.magic.test_toolrun import FIRST_LINE, complaint, run_cell

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbrunner import Run


def typed(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> list[str]:
    """Somebody at the keyboard, who types that; returns what they are asked."""
    asked: list[str] = []
    left = list(answers)

    def read(prompt: str = "") -> str:
        asked.append(prompt)
        answer = left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return str(answer)

    monkeypatch.setattr("builtins.input", read)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    return asked


def ran(shell: InteractiveShell, option: str) -> Run:
    run_cell(shell, f"{FIRST_LINE} {option}\nHow is Paris?")
    run: Run = shell.user_ns["weather"]
    assert run.stopped_by == "end_turn"
    return run


def status(run: Run) -> str:
    return run.transcript.iterations[0].tool_calls[0].status


@pytest.mark.parametrize(
    ("option", "expected"),
    [("", "ok"), ("--approve all", "ok"), ("--approve none", "rejected")],
)
def test_all_are_approved_unless_the_line_says_none(
    shell: InteractiveShell, option: str, expected: str
) -> None:
    assert status(ran(shell, option)) == expected


def test_the_rules_of_a_variable_decide_per_tool(shell: InteractiveShell) -> None:
    shell.user_ns["rules"] = by_tool({"get_*": approve_all, "*": reject_all})
    assert status(ran(shell, "--approve rules")) == "ok"
    shell.user_ns["rules"] = by_tool({"get_*": reject_all})
    assert status(ran(shell, "--approve rules")) == "rejected"


def test_an_approver_of_the_notebooks_own_decides(shell: InteractiveShell) -> None:
    shell.run_cell("def picky(call):\n    return call.reject('No ' + call.name)")
    run = ran(shell, "--approve picky")
    assert run.transcript.iterations[0].tool_calls[0].reason == "No get_weather"


def test_in_a_terminal_the_question_is_asked_by_input(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = typed(monkeypatch, "y")
    assert status(ran(shell, "--approve ask")) == "ok"
    (question,) = asked
    assert "Claude wants to run get_weather" in question
    assert '"location": "Paris"' in question


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--approve asks", "--approve asks: it takes all, ask, none, or a variable"),
        ("--approve asks", "Did you mean ask?"),
        ("--approve rule", "Did you mean rules?"),
        ("--approve 'delete_*'", "rules = by_tool({'get_*': approve_all, '*': ask})"),
        ("--approve polite", "that variable holds a str. It has to be an approver"),
        ("--approve get_weather", "It has to be an approver"),
        ("--approve", "expected one argument"),
    ],
)
def test_what_is_no_approver_is_refused_with_near_ones(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], option: str, said: str
) -> None:
    shell.user_ns["rules"] = by_tool({"*": ask})
    complained = complaint(shell, capsys, f"{FIRST_LINE} {option}\nHi")
    assert said in " ".join(complained.split())


def test_a_cell_names_what_cannot_be_gated_and_takes_leave_from_its_params(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["search"] = [{"type": "web_search_20250305", "name": "web_search"}]
    shell.user_ns["leave"] = {"allow_ungated": True}
    cell = f"{FIRST_LINE} --tools search --approve none"
    said = complaint(shell, capsys, f"{cell}\nHi")
    assert "web_search (server tool) runs without asking" in " ".join(said.split())
    run_cell(shell, f"{cell} --params leave\nHi")
    assert shell.user_ns["weather"].stopped_by == "end_turn"


def test_nobody_is_asked_where_input_reaches_no_terminal() -> None:
    assert not sys.stdin.isatty()
    assert not asking.can_ask_here()
