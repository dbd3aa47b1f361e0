"""What a run is called: its lines of Python have to work where they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner import Run
from nbrunner.presence import keep_at_hand
from nbrunner.replay import script

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def test_a_run_is_called_as_the_variable_that_holds_it(
    shell: InteractiveShell,
) -> None:
    run = Run(client=script("Hi."), messages="?")
    assert run.name == "run"
    shell.user_ns["agent"] = run
    assert run.name == "agent"
    assert "agent" in run.to_text()


def test_a_given_name_stays(shell: InteractiveShell) -> None:
    run = Run(client=script("Hi."), messages="?", name="weather")
    shell.user_ns["agent"] = run
    assert run.name == "weather"


def test_a_fork_is_called_as_its_own_variable(shell: InteractiveShell) -> None:
    run = Run(client=script("Hi.", "Ho."), messages="?", name="weather")
    run.wait(20)
    shell.user_ns["other"] = other = run.fork(at=0)
    assert other.name == "other"
    assert run.name == "weather"


def test_a_run_that_only_a_loop_holds_is_kept_at_hand(shell: InteractiveShell) -> None:
    run = Run(client=script("Hi."), messages="?")
    keep_at_hand(run)
    assert shell.user_ns["_run"] is run
    assert run.name == "_run"


def test_a_run_that_a_variable_holds_takes_no_other_name(
    shell: InteractiveShell,
) -> None:
    shell.user_ns["agent"] = run = Run(client=script("Hi."), messages="?")
    keep_at_hand(run)
    assert "_run" not in shell.user_ns
    assert run.name == "agent"
