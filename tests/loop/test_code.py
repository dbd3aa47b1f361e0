"""`run.to_code()`: executed over the same replies, it sends what the run sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from anthropic import beta_async_tool, beta_tool

from nbrunner import (
    EditResult,
    Run,
    SetParams,
    SetSystem,
    SetTools,
    ToggleCache,
    approve_all,
    ask,
    by_tool,
    reject_all,
    tool_runner,
)
from nbrunner.core.edits import ChangeTools, SetMessages
from nbrunner.panel.intents import obey, read_intent
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


def click_tool(run: Run, verb: str, name: str) -> None:
    obey(read_intent({"intent": f"{verb}_tool", "tool": name}), run)


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
        {"approver": by_tool({"add": reject_all, "*": approve_all})},
        None,
    ),
    "a failure beside a rejection": (
        ([ADD, use("fail", how="plainly"), use("echo", value="x")], "Done."),
        {"approver": by_tool({"add": reject_all, "*": approve_all})},
        None,
    ),
    "the tools marked, in the middle": (
        CALLS,
        {},
        first(lambda run: run.submit(ToggleCache("tools"))),
    ),
    "a result edited after a rejection": (
        CALLS,
        {"approver": reject_all},
        first(lambda run: run.submit(EditResult("toolu_01", "3", is_error=False))),
    ),
    "images and marks that a tool gives": (
        ([use("give", what="an image"), use("give", what="a marked text")], "So."),
        {},
        first(lambda run: run.inject("Well?")),
    ),
    "a fifth mark, by a tool": (
        (*[[use("give", what="a marked text")]] * 6, "So."),
        {},
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
    "tools taken and given back by clicks": (
        CALLS,
        {},
        at(
            {
                ("reply_finished", 0): lambda run: [
                    click_tool(run, "remove", name) for name in ("fail", "give")
                ],
                ("results_finished", 1): lambda run: click_tool(run, "add", "fail"),
            }
        ),
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
    client = wire.client
    monkeypatch.setattr(anthropic, "Anthropic", lambda: client)
    names = {tool.name: tool for tool in [*counted_tools([]), double]}
    exec(compile(code, "<code>", "exec"), names)  # noqa: S102 - it is what is tested
    return names


def assert_sends_the_same(
    run: Run, ours: Wire, again: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = run.to_code()
    executed(code, again, monkeypatch)
    assert "nbrunner" not in code
    assert len(again.bodies) == len(ours.bodies)
    assert differences(again.bodies, ours.bodies) == []
    assert again.betas == ours.betas


@both_ways
@pytest.mark.parametrize("name", STORIES)
def test_the_code_sends_what_the_run_sent(
    name: str, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    run, ours = told(name, stream=stream)
    assert_sends_the_same(run, ours, Wire(*STORIES[name][0]), monkeypatch)


UNTOUCHED = [
    "no hands",
    "one answer",
    "system and parameters",
    "a mark on the request",
    "max_iterations",
    "a pause",
    "a container",
]


@both_ways
@pytest.mark.parametrize("name", STORIES)
def test_only_a_run_without_hands_is_the_loop_of_the_sdk(
    name: str, *, stream: bool
) -> None:
    run, _ = told(name, stream=stream)
    assert ("in runner:" in run.to_code()) is (name in UNTOUCHED)


@both_ways
@pytest.mark.parametrize("name", sorted(STORIES.keys() - set(UNTOUCHED)))
def test_no_runner_is_left_open(name: str, *, stream: bool) -> None:
    code = told(name, stream=stream)[0].to_code()
    assert code.count("runner = ") == code.count("runner.close()")


def test_what_happens_between_two_hands_is_a_loop() -> None:
    run, _ = told("a message", stream=False)
    assert "for _ in range(3):" in run.to_code()


@both_ways
@pytest.mark.parametrize("at", [0, 1, 2, None])
def test_the_code_of_a_branch_sends_what_the_branch_sent(
    at: int | None, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    run, _ = told("no hands", stream=stream)
    replies = ([ADD], "So.")
    ours = Wire(*replies)
    branch = run.fork(at=at, edits=[SetSystem("Otherwise.")], client=ours.client)
    branch.inject("And?")
    branch.wait(20)
    assert_sends_the_same(branch, ours, Wire(*replies), monkeypatch)


@both_ways
def test_a_request_that_failed_at_first_is_sent_once(
    monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    ours = Wire([ADD], fail(529), "It is 3.")
    run = Run(client=ours.client, tools=counted_tools([]), messages="?", stream=stream)
    run.wait(20)
    run.retry()
    run.wait(20)
    again = Wire([ADD], "It is 3.")
    executed(run.to_code(), again, monkeypatch)
    assert differences(again.bodies, [ours.bodies[0], ours.bodies[2]]) == []
    assert "# It failed: " in run.to_code()


@both_ways
def test_a_run_that_was_stopped_ends_where_it_was_stopped(
    monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    replies = ([ADD], [ADD], "It is 3.")
    ours = Wire(*replies)
    run = Run(client=ours.client, tools=counted_tools([]), messages="?", stream=stream)
    first(lambda run: run.stop())(run)
    run.wait(20)
    assert run.stopped_by == "person"
    again = Wire(*replies)
    names = executed(run.to_code(), again, monkeypatch)
    assert differences(again.bodies, ours.bodies) == []
    assert len(again.bodies) == 1
    assert names["messages"] == run.messages


def test_a_reply_stopped_half_way_is_told_in_a_comment() -> None:
    run = Run(client=Wire("A few words, and more.", "So.").client, messages="?")
    at({("block_grew", 0): lambda run: run.stop()})(run)
    run.wait(20)
    run.resume()
    run.wait(20)
    assert "# A reply was stopped half way, which" in run.to_code()


@both_ways
def test_the_code_of_an_own_loop_sends_what_it_sent(
    monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    replies = ([ADD, ADD], [ADD], [ADD], "It is 3.")
    ours = Wire(*replies)
    run = tool_runner(
        ours.client,
        tools=counted_tools([]),
        messages=[{"role": "user", "content": "?"}],
        model="claude-opus-5",
        max_tokens=100,
        stream=stream,
    )
    for number, _ in enumerate(run):
        results = run.generate_tool_call_response()
        if results is None:
            continue
        if number == 0:
            results["content"][1]["content"] = "three"
        if number == 1:
            results["content"][0]["cache_control"] = {"type": "ephemeral"}
            run.append_messages({"role": "user", "content": "Hm."})
        if number == 2:
            run.set_messages_params(lambda p: {**p, "max_tokens": 7})
    assert_sends_the_same(run, ours, Wire(*replies), monkeypatch)


@both_ways
def test_results_made_in_an_own_loop_are_written_down(
    monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    replies = ([ADD, ADD], "It is 3.")
    ours = Wire(*replies)
    run = tool_runner(
        ours.client,
        tools=counted_tools([]),
        messages=[{"role": "user", "content": "?"}],
        model="claude-opus-5",
        max_tokens=100,
        stream=stream,
    )
    made = [
        {"type": "tool_result", "tool_use_id": call, "content": "my own"}
        for call in ("toolu_01", "toolu_02")
    ]
    for number, _ in enumerate(run):
        if number == 0:
            run.append_messages({"role": "user", "content": made})
    assert_sends_the_same(run, ours, Wire(*replies), monkeypatch)


def test_a_coroutine_is_not_called_and_what_it_gave_is_written_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @beta_async_tool
    async def later() -> str:
        """Wait."""
        return "at last"

    ours = Wire(use("later"), "Done.")
    run = Run(client=ours.client, tools=[later], messages="?")
    run.wait(20)
    assert_sends_the_same(run, ours, Wire(use("later"), "Done."), monkeypatch)
    assert '"at last"' in run.to_code()


@pytest.mark.parametrize("name", ["no hands", "a message", "an edited result"])
def test_the_code_ends_with_the_conversation_of_the_run(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = told(name, stream=False)
    names = executed(run.to_code(), Wire(*STORIES[name][0]), monkeypatch)
    if name == "no hands":
        assert names["reply"].to_dict() == run.transcript.iterations[-1].reply
    else:
        assert names["messages"] == run.messages


def test_the_code_of_an_eager_run_runs_its_tools_eagerly_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replies = ([ADD, ADD], "3.")
    ours, again = Wire(*replies), Wire(*replies)
    run = Run(
        client=ours.client,
        messages="1 + 2?",
        model="claude-opus-5",
        max_tokens=100,
        tools=counted_tools([]),
        run_tools_eagerly=True,
    )
    run.wait(20)
    assert "    run_tools_eagerly=True,\n" in run.to_code()
    assert_sends_the_same(run, ours, again, monkeypatch)
