"""A failed tool's traceback: the tool's frames only, and no path of this machine."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic
import pytest
from anthropic import beta_tool

from nbrunner import Run
from nbrunner.loop.tracebacks import signature_line, tool_traceback
from nbrunner.replay import use
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable


def nobody(_: str) -> None:
    return None


def trace_of(function: Callable[[], Any]) -> str:
    """The traceback that the person sees when a tool over the function fails."""
    tool = beta_tool(function, name="tool")
    run = Run(client=Wire(use("tool"), "So.").client, tools=[tool], messages="?")
    run.wait(20)
    (call,) = run.transcript.iterations[0].tool_calls
    assert call.status == "error"
    assert call.traceback is not None
    return call.traceback


def raised_by(function: Callable[[], Any]) -> BaseException:
    try:
        function()
    except BaseException as error:  # noqa: BLE001 - it is what is asked for
        return error
    message = "it did not raise"
    raise AssertionError(message)


def frames(trace: str) -> list[str]:
    """The functions of a traceback, in order."""
    return [
        line.rsplit(" in ", 1)[1]
        for line in trace.splitlines()
        if line.lstrip(" |+").startswith("File ") and " in " in line
    ]


def plan(city, days=3):  # noqa: ANN001, ANN201
    return city * days


def divide() -> str:
    """Divide."""
    return str(1 // 0)


def with_a_cause() -> str:
    """Fail for a reason."""
    try:
        return divide()
    except ZeroDivisionError as error:
        message = "no result"
        raise ValueError(message) from error


def while_another() -> str:
    """Fail while handling an error."""
    try:
        return divide()
    except ZeroDivisionError:
        return {}["key"]


def for_no_reason() -> str:
    """Fail and hide why."""
    try:
        return divide()
    except ZeroDivisionError:
        raise ValueError("hidden") from None


def in_a_group() -> str:
    """Fail in several ways."""
    errors = [
        e for f in (divide, with_a_cause) if isinstance(e := raised_by(f), Exception)
    ]
    raise ExceptionGroup("two", errors)


def in_a_circle() -> str:
    """Fail with an error that is its own cause."""
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def for_ever() -> str:
    """Recurse."""
    return for_ever()


def in_pydantic() -> str:
    """Fail inside another package."""

    class City(pydantic.BaseModel):
        name: str

    return City.model_validate({}).name


def test_the_frames_above_the_tool_are_gone() -> None:
    trace = trace_of(divide)
    assert frames(trace) == ["divide"]
    assert trace.startswith("Traceback (most recent call last):\n")
    assert "return str(1 // 0)" in trace
    assert trace.endswith("ZeroDivisionError: integer division or modulo by zero")


def test_a_cause_is_shown_with_its_own_frames() -> None:
    trace = trace_of(with_a_cause)
    assert frames(trace) == ["with_a_cause", "divide", "with_a_cause"]
    assert "direct cause of the following exception" in trace


def test_an_error_while_handling_another_shows_both() -> None:
    trace = trace_of(while_another)
    assert frames(trace) == ["while_another", "divide", "while_another"]
    assert "another exception occurred" in trace


def test_a_hidden_reason_stays_hidden() -> None:
    trace = trace_of(for_no_reason)
    assert frames(trace) == ["for_no_reason"]
    assert "ZeroDivisionError" not in trace


def test_each_error_of_a_group_is_shown() -> None:
    trace = trace_of(in_a_group)
    assert "ZeroDivisionError" in trace
    assert "no result" in trace
    assert "ExceptionGroup: two (2 sub-exceptions)" in trace


def test_an_error_that_is_its_own_cause_ends() -> None:
    trace = trace_of(in_a_circle)
    assert "ValueError: first" in trace
    assert "ValueError: second" in trace


def test_a_very_deep_recursion_is_shown_in_short() -> None:
    trace = trace_of(for_ever)
    assert trace.count("return for_ever()") < 10
    assert "RecursionError" in trace


def test_frames_of_other_packages_below_the_tool_are_kept() -> None:
    trace = trace_of(in_pydantic)
    assert frames(trace)[0] == "in_pydantic"
    assert "model_validate" in frames(trace)
    assert 'File "pydantic/main.py"' in trace


@pytest.mark.parametrize(
    "function",
    [
        divide,
        with_a_cause,
        while_another,
        for_no_reason,
        in_a_group,
        in_a_circle,
        for_ever,
        in_pydantic,
    ],
)
def test_no_path_of_this_machine_is_in_it(function: Callable[[], Any]) -> None:
    trace = trace_of(function)
    purelib = sysconfig.get_path("purelib")
    for path in (
        purelib,
        sysconfig.get_path("stdlib"),
        str(Path.cwd()),
        str(Path.home()),
    ):
        assert path not in trace
    named = [line for line in trace.splitlines() if 'File "' in line]
    assert named
    assert not [line for line in named if 'File "/' in line]


def test_a_file_outside_all_packages_is_named_without_its_folder(
    tmp_path: Path,
) -> None:
    file = tmp_path / "their_tool.py"
    file.write_text("def fail():\n    raise ValueError('bad')\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)  # noqa: S102 - a cell does
    trace = tool_traceback(raised_by(names["fail"]), nobody)
    assert 'File "their_tool.py", line 2, in fail' in trace
    assert str(tmp_path) not in trace


def test_a_file_that_cannot_be_parsed_is_named_without_its_folder(
    tmp_path: Path,
) -> None:
    file = tmp_path / "broken.py"
    error = raised_by(lambda: compile("a b", str(file), "exec"))
    trace = tool_traceback(error, nobody)
    assert 'File "broken.py", line 1' in trace
    assert str(tmp_path) not in trace


def test_a_cell_is_called_by_its_number() -> None:
    names: dict[str, Any] = {}
    source = "def fail():\n    raise ValueError('bad')\n"
    exec(compile(source, "/tmp/ipykernel_1/123.py", "exec"), names)  # noqa: S102, S108
    trace = tool_traceback(
        raised_by(names["fail"]), lambda name: "In[3]" if "123" in name else None
    )
    assert 'File "In[3]", line 2, in fail' in trace


def test_a_tool_that_deletes_the_folder_it_is_in_still_has_a_traceback(
    tmp_path: Path,
) -> None:
    home = Path.cwd()
    gone = tmp_path / "gone"
    gone.mkdir()
    error = raised_by(divide)
    os.chdir(gone)
    try:
        gone.rmdir()
        assert "ZeroDivisionError" in tool_traceback(error, nobody)
    finally:
        os.chdir(home)


def test_notes_on_an_error_are_shown() -> None:
    error = raised_by(divide)
    error.add_note("Ask for another number.")
    assert tool_traceback(error, nobody).endswith("Ask for another number.")


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (plan, "plan(city, days=3)"),
        (5, "plan(...)"),
    ],
)
def test_how_a_tool_is_declared_is_one_line(function: Any, line: str) -> None:
    assert signature_line(function, "plan") == line
