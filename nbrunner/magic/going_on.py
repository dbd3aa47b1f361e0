"""A cell that goes on with a run, or goes another way from a place in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.core.edits import SetParams, SetSystem, SetTools
from nbrunner.core.request import NAMED_SETTINGS
from nbrunner.errors import UnknownName, UsageError
from nbrunner.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbrunner.core.edits import Edit
    from nbrunner.magic.line import Line

_OWN = (
    "main_thread",
    "max_iterations",
    "approve",
    "eager",
    "parallel",
    "hold",
    "break_on_error",
)
"""What a run is made with, and keeps."""


def went_on(
    line: Line, variables: Mapping[str, Any], changed: Mapping[str, Any]
) -> Run:
    """The run of a cell with `--continue` or `--fork`; its message is not in it yet.

    Args:
        line: The parsed line.
        variables: The notebook's variables.
        changed: What the line gives: `model`, `max_tokens`, `params`, `system`,
            `tools` and `client`.

    Raises:
        UsageError: There is no such run or place, or it cannot take an option.
    """
    option = "--continue" if line.continues else "--fork"
    name, at = _place(line)
    run = _run(option, name, variables)
    _check_options(option, line)
    edits = list(_edits(changed))
    client = changed.get("client")
    if run.is_answered_by(client):
        client = None
    if line.fork or line.name not in (None, name):
        to = line.name or _free_name(run, variables)
        run = run.fork(at, edits, name=to, client=client)
    else:
        if client is not None:
            raise UsageError(
                f"--continue {name}: it goes on with the client it has. A branch takes "
                f"another: %%toolrun {name}_2 --continue {name} --client ..."
            )
        if run.is_running:
            raise UsageError(
                f"--continue {name}: it is running. {name}.inject(...) sends it a "
                f"message; `await {name}` waits for its end."
            )
        for edit in edits:
            run.submit(edit)
    return run


def _place(line: Line) -> tuple[str, int | None]:
    if line.continues:
        return line.continues, None
    name, _, number = (line.fork or "").partition("@")
    if not number.removeprefix("-").isdecimal():
        raise UsageError(
            f"--fork {line.fork}: name a run and an iteration, counted from 0: "
            f"--fork {name}@1."
        )
    return name, int(number)


def _run(option: str, name: str, variables: Mapping[str, Any]) -> Run:
    run = variables.get(name)
    if not isinstance(run, Run):
        runs = [n for n, value in variables.items() if isinstance(value, Run)]
        raise UnknownName(option, name, [n for n in runs if not n.startswith("_")])
    return run


def _check_options(option: str, line: Line) -> None:
    for name in _OWN:
        if getattr(line, name):
            said = name.replace("_", "-")
            raise UsageError(
                f"--{said} is set where a run starts, not by {option}: leave it out, "
                "or start anew with --new."
            )


def _edits(changed: Mapping[str, Any]) -> list[Edit]:
    params = {k: changed[k] for k in NAMED_SETTINGS if k in changed}
    params |= changed.get("params", {})
    edits: list[Edit] = [SetParams(params)] if params else []
    if "system" in changed:
        edits.append(SetSystem(changed["system"]))
    if changed.get("tools"):
        edits.append(SetTools(changed["tools"]))
    return edits


def _free_name(run: Run, variables: Mapping[str, Any]) -> str:
    number = len(run.branches) + 1
    while f"{run.name}_{number}" in variables:
        number += 1
    return f"{run.name}_{number}"
