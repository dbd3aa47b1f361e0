"""Toolsets answer their calls without a gate; what is around them is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from anthropic.lib.tools import BetaRunnableToolset, ToolError

from nbrunner import Run
from nbrunner.replay import use
from tests.loop.steering import assert_the_api_takes_all
from tests.loop.test_oracle import differences, sdk_alone, watched
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Mapping

ADD = use("add", a=1, b=2)


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
@pytest.mark.parametrize("then", [None, ToolError("no page"), ValueError("x")])
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
