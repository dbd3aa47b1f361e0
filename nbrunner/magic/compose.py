"""A line and the notebook's variables, composed into a run."""

from __future__ import annotations

import builtins
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nbrunner import replay
from nbrunner.core.apply import apply
from nbrunner.core.edits import ToggleCache
from nbrunner.errors import UnknownApprover, UnknownName, UnknownTool, UsageError
from nbrunner.loop.approval import approve_all, ask, reject_all
from nbrunner.magic.going_on import went_on
from nbrunner.magic.line import USAGE, Line
from nbrunner.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUN_NAME = "_run"
"""The variable that always holds the last run."""


def compose(
    line: Line, body: str, variables: Mapping[str, Any], **defaults: Any
) -> Run:
    """The run that a cell asks for; nothing is sent yet.

    Args:
        line: The parsed line.
        body: The message to Claude, taken as it is.
        variables: The notebook's variables.
        **defaults: What `Run` gets where the line says nothing.

    Raises:
        UsageError: A name is unknown, a value cannot be used, the body is empty.
    """
    if not body.strip():
        raise UsageError(f"The cell has no message below its first line.\n\n{USAGE}")
    if hasattr(builtins, line.name or ""):
        raise UsageError(f"%%toolrun {line.name}: that name is Python's own.")
    if line.name in tool_names(variables):
        raise UsageError(
            f"%%toolrun {line.name}: {line.name} is a tool, and the run would take its "
            f"name. Did you mean --tools {line.name}?"
        )
    if line.continues or line.fork:
        return _went_on(line, body, variables)
    options = {
        "model": line.model,
        "max_tokens": line.max_tokens,
        "max_iterations": line.max_iterations,
        "system": _system(line, variables),
        "approver": _approver(line, variables),
        "run_tools_eagerly": line.eager or None,
        "parallel_calls": line.parallel or None,
    }
    given = {key: value for key, value in options.items() if value is not None}
    run = Run(
        **{**defaults, **_params(line, variables), **given},
        name=line.name or RUN_NAME,
        client=_client(line, variables),
        tools=[tool for name in line.tools for tool in _tool(name, variables)],
        main_thread=_main_thread(line, variables),
        messages=body.removesuffix("\n"),
    )
    _mark(run, line.cache)
    return run


def _went_on(line: Line, body: str, variables: Mapping[str, Any]) -> Run:
    given = {
        "model": line.model,
        "max_tokens": line.max_tokens,
        "params": _params(line, variables),
        "system": _system(line, variables),
        "tools": [tool for name in line.tools for tool in _tool(name, variables)],
        "client": _client(line, variables),
    }
    changed = {key: value for key, value in given.items() if value is not None}
    run = went_on(line, variables, changed)
    _mark(run, line.cache)
    run.inject(body.removesuffix("\n"))
    return run


def _mark(run: Run, places: Sequence[str]) -> None:
    """Ask for cache marks, which the loop sets before its first request.

    Raises:
        EditRefused: One cannot be set: told now, since the loop would only show it.
    """
    request = run.transcript.next_request()
    for place in places:
        edit = ToggleCache(place)
        request = apply(request, edit, by="code")
        run.submit(edit)


def _tool(name: str, variables: Mapping[str, Any]) -> list[Any]:
    """The tool of that name; a list of tools counts as all of them."""
    if name not in variables:
        raise UnknownName("--tools", name, tool_names(variables))
    value = variables[name]
    return list(value) if isinstance(value, list | tuple) else [value]


def _main_thread(line: Line, variables: Mapping[str, Any]) -> list[str]:
    """The names of the tools to run on the main thread.

    On the line a tool goes by its variable; what Claude calls it counts too.
    """
    tools = {name: _tool(name, variables) for name in line.tools}
    own_names = {tool.name for many in tools.values() for tool in many if _runs(tool)}
    names = []
    for name in line.main_thread:
        if name in tools:
            names += [tool.name for tool in tools[name] if _runs(tool)]
        elif name in own_names:
            names.append(name)
        else:
            raise UnknownTool("--main-thread", name, {*tools, *own_names})
    return names


def _runs(tool: Any) -> bool:
    return hasattr(tool, "call") and isinstance(getattr(tool, "name", None), str)


def tool_names(variables: Mapping[str, Any]) -> list[str]:
    """The variables that hold a tool object."""
    return [
        name
        for name, value in variables.items()
        if not name.startswith("_")
        and hasattr(value, "to_dict")
        and hasattr(value, "call")
        and not isinstance(value, type)
    ]


def _variable(option: str, name: str, variables: Mapping[str, Any], kind: type) -> Any:
    if name not in variables:
        of_kind = [
            key
            for key, value in variables.items()
            if isinstance(value, kind) and not key.startswith("_") and key != "Out"
        ]
        raise UnknownName(option, name, of_kind)
    return variables[name]


def _system(line: Line, variables: Mapping[str, Any]) -> Any:
    if line.system is None:
        return line.system_text
    value = _variable("--system", line.system, variables, str)
    if not isinstance(value, str | list):
        raise UsageError(
            f"--system {line.system}: that variable holds a {type(value).__name__}. "
            "A system prompt is a str or a list of text blocks."
        )
    return value


def _params(line: Line, variables: Mapping[str, Any]) -> dict[str, Any]:
    if line.params is None:
        return {}
    value = _variable("--params", line.params, variables, dict)
    if not isinstance(value, dict):
        raise UsageError(
            f"--params {line.params}: that variable holds a {type(value).__name__}. "
            "It has to be a dict of the API's parameters, by name."
        )
    if taken := sorted({"tools", "messages", "client", "name"} & value.keys()):
        raise UsageError(
            f"--params {line.params}: it holds {', '.join(taken)}, which the line and "
            "the cell give. Leave it out there."
        )
    return value


_APPROVERS = {"all": approve_all, "ask": ask, "none": reject_all}


def _approver(line: Line, variables: Mapping[str, Any]) -> Any:
    if line.approve is None:
        return None
    if line.approve in _APPROVERS:
        return _APPROVERS[line.approve]
    if line.approve not in variables:
        raise UnknownApprover(line.approve, [*_APPROVERS, *_approvers_in(variables)])
    approver = variables[line.approve]
    if not callable(approver) or hasattr(approver, "to_dict"):
        raise UsageError(
            f"--approve {line.approve}: that variable holds a "
            f"{type(approver).__name__}. It has to be an approver: "
            f"{line.approve} = by_tool({{'get_*': approve_all, '*': ask}})."
        )
    return approver


def _approvers_in(variables: Mapping[str, Any]) -> list[str]:
    """The functions of the notebook's own that may be approvers."""
    return [
        name
        for name, value in variables.items()
        if isinstance(value, FunctionType) and not name.startswith("_")
    ]


def _client(line: Line, variables: Mapping[str, Any]) -> Any:
    if line.client is not None:
        if line.client not in variables:
            at_hand = [name for name, value in variables.items() if _answers(value)]
            raise UnknownName("--client", line.client, at_hand)
        return variables[line.client]
    if line.cassette is not None:
        mode: Any = line.record or "none"  # an unknown one is refused by record()
        return replay.record(line.cassette, mode=mode)
    return None


def _answers(value: Any) -> bool:
    """Whether a variable may hold a client, or replies to play."""
    is_client = hasattr(value, "beta") or hasattr(value, "handle_request")
    is_client = is_client or isinstance(value, replay.Cassette)
    return is_client and not isinstance(value, type)
