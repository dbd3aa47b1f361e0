"""`run.to_code()`: executed over the same replies, it sends what the run sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from anthropic import beta_tool

from nbrunner import (
    EditResult,
    Run,
    SetParams,
    SetSystem,
    SetTools,
    ToggleCache,
    ask,
    by_tool,
    reject_all,
    tool_runner,
)
from nbrunner.core.edits import ChangeTools, SetMessages
from nbrunner.replay import fail, reply, say, use
from tests.loop.test_oracle import COMPACTED, CONTAINER, FOUND, SEARCH, differences
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable

ADD = use("add", a=1, b=2)
LONG = 'He said: "it\'s\n\n%%bash\nrm" ' + "and so on, " * 30
both_ways = pytest.mark.parametrize("stream", [False, True])


def at(moments: dict[tuple[str, int], Callable[[Run], object]]) -> Any:
    """What does something at the first event of a kind in an iteration."""

    def follow(run: Run) -> None:
        left = dict(moments)

        def listener(event: Any, _: Any) -> None:
            moment = (event.kind, getattr(event, "iteration", -1))
            if (action := left.pop(moment, None)) is not None:
                action(run)

        run.subscribe(listener)

    return follow


def first(action: Callable[[Run], object], iteration: int = 0) -> Any:
    return at({("results_finished", iteration): action})


@beta_tool
def double(n: int) -> str:
    """Double a number."""
    return str(2 * n)


def answer_when_asked(run: Run) -> None:
    def listener(event: Any, _: Any) -> None:
        if event.kind != "call_asked":
            return
        match event.call_id:
            case "toolu_01":
                run.approve("toolu_01")
            case "toolu_02":
                run.approve("toolu_02", input={"a": 5, "b": 6})
            case "toolu_03":
                run.reject("toolu_03", "Not 'today'\n# please")
            case "toolu_04":
                run.answer("toolu_04", "by hand")

    run.subscribe(listener)


def go_on(run: Run) -> None:
    run.wait(20)
    run.inject("And again?")


def ended(run: Run) -> bool:
    return run.stopped_by is not None


Story = tuple[tuple[Any, ...], dict[str, Any], Any]
CALLS = ([say("I add."), ADD], [ADD], [use("fail", how="plainly")], "It is 3.")
STORIES: dict[str, Story] = {
    "no hands": (CALLS, {}, None),
    "one answer": (("It is 3.",), {}, None),
    "no tools": (("It is 3.",), {"tools": []}, None),
    "system and parameters": (
        CALLS,
        {
            "system": LONG,
            "thinking": {"type": "adaptive"},
            "betas": ["x-2026"],
            "metadata": {"user_id": "me"},
        },
        None,
    ),
    "marks from the start": (
        CALLS,
        {"system": "Be brief."},
        lambda run: [
            run.submit(ToggleCache("system", ttl="1h")),
            run.submit(ToggleCache("tools", ttl="1h")),
            run.submit(ToggleCache("results")),
        ],
    ),
    "a mark on the request": (
        CALLS,
        {},
        lambda run: run.submit(ToggleCache("request")),
    ),
    "a mark on a result, and off": (
        CALLS,
        {},
        at(
            {
                ("results_finished", 0): lambda run: run.submit(
                    ToggleCache("toolu_01", ttl="1h")
                ),
                ("results_finished", 2): lambda run: run.submit(
                    ToggleCache("toolu_01", ttl="1h")
                ),
            }
        ),
    ),
    "a mark on a message that is a text": (
        CALLS,
        {},
        first(lambda run: run.submit(ToggleCache("messages[0].content[0]"))),
    ),
    "results marked as many as fit": (
        ([ADD], [ADD], [ADD], [ADD], [ADD], [ADD], "3"),
        {},
        lambda run: run.submit(ToggleCache("results")),
    ),
    "a message": (CALLS, {}, first(lambda run: run.inject(LONG))),
    "two messages later": (
        CALLS,
        {},
        first(lambda run: [run.inject("One."), run.inject("Two.")], 1),
    ),
    "whole messages appended": (
        CALLS,
        {},
        first(lambda run: run.append_messages({"role": "user", "content": "Hm?"})),
    ),
    "an edited result": (
        CALLS,
        {},
        first(lambda run: run.submit(EditResult("toolu_01", "4", is_error=True))),
    ),
    "all calls rejected": (CALLS, {"approver": reject_all}, None),
    "calls decided one by one": (
        ([ADD, ADD, ADD, ADD], "Done."),
        {"approver": ask},
        answer_when_asked,
    ),
    "an input changed by the approver": (
        CALLS,
        {"approver": lambda call: call.approve(input={**call.input, "a": 7})},
        None,
    ),
    "some by rule": (
        ([ADD, use("echo", value="x")], [use("echo", value="y")], "Done."),
        {"approver": by_tool({"add": reject_all}, default="approve_all")}
        if False
        else {"approver": lambda call: call.reject("No.") if call.name == "add" else call.approve()},
        None,
    ),
    "calls that do not fit": (
        ([use("add", a="one", b=2), ADD], [use("ad", a=1)], "Oh."),
        {},
        None,
    ),
    "a value that the SDK would garble": (
        ([use("echo", value={"a": 1}), ADD], "Oh."),
        {},
        None,
    ),
    "an empty text": (([say(""), ADD, say("")], [say("So."), ADD], "3"), {}, None),
    "a reply dropped": (
        ([ADD], [ADD, say("Hm")], "Better.", "Done."),
        {},
        at({("reply_finished", 1): lambda run: run.retry()}),
    ),
    "a reply dropped, and asked otherwise": (
        ([ADD], "Hm.", "Better."),
        {},
        at(
            {
                ("reply_finished", 1): lambda run: [
                    run.submit(SetSystem("Be kind.")),
                    run.retry(),
                ]
            }
        ),
    ),
    "parameters": (
        CALLS,
        {"thinking": {"type": "adaptive"}},
        at(
            {
                ("results_finished", 0): lambda run: run.submit(
                    SetParams(max_tokens=77, model="claude-sonnet-5", thinking=None)
                ),
                ("results_finished", 1): lambda run: run.submit(SetSystem("So.")),
            }
        ),
    ),
    "tools": (
        (*CALLS[:1], [use("double", n=4)], [ADD], "8"),
        {},
        first(lambda run: run.submit(SetTools([double]))),
    ),
    "no tools any more": (CALLS, {}, first(lambda run: run.submit(SetTools([])))),
    "tools added": (
        ([ADD], [use("double", n=4)], [use("double", n=5)], "8"),
        {},
        first(lambda run: run.submit(ChangeTools(added=(double,), removed=("fail",)))),
    ),
    "another conversation": (
        CALLS,
        {},
        first(
            lambda run: run.submit(
                SetMessages(
                    [
                        {"role": "user", "content": "Hi"},
                        {"role": "assistant", "content": "Yes?"},
                        {"role": "user", "content": "1 + 2?"},
                    ]
                )
            )
        ),
    ),
    "a follow-up": ((*CALLS, [ADD], "Again 3."), {}, go_on),
    "a follow-up after a call cut off": (
        (reply(ADD, stop_reason="max_tokens"), "Again."),
        {},
        go_on,
    ),
    "max_iterations": (CALLS, {"max_iterations": 2}, None),
    "a pause": (
        (
            reply(say("I search."), SEARCH, stop_reason="pause_turn"),
            reply(FOUND, ADD),
            "Sunny.",
        ),
        {},
        None,
    ),
    "a container": (
        (reply(ADD, container=CONTAINER), [ADD], [ADD], "3."),
        {},
        None,
    ),
    "a container, and a message": (
        (reply(ADD, container=CONTAINER), [ADD], [ADD], "3."),
        {},
        first(lambda run: run.inject("Hm.")),
    ),
    "a summary": (
        ([ADD], reply(COMPACTED, stop_reason="compaction"), [ADD], "3."),
        {"stop_sequences": ["x"], "tool_choice": {"type": "any"}},
        first(lambda run: run.compact_before_next_turn()),
    ),
}


def told(name: str, *, stream: bool) -> tuple[Run, Wire]:
    replies, given, hands = STORIES[name]
    wire = Wire(*replies)
    tools = given.get("tools", counted_tools([]))
    run = Run(
        client=wire.client,
        messages="1 + 2?",
        model="claude-opus-5",
        max_tokens=100,
        stream=stream,
        **{**given, "tools": tools},
    )
    if hands is not None:
        hands(run)
    run.start()
    run.wait(20)
    return run, wire


def executed(code: str, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(anthropic, "Anthropic", lambda: wire.client)
    names = {tool.name: tool for tool in [*counted_tools([]), double]}
    exec(compile(code, "<code>", "exec"), names)  # noqa: S102 - what is tested
    return names


REAL = anthropic.Anthropic


def replies_of(name: str) -> Wire:
    return Wire(*STORIES[name][0])


@both_ways
@pytest.mark.parametrize("name", STORIES)
def test_the_code_sends_what_the_run_sent(
    name: str, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    run, ours = told(name, stream=stream)
    again = replies_of(name)
    client = again.client
    monkeypatch.setattr(anthropic, "Anthropic", lambda: client)
    names = {tool.name: tool for tool in [*counted_tools([]), double]}
    code = run.to_code()
    exec(compile(code, "<code>", "exec"), names)  # noqa: S102 - it is what is tested
    assert "nbrunner" not in code
    assert len(again.bodies) == len(ours.bodies)
    assert differences(again.bodies, ours.bodies) == []
    assert again.betas == ours.betas
