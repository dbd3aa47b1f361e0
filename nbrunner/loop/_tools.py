"""The gate: each tool is wrapped, so that a call is seen, runs once, and is told.

A gate has the definition of the tool it wraps, so nothing changes on the wire. It
raises the SDK's own `ToolError` with the text that the SDK would have sent: then the
SDK logs no second traceback, and the person's traceback goes into the event instead.
"""

from __future__ import annotations

import contextlib
import copy
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import anyio
from anthropic.lib.tools import BetaBuiltinFunctionTool, ToolError

from nbrunner.core.approval import rejection
from nbrunner.core.blocks import well_formed
from nbrunner.core.closing import INTERRUPTED, NOT_RUN
from nbrunner.core.commands import Answer, Approve, Reject
from nbrunner.core.events import (
    CallDisplayed,
    CallFinished,
    CallPrinted,
    CallStarted,
    Event,
)
from nbrunner.errors import close_matches
from nbrunner.loop._kinds import (
    awaitable,
    check_is_no_toolset,
    checked_tool,
    is_awaited,
    is_function_tool,
    is_toolset,
    kind_of,
    name_of,
)
from nbrunner.loop._sdk import plain
from nbrunner.loop._toolsets import ToolsetGate
from nbrunner.loop.exits import Left, NotBegun
from nbrunner.loop.failed_calls import FailedCalls, log_failure
from nbrunner.loop.invalid_input import (
    rejected_input,
    validation_sentence,
    validation_trace,
)
from nbrunner.loop.prints import caught_prints
from nbrunner.loop.results import (
    content_of_error,
    content_of_return,
    sdk_content_of_return,
    shown,
)
from nbrunner.loop.tracebacks import FrameName, tool_traceback

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbrunner.core.blocks import Block
    from nbrunner.core.commands import Decision
    from nbrunner.core.tool_call import Display, Outcome
    from nbrunner.loop.displays import Catcher
    from nbrunner.loop.places import Place, Places
    from nbrunner.loop.side_by_side import SideBySide

SDK_ERROR_LIMIT = 4096
"""How much of `repr(error)` the SDK sends (tests/loop/test_sdk_contract.py)."""


class Desk(Protocol):
    """What a gate needs to know of the run whose call it handles."""

    iteration: int
    sdk_texts: bool
    frame_name: FrameName
    caught_displays: Catcher
    places: Places
    ahead: SideBySide
    failed_calls: FailedCalls

    def write(self, event: Event) -> object: ...

    def call_id(self, call_input: object) -> str: ...

    def decision(self, call_id: str) -> Decision | None: ...

    def must_stop(self) -> bool: ...

    def stop_now(self, because: BaseException | None = None) -> None: ...


class Result(NamedTuple):
    """What came of a call: `CallFinished` without its place and time."""

    outcome: Outcome
    content: Any
    traceback: str | None = None
    remark: str | None = None


class Gate(BetaBuiltinFunctionTool):
    """A tool as the runner sees it: announces, runs once, reports."""

    def __init__(self, tool: Any, desk: Desk) -> None:
        self.tool = tool
        self._desk = desk
        self._kind = kind_of(tool)
        # A toolset's results are the SDK's own, and so is its way to send them.
        self._sdk_texts = desk.sdk_texts or hasattr(tool, "family")

    def to_dict(self) -> Any:
        return self.tool.to_dict()

    def call(self, input: object) -> Any:  # noqa: A002 - the SDK names it so
        """Give the result of the call that this input belongs to."""
        call_id, ahead = self._desk.call_id(input), self._desk.ahead
        begun = call_id in ahead
        answer = ahead.result(call_id) if begun else self.answer(call_id, input)
        result, is_error = answer
        if is_error:
            raise ToolError(result.content)
        return result.content

    def answer(self, call_id: str, input: object) -> tuple[Result, bool]:  # noqa: A002 - as above
        """Run the tool for a call; also whether Claude is told of an error."""
        desk = self._desk
        elapsed_s: float | None = None
        place: dict[str, Any] = {"iteration": desk.iteration, "call_id": call_id}
        decision = desk.decision(call_id)
        if isinstance(decision, Reject):
            result = Result("rejected", well_formed(rejection(decision.reason)))
        elif isinstance(decision, Answer):
            result = Result("answered", decision.content)
        elif desk.must_stop():
            result = Result("interrupted", NOT_RUN)
        else:
            if isinstance(decision, Approve) and decision.is_modified:
                input = decision.input  # noqa: A001 - the SDK names it so
            desk.write(CallStarted(**place, executed_input=plain(input)))
            started = time.perf_counter()
            result = self._result_of(input, place)
            elapsed_s = time.perf_counter() - started
        desk.write(CallFinished(**place, **result._asdict(), elapsed_s=elapsed_s))
        is_error = isinstance(decision, Answer) and decision.is_error
        return result, is_error or result.outcome not in ("ok", "answered")

    def _result_of(self, call_input: object, place: dict[str, Any]) -> Result:
        """Run the tool; whatever it does becomes a result."""

        def printed(text: str) -> None:
            with contextlib.suppress(Left):  # printed by a tool that was left behind
                self._desk.write(CallPrinted(**place, text=well_formed(text)))

        def displayed(display: Display, clears: bool) -> None:  # noqa: FBT001
            event = CallDisplayed(**place, display=display, clears=clears)
            with contextlib.suppress(Left):
                self._desk.write(event)

        try:
            with caught_prints(printed), self._desk.caught_displays(displayed):
                content, remark = self._made(call_input)
        except Exception as error:  # noqa: BLE001 - told to Claude and to the person
            self._report(place["call_id"], error)
            return self._failed(error)
        except NotBegun:
            return Result("interrupted", NOT_RUN)
        except BaseException as error:  # noqa: BLE001 - the same
            self._report(place["call_id"], error)
            # Past the SDK's own `except Exception` it would end the loop with the
            # call unanswered, and no later request would be accepted.
            self._desk.stop_now(error)
            return self._interrupted(error)
        return Result("ok", content, remark=remark)

    def _made(self, call_input: object) -> tuple[Any, str | None]:
        """Make the call, in the place of the tool."""

        def called() -> tuple[Any, str | None]:
            # A generator that the tool returns is read there too.
            return self._content_of(self.tool.call(call_input))

        async def awaited() -> tuple[Any, str | None]:
            if not is_awaited(self.tool):
                # The SDK's plain MCP tools call their session from such a thread.
                return await anyio.to_thread.run_sync(called, abandon_on_cancel=True)
            return self._content_of(await awaitable(self.tool).call(call_input))

        work = called if self._kind == "plain" else awaited
        made: tuple[Any, str | None] = self._place.run(work, self._desk.must_stop)
        return made

    @property
    def begins_ahead(self) -> bool:
        """Whether its calls can be made beside others, and not in this thread only."""
        return not self._place.is_here

    @property
    def _place(self) -> Place:
        named = getattr(self.tool, "family", self.name)
        return self._desk.places.of(named, self._kind)

    def _content_of(self, value: Any) -> tuple[Any, str | None]:
        if self._sdk_texts:
            return sdk_content_of_return(value, self.name)
        return content_of_return(value, self.name)

    def _content_of_error(self, error: ToolError) -> tuple[Any, str | None]:
        if self._sdk_texts:
            return sdk_content_of_return(error.content, self.name)
        return content_of_error(error.content, self.name)

    def _report(self, call_id: str, error: BaseException) -> None:
        self._desk.failed_calls.note(call_id, error)
        is_answer = isinstance(error, ToolError)
        log_failure(self.name, call_id, error, is_answer=is_answer)

    def _failed(self, error: Exception) -> Result:
        if (invalid := rejected_input(error)) is not None:
            trace = validation_trace(invalid, self.tool)
            if not self._sdk_texts:
                sentence = validation_sentence(invalid, self.name)
                why = "the SDK would say only that the arguments are invalid"
                return Result("invalid", well_formed(sentence), trace, why)
            return Result("invalid", _sdk_error_text(error), trace)
        if isinstance(error, ToolError):
            content, remark = self._content_of_error(error)
            return Result("error", content, self._traceback(error), remark)
        remark = self._place.advice(error, self.name)
        return Result("error", _sdk_error_text(error), self._traceback(error), remark)

    def _interrupted(self, error: BaseException) -> Result:
        why = INTERRUPTED
        if not isinstance(error, KeyboardInterrupt):
            why = f"{_sdk_error_text(error)} ended this call, and its result is lost."
        return Result("interrupted", why, self._traceback(error))

    def _traceback(self, error: BaseException) -> str:
        return well_formed(tool_traceback(error, self._desk.frame_name))


def _sdk_error_text(error: BaseException) -> str:
    return well_formed(shown(error))[:SDK_ERROR_LIMIT]


class MissingTool(Gate):
    """Answers a call of a name that no tool has, and names those that it may mean."""

    def __init__(
        self, name: str, tools: ToolBox, desk: Desk, sent: Iterable[Block]
    ) -> None:
        super().__init__(None, desk)
        self._name, self._tools, self._sent = name, tools, tuple(sent)

    @property
    def name(self) -> str:
        return self._name

    @property
    def begins_ahead(self) -> bool:
        """There is nothing to make."""
        return False

    def to_dict(self) -> Any:
        return {"name": self._name, "input_schema": {"type": "object"}}

    def call(self, input: object) -> Any:  # noqa: A002 - the SDK names it so
        """Refuse the call."""
        desk = self._desk
        sentence = well_formed(self._sentence())
        desk.write(
            CallFinished(
                iteration=desk.iteration,
                call_id=desk.call_id(input),
                outcome="unknown",
                content=sentence,
            )
        )
        raise ToolError(sentence)

    def _sentence(self) -> str:
        if self._desk.sdk_texts:
            return f"Error: Tool '{self._name}' not found"
        names = sorted(self._tools.names_in(self._sent))
        at_hand = f"Available tools: {', '.join(names) or 'none'}."
        if any(tool.get("name") == self._name for tool in self._sent):
            return f"{self._name!r} is declared, but nothing runs it here. {at_hand}"
        near = close_matches(self._name, names)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        return f"There is no tool {self._name!r}.{hint} {at_hand}"


class ToolBox:
    """The tools that a run can run, whatever of them a request offers.

    Raises:
        NotATool: Something in `tools` is neither a tool object nor a definition.
    """

    def __init__(self, tools: Iterable[Any]) -> None:
        self._tools: dict[str, Any] = {}
        self.definitions = self.learn(tools)
        """The definitions of the tools that the run began with, in the order given."""

    def learn(self, tools: Iterable[Any]) -> tuple[Block, ...]:
        """Keep tool objects, so that they run; returns their definitions.

        A tool takes the place of the one that had its name.
        """
        checked = [checked_tool(tool) for tool in tools]
        self._tools |= {name_of(t): t for t in checked if not isinstance(t, dict)}
        return tuple(plain(t if isinstance(t, dict) else t.to_dict()) for t in checked)

    def copy(self) -> ToolBox:
        """A box with the same tools; what it learns, this one does not."""
        box = copy.copy(self)
        box._tools = dict(self._tools)  # noqa: SLF001 - its own class
        return box

    @property
    def callable_here(self) -> list[Block]:
        """The definitions of the tools that plain code can call: no coroutine's."""
        tools = self._tools.values()
        callables = [t for t in tools if is_function_tool(t) and not is_awaited(t)]
        return [plain(tool.to_dict()) for tool in callables]

    def names_in(self, sent: Iterable[Block]) -> set[str]:
        """The names among those definitions of the tools that run here."""
        return {t.name for t in self._offered(sent) if is_function_tool(t)}

    def answered_in(self, sent: Iterable[Block]) -> set[str]:
        """The names among those definitions that are answered here, toolsets too."""
        return {name_of(tool) for tool in self._offered(sent)}

    def learn_added(self, tools: Iterable[Any]) -> tuple[Block, ...]:
        """Keep tools that are added to a run; returns their definitions.

        Raises:
            UsageError: One is a toolset: those of a run are fixed.
        """
        given = list(tools)
        for tool in given:
            check_is_no_toolset(tool)
        definitions = self.learn(given)
        for tool in given:
            if isinstance(tool, dict):
                # As the SDK does: nothing runs for a raw definition.
                self._tools.pop(str(tool.get("name")), None)
        return definitions

    def answering(self, name: str, desk: Desk, sent: Iterable[Block]) -> Any:
        """The gate that answers calls of a name; None where a toolset does."""
        named = {name_of(tool): tool for tool in self._offered(sent)}
        tool = named.get(name)
        if tool is None:
            return MissingTool(name, self, desk, sent)
        return None if is_toolset(tool) else Gate(tool, desk)

    def gated(self, desk: Desk, sent: Iterable[Block]) -> list[Any]:
        """The tools to run for a request that offers those, each behind its gate."""

        def gate(tool: Any) -> Any:
            if is_toolset(tool):
                return ToolsetGate(tool, lambda member: Gate(member, desk).call)
            return Gate(tool, desk)

        return [gate(tool) for tool in self._offered(sent)]

    def _offered(self, sent: Iterable[Block]) -> list[Any]:
        definitions = list(sent)
        names = {definition.get("name") for definition in definitions}
        return [
            tool
            for name, tool in self._tools.items()
            if (
                name in names
                if is_function_tool(tool)
                else plain(tool.to_dict()) in definitions
            )
        ]
