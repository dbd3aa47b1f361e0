"""What the SDK's tool objects are: which of them run here, and what they need to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anthropic import beta_async_tool
from anthropic.lib.tools import (
    BetaAsyncBuiltinFunctionTool,
    BetaAsyncFunctionTool,
    BetaAsyncRunnableToolset,
    BetaBuiltinFunctionTool,
    BetaFunctionTool,
    BetaRunnableToolset,
)

from nbrunner.errors import NotATool, UsageError

if TYPE_CHECKING:
    from nbrunner.loop.places import Kind

_FUNCTION_TOOLS = (
    BetaFunctionTool,
    BetaBuiltinFunctionTool,
    BetaAsyncFunctionTool,
    BetaAsyncBuiltinFunctionTool,
)


def is_function_tool(tool: Any) -> bool:
    """Whether a tool is called by its own name."""
    return isinstance(tool, _FUNCTION_TOOLS)


def is_toolset(tool: Any) -> bool:
    """Whether a tool is a family of tools, each called by its name and the family's."""
    return isinstance(tool, BetaRunnableToolset | BetaAsyncRunnableToolset)


def checked_tool(tool: Any) -> Any:
    """The tool, if it is one or a definition of one.

    Raises:
        NotATool: It is neither.
    """
    if isinstance(tool, dict) or is_function_tool(tool) or is_toolset(tool):
        return tool
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None) or repr(tool)
    if inspect.iscoroutinefunction(tool):
        raise NotATool(str(name), "coroutine function")
    is_function = isinstance(tool, Callable) and not isinstance(tool, type)  # type: ignore[arg-type]
    raise NotATool(str(name), "function" if is_function else type(tool).__name__)


def kind_of(tool: Any) -> Kind:
    """What a tool's function is: it decides where the tool can run."""
    # An MCP session answers on the loop that it was opened on, and on no other.
    function = getattr(tool, "func", None)
    if getattr(function, "__module__", None) == "anthropic.lib.tools.mcp":
        return "session"
    return "coroutine" if is_awaited(tool) else "plain"


def is_awaited(tool: Any) -> bool:
    """Whether what the tool's call returns has to be awaited."""
    is_coroutine = inspect.iscoroutinefunction(getattr(tool, "func", None))
    return is_coroutine or inspect.iscoroutinefunction(getattr(tool, "call", None))


def awaitable(tool: Any) -> Any:
    """A tool that can be awaited, of one whose function is a coroutine function."""
    if not isinstance(tool, BetaFunctionTool):
        return tool
    # The SDK fails each call of a coroutine function under @beta_tool.
    return beta_async_tool(
        tool.func,
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
    )


def check_is_no_toolset(tool: Any) -> None:
    """Refuse a toolset where tools are added or removed.

    Raises:
        UsageError: It is one.
    """
    if is_toolset(tool):
        raise UsageError(
            f"{tool.toolset_name} is a toolset, and those of a run are fixed. Fork the "
            "run with other tools: run.fork(edits=[SetTools([...])])."
        )


def name_of_tool(tool: Any) -> str:
    """The name of a tool, given as it or by its name.

    Raises:
        UsageError: It is a toolset.
    """
    check_is_no_toolset(tool)
    if isinstance(tool, str):
        return tool
    return str(tool["name"]) if isinstance(tool, dict) else name_of(tool)


def name_of(tool: Any) -> str:
    """The name that a tool object goes by."""
    return str(tool.toolset_name if is_toolset(tool) else tool.name)
