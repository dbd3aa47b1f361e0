"""The gate: each tool is wrapped, so that a call is seen, runs once, and is told.

A gate has the definition of the tool it wraps, so nothing changes on the wire. It
raises the SDK's own `ToolError` with the text that the SDK would have sent: then the
SDK logs no second traceback, and the person's traceback goes into the event instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

import pydantic
from anthropic.lib.tools import (
    BetaAsyncBuiltinFunctionTool,
    BetaAsyncFunctionTool,
    BetaBuiltinFunctionTool,
    BetaFunctionTool,
    BetaRunnableToolset,
    ToolError,
)

from nbrunner.core.closing import INTERRUPTED, NOT_RUN
from nbrunner.core.events import CallFinished, CallPrinted, CallStarted, Event, Outcome
from nbrunner.errors import NotATool, close_matches
from nbrunner.loop.exits import Left
from nbrunner.loop.prints import caught_prints
from nbrunner.loop.results import content_of_return
from nbrunner.loop.tracebacks import FrameName, signature_line, tool_traceback

if TYPE_CHECKING:
    from nbrunner.core.blocks import Block

SDK_ERROR_LIMIT = 4096
"""How much of `repr(error)` the SDK sends (tests/loop/test_sdk_contract.py)."""


class Desk(Protocol):
    """What a gate needs to know of the run whose call it handles."""

    iteration: int
    sdk_texts: bool
    frame_name: FrameName

    def write(self, event: Event) -> object: ...

    def call_id(self, call_input: object) -> str: ...

    def must_stop(self) -> bool: ...

    def stop_now(self) -> None: ...


class Gate(BetaBuiltinFunctionTool):
    """A tool as the runner sees it: announces, runs once, reports."""

    def __init__(self, tool: Any, desk: Desk) -> None:
        self.tool = tool
        self._desk = desk

    def to_dict(self) -> Any:
        return self.tool.to_dict()

    def call(self, input: object) -> Any:  # noqa: A002 - the SDK names it so
        """Run the tool for the call that this input belongs to."""
        desk = self._desk
        call_id = desk.call_id(input)
        if desk.must_stop():
            raise self._finished(call_id, "interrupted", NOT_RUN)
        desk.write(
            CallStarted(iteration=desk.iteration, call_id=call_id, executed_input=input)
        )
        started = time.perf_counter()
        try:
            with caught_prints(lambda text: self._printed(call_id, text)):
                content, remark = self._content_of(self.tool.call(input))
        except Left:
            raise
        except BaseException as error:
            if not isinstance(error, Exception):
                # Past the SDK's own `except Exception` it would end the loop with
                # the call unanswered, and no later request would be accepted.
                desk.stop_now()
            elapsed_s = time.perf_counter() - started
            raise self._failed(call_id, error, elapsed_s) from error
        self._finished(
            call_id,
            "ok",
            content,
            elapsed_s=time.perf_counter() - started,
            remark=remark,
        )
        return content

    def _content_of(self, value: Any) -> tuple[Any, str | None]:
        if self._desk.sdk_texts:
            return value, None
        return content_of_return(value, self.name)

    def _failed(
        self, call_id: str, error: BaseException, elapsed_s: float
    ) -> ToolError:
        outcome: Outcome = "error"
        trace = tool_traceback(error, self._desk.frame_name)
        remark: str | None = None
        if isinstance(error, ToolError):
            content: Any = error.content
        elif not isinstance(error, Exception):
            outcome, content = "interrupted", INTERRUPTED
        else:
            content = repr(error)[:SDK_ERROR_LIMIT]
        invalid = _rejected_input(error)
        if invalid is not None:
            outcome, trace = "invalid", _validation_trace(invalid, self.tool)
            if not self._desk.sdk_texts:
                content = _validation_sentence(invalid, self.name)
                remark = "the SDK would say only that the arguments are invalid"
        return self._finished(
            call_id,
            outcome,
            content,
            traceback=trace,
            elapsed_s=elapsed_s,
            remark=remark,
        )

    def _printed(self, call_id: str, text: str) -> None:
        desk = self._desk
        desk.write(CallPrinted(iteration=desk.iteration, call_id=call_id, text=text))

    def _finished(
        self, call_id: str, outcome: Outcome, content: Any, **facts: Any
    ) -> ToolError:
        """Report the end of a call; returns the error that carries its content."""
        self._desk.write(
            CallFinished(
                iteration=self._desk.iteration,
                call_id=call_id,
                outcome=outcome,
                content=content,
                **facts,
            )
        )
        return ToolError(content if outcome != "ok" else "")


class MissingTool(Gate):
    """Answers a call of a name that no tool has, and names those that it may mean."""

    def __init__(self, name: str, known: Iterable[str], desk: Desk) -> None:
        super().__init__(None, desk)
        self._name, self._known = name, sorted(known)

    @property
    def name(self) -> str:
        return self._name

    def to_dict(self) -> Any:
        return {"name": self._name, "input_schema": {"type": "object"}}

    def call(self, input: object) -> Any:  # noqa: A002 - the SDK names it so
        """Refuse the call."""
        raise self._finished(self._desk.call_id(input), "unknown", self._sentence())

    def _sentence(self) -> str:
        if self._desk.sdk_texts:
            return f"Error: Tool '{self._name}' not found"
        near = close_matches(self._name, self._known)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        at_hand = ", ".join(self._known) or "none"
        return f"There is no tool {self._name!r}.{hint} Available tools: {at_hand}."


class ToolBox:
    """The tools of a run: what is sent of them, and what runs.

    Raises:
        NotATool: Something in `tools` is neither a tool object nor a definition.
    """

    def __init__(self, tools: Iterable[Any]) -> None:
        self._tools = [_checked(tool) for tool in tools]

    @property
    def definitions(self) -> tuple[Block, ...]:
        """The tool definitions, in the order given."""
        return tuple(
            dict(tool) if isinstance(tool, dict) else dict(tool.to_dict())
            for tool in self._tools
        )

    @property
    def names(self) -> list[str]:
        """The names of the tools that run here."""
        return [tool.name for tool in self._tools if _is_gated(tool)]

    def gated(self, desk: Desk) -> list[Any]:
        """The tools to run, each behind its gate; toolsets as they are."""
        runnable = [tool for tool in self._tools if not isinstance(tool, dict)]
        return [Gate(tool, desk) if _is_gated(tool) else tool for tool in runnable]


def _is_gated(tool: Any) -> bool:
    return isinstance(tool, BetaFunctionTool | BetaBuiltinFunctionTool)


def _checked(tool: Any) -> Any:
    if isinstance(tool, dict) or _is_gated(tool):
        return tool
    if isinstance(tool, BetaRunnableToolset):
        return tool
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None) or repr(tool)
    if isinstance(tool, BetaAsyncFunctionTool | BetaAsyncBuiltinFunctionTool):
        raise NotATool(str(name), "coroutine tool")
    is_function = isinstance(tool, Callable) and not isinstance(tool, type)  # type: ignore[arg-type]
    raise NotATool(str(name), "function" if is_function else type(tool).__name__)


def _rejected_input(error: BaseException) -> pydantic.ValidationError | None:
    """The validation error of a call whose input never reached the tool's body.

    The SDK turns every ValidationError into the same ValueError, one that the body
    itself raised included; that one has the body's frames in its traceback.
    """
    cause = error.__cause__
    if not isinstance(error, ValueError) or not isinstance(
        cause, pydantic.ValidationError
    ):
        return None
    if not str(error).startswith("Invalid arguments for function "):
        return None
    frame = cause.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = frame.tb_frame.f_globals.get("__name__", "") if frame else ""
    return cause if module.startswith(("pydantic.", "anthropic.")) else None


def _validation_sentence(error: pydantic.ValidationError, tool: str) -> str:
    """What Claude reads: each field, what is wrong with it, and what it was."""
    problems = [_field_problem(detail) for detail in error.errors(include_url=False)]
    return f"Invalid input for {tool}: {'; '.join(problems)}."


def _field_problem(detail: Any) -> str:
    field = ".".join(str(part) for part in detail["loc"]) or "input"
    if detail["type"] == "missing_argument":
        return f"`{field}` is required and is missing"
    if detail["type"] == "unexpected_keyword_argument":
        return f"`{field}` is not one of its parameters"
    message = detail["msg"].removeprefix("Input ")
    return f"`{field}` {message}, got {_shown(detail['input'])}"


def _shown(value: Any) -> str:
    return f'"{value}"'[:200] if isinstance(value, str) else f"{value!r:.200}"


def _validation_trace(error: pydantic.ValidationError, tool: Any) -> str:
    """What the person reads in place of frames that are all the SDK's."""
    lines = ["ValidationError: the input does not fit the tool's parameters"]
    for detail in error.errors(include_url=False):
        field = ".".join(str(part) for part in detail["loc"]) or "input"
        lines += [f"  {field}", f"    {detail['msg']}", f"    got {detail['input']!r}"]
    function = getattr(tool, "func", None)
    if function is not None:
        lines += ["", f"def {signature_line(function, tool.name)}"]
    return "\n".join(lines)
