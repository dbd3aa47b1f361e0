"""Promise 1 in the user's own loop: it sends what the SDK's runner alone sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner import tool_runner
from tests.loop.api_rules import broken_rule
from tests.loop.test_oracle import (
    EQUAL,
    MARKED,
    Told,
    both_ways,
    differences,
    request,
    sdk_alone,
)
from tests.loop.toolkit import MARK
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner import Run

# The SDK itself says so of a block it has no model for.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Pydantic serializer warnings", "ignore:Tool :UserWarning"
)


def read_nothing(_run: Any, _item: Any) -> None:
    """What `for _ in run: pass` does."""


def read_all(run: Any, item: Any) -> None:
    if hasattr(item, "get_final_message"):
        for _ in item:
            pass
        item.get_final_message()
    run.set_messages_params(lambda params: params)


def look_at_results(run: Any, item: Any) -> None:
    read_all(run, item)
    if message_of(item).stop_reason == "tool_use":
        run.generate_tool_call_response()


def change_parameters(run: Any, _item: Any) -> None:
    run.set_messages_params(
        lambda params: {
            **params,
            "max_tokens": params["max_tokens"] + 1,
            "system": "Be kind.",
            "tools": params["tools"][:-1],
        }
    )


def rewrite_history(run: Any, _item: Any) -> None:
    run.set_messages_params(
        lambda params: {
            **params,
            "messages": [{"role": "user", "content": "Rewritten."}],
        }
    )


BODIES: dict[str, Callable[[Any, Any], None]] = {
    "reads nothing": read_nothing,
    "reads all": read_all,
    "looks at the results": look_at_results,
    "changes parameters": change_parameters,
    "rewrites the history": rewrite_history,
}


def message_of(item: Any) -> Any:
    return item.get_final_message() if hasattr(item, "get_final_message") else item


def looped(
    replies: tuple[Any, ...],
    params: dict[str, Any],
    body: Callable[[Any, Any], None],
    *,
    stream: bool,
    **ours: Any,
) -> tuple[Told, Run | None]:
    """What a loop with that body sends, over a run or, without `ours`, the SDK's."""
    told, wire = Told(), Wire(*replies)
    given = {**request(told, params), "stream": stream}
    if ours:
        runner: Any = tool_runner(wire.client, **given, **ours)
    else:
        runner = wire.client.beta.messages.tool_runner(**given, thread=False)
    for item in runner:
        body(runner, item)
    told.bodies, told.betas = wire.bodies, wire.betas
    return told, runner


@both_ways
@pytest.mark.parametrize("name", EQUAL)
def test_an_own_loop_sends_what_the_sdk_alone_sends(name: str, *, stream: bool) -> None:
    replies, params = EQUAL[name]
    theirs = sdk_alone(replies, params, stream=stream)
    ours, run = looped(replies, params, read_nothing, stream=stream, thread=False)
    assert differences(ours.bodies, theirs.bodies) == []
    assert (ours.calls, ours.betas) == (theirs.calls, theirs.betas)
    assert [broken_rule(body) for body in ours.bodies] == [None] * len(ours.bodies)
    assert run is not None
    assert run.transcript.status == "finished"


@both_ways
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    "name", ["parallel calls", "thinking", "a turn paused", "max_iterations"]
)
def test_whatever_the_body_does_both_send_the_same(
    name: str, body: str, *, stream: bool
) -> None:
    replies, params = EQUAL[name]
    theirs, _ = looped(replies, params, BODIES[body], stream=stream)
    ours, _ = looped(replies, params, BODIES[body], stream=stream, thread=False)
    assert differences(ours.bodies, theirs.bodies) == []
    assert ours.calls == theirs.calls


@both_ways
@pytest.mark.parametrize("name", MARKED)
def test_with_sdk_texts_an_own_loop_differs_nowhere(name: str, *, stream: bool) -> None:
    call, _ = MARKED[name]
    replies = ([call], "Done.")
    theirs = sdk_alone(replies, {}, stream=stream)
    ours, _ = looped(replies, {}, read_all, stream=stream, sdk_texts=True)
    assert differences(ours.bodies, theirs.bodies) == []
    assert ours.calls == theirs.calls


@both_ways
def test_results_changed_in_place_go_out_as_with_the_sdk(*, stream: bool) -> None:
    def mark_and_add(run: Any, item: Any) -> None:
        if message_of(item).stop_reason == "tool_use":
            response = run.generate_tool_call_response()
            response["content"][-1]["cache_control"] = MARK
            response["content"].append({"type": "text", "text": "Be brief."})

    replies, params = EQUAL["parallel calls"]
    theirs, _ = looped(replies, params, mark_and_add, stream=stream)
    ours, _ = looped(replies, params, mark_and_add, stream=stream, thread=False)
    assert differences(ours.bodies, theirs.bodies) == []
    assert ours.calls == theirs.calls
