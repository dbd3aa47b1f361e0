"""Toolsets: each call of a member goes through a gate, and is sent as ever."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from anthropic.lib.tools import (
    BetaAsyncRunnableToolset,
    BetaRunnableToolset,
    ToolError,
)
from anthropic.tools import BetaAbstractComputerToolset20260801, ToolsetClosedError

from nbrunner import Run
from nbrunner.core.closing import NOT_RUN
from nbrunner.replay import use
from tests.loop.steering import Followed, assert_the_api_takes_all
from tests.loop.test_oracle import differences, sdk_alone, watched
from tests.loop.toolkit import IMAGE, counted_tools
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ADD = use("add", a=1, b=2)
LOOK = {"type": "text", "text": "look:"}
THEN = [None, *map(ToolError, ["no page", "", [LOOK, IMAGE]]), ValueError("x")]


class Browser(BetaRunnableToolset):
    """A browser that shows nothing."""

    toolset_name = "browser"

    def __init__(self, then: BaseException | None = None) -> None:
        self.calls: list[str] = []
        self._then = then

    def to_dict(self) -> Any:
        return {"type": "browser_toolset_20260801"}

    def call(self, context: Any, name: str, input: Mapping[str, object]) -> Any:  # noqa: A002, ARG002 - the SDK names them so
        self.calls.append(name)
        if self._then is not None:
            raise self._then
        return [{"type": "text", "text": f"{name} done"}]


def member(name: str) -> dict[str, Any]:
    return {**use(name), "toolset_name": "browser"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("then", THEN)
def test_a_toolset_answers_as_it_does_for_the_sdk_alone(
    *, stream: bool, then: Exception | None
) -> None:
    replies = ([member("navigate"), ADD, member("screenshot")], "Seen.")
    theirs = sdk_alone(replies, {"tools": [Browser(then)]}, stream=stream)
    ours = watched(replies, {"tools": [Browser(then)]}, stream=stream)
    assert differences(ours.bodies, theirs.bodies) == []


def test_the_results_of_a_toolset_are_in_the_transcript() -> None:
    wire = Wire([member("navigate"), ADD], "Seen.")
    run = Run(client=wire.client, tools=[Browser(), *counted_tools([])], messages="?")
    run.wait(20)
    call, add = run.transcript.iterations[0].tool_calls
    assert call.status == "ok"
    assert call.result == [{"type": "text", "text": "navigate done"}]
    assert add.result == "3"


def test_a_call_named_like_its_toolset_is_answered_by_the_sdk() -> None:
    replies = ([use("browser", actions=[])], "Seen.")
    theirs = sdk_alone(replies, {"tools": [Browser()]}, stream=False)
    ours = watched(replies, {"tools": [Browser()]}, stream=False)
    assert differences(ours.bodies, theirs.bodies) == []


def test_a_toolset_that_is_interrupted_ends_the_run_validly() -> None:
    browser = Browser(KeyboardInterrupt())
    wire = Wire([ADD, member("navigate"), member("screenshot")], "Going on.")
    run = Run(client=wire.client, tools=[browser, *counted_tools([])], messages="?")
    run.wait(20)
    assert run.stopped_by == "person"
    assert browser.calls == ["navigate"]
    run.start().wait(20)
    assert run.text == "Going on."
    blocks = wire.bodies[1]["messages"][-1]["content"]
    assert [block.get("toolset_name") for block in blocks] == [
        None,
        "browser",
        "browser",
    ]
    assert [block.get("is_error", False) for block in blocks] == [False, True, True]
    assert browser.calls == ["navigate"]
    assert_the_api_takes_all(wire)


class Told(Browser):
    """A browser that prints, and does what it is told."""

    def __init__(self, action: Callable[[str], Any]) -> None:
        super().__init__()
        self._action = action

    def call(self, context: Any, name: str, input: Mapping[str, object]) -> Any:  # noqa: A002, ARG002 - the SDK names them so
        self.calls.append(name)
        print("at", name)  # noqa: T201 - a tool may
        return self._action(name)


class AsyncBrowser(BetaAsyncRunnableToolset):
    """A browser for asyncio."""

    toolset_name = "browser"

    def to_dict(self) -> Any:
        return {"type": "browser_toolset_20260801"}

    async def call(self, context: Any, name: str, input: Mapping[str, object]) -> Any:  # noqa: A002, ARG002 - the SDK names them so
        await asyncio.sleep(0)
        return [{"type": "text", "text": f"{name} done"}]


def browsing(browser: Any, *replies: Any, **options: Any) -> Run:
    wire = Wire(*(replies or ([member("navigate"), member("screenshot")], "Seen.")))
    return Run(client=wire.client, tools=[browser], messages="?", **options)


def calls_of(run: Run) -> Any:
    return run.transcript.iterations[0].tool_calls


def test_a_member_s_call_is_seen_as_it_begins_prints_and_ends() -> None:
    run = browsing(Told(lambda name: f"{name} done"))
    followed = Followed(run)
    run.wait(20)
    first, second = calls_of(run)
    assert (first.stdout, second.stdout) == ("at navigate\n", "at screenshot\n")
    assert first.elapsed_s is not None
    kinds = [event.kind for event in followed.events if "call_id" in event.__dict__]
    assert kinds == ["call_started", "call_printed", "call_finished"] * 2


def test_a_member_s_error_is_told_with_its_traceback_and_ends_the_sequence() -> None:
    def fails(_: str) -> None:
        message = "no page"
        raise ValueError(message)

    run = browsing(Told(fails))
    run.wait(20)
    first, second = calls_of(run)
    assert first.result == "ValueError('no page')"
    assert "in fails" in first.traceback
    assert "lib/tools" not in first.traceback
    assert second.result == "Not executed: an earlier action in this turn failed."


def test_a_stop_within_a_reply_leaves_out_the_members_that_follow() -> None:
    browser = Told(lambda _: run.stop())
    run = browsing(browser)
    run.wait(20)
    assert run.stopped_by == "person"
    assert browser.calls == ["navigate"]
    assert calls_of(run)[1].result == NOT_RUN


def test_a_toolset_s_own_confirm_is_asked_as_ever() -> None:
    asked: list[str] = []

    class Screen(BetaAbstractComputerToolset20260801):
        def left_click(self, context: Any, input: Any) -> None:  # noqa: A002, ARG002 - the SDK names them so
            clicks.append(input.coordinate)

    def confirm(context: Any) -> bool:
        asked.append(context.member)
        return len(asked) == 1

    clicks: list[Any] = []
    click = {**use("left_click", coordinate=[1, 2]), "toolset_name": "computer"}
    replies = ([click, click], "Clicked.")
    theirs = sdk_alone(replies, {"tools": [Screen(confirm=confirm)]}, stream=False)
    asked.clear()
    ours = watched(replies, {"tools": [Screen(confirm=confirm)]}, stream=False)
    assert asked == ["left_click", "left_click"]
    assert len(clicks) == 2
    assert differences(ours.bodies, theirs.bodies) == []
    results = ours.bodies[1]["messages"][-1]["content"]
    assert [result.get("is_error", False) for result in results] == [False, True]


def test_a_toolset_that_was_closed_ends_the_run_as_it_does_for_the_sdk() -> None:
    class Closed(Browser):
        def call(self, context: Any, name: str, input: Mapping[str, object]) -> Any:  # noqa: A002, ARG002 - the SDK names them so
            message = "this 'browser' toolset is closed"
            raise ToolsetClosedError(message)

    run = browsing(Closed())
    with pytest.raises(ToolsetClosedError):
        run.wait(20)
    assert run.stopped_by == "error"
    assert "closed" in calls_of(run)[0].traceback


def test_a_toolset_for_asyncio_is_awaited() -> None:
    async def cell(run: Run) -> None:
        await run

    for finish in (lambda run: run.wait(20), lambda run: asyncio.run(cell(run))):
        run = browsing(AsyncBrowser())
        finish(run)
        assert calls_of(run)[0].result == [{"type": "text", "text": "navigate done"}]


def test_a_toolset_can_be_on_the_main_thread() -> None:
    run = browsing(
        Told(lambda _: threading.current_thread().name), main_thread="browser"
    )
    run.wait(20)
    assert [call.result for call in calls_of(run)] == ["MainThread"] * 2
