"""`run.set_messages_params()`, before a run and in the middle of it."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import beta_tool

from nbrunner import SetParams
from nbrunner.errors import (
    UnknownParameter,
    UsageError,
)
from nbrunner.replay import use
from tests.loop.iterated import (
    ADD,
    Ran,
    both_ways,
)
from tests.loop.steering import Followed


@both_ways
def test_parameters_are_replaced_by_a_mapping(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream, system="Be kind.", stop_sequences=["END"])
    for _ in ran.run:
        messages = [{"role": "user", "content": "1 + 2?"}]
        params = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": messages}
        ran.run.set_messages_params(params)
    first, second = ran.bodies
    assert "stop_sequences" in first
    assert {key: second[key] for key in ("model", "max_tokens")} == {
        "model": "claude-haiku-4-5",
        "max_tokens": 9,
    }
    assert second.keys().isdisjoint({"system", "tools", "stop_sequences"})
    assert len(second["messages"]) == 3


@both_ways
def test_parameters_may_be_changed_several_times_before_they_go_out(
    *, stream: bool
) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for tokens in (7, 100):
        ran.run.set_messages_params(lambda p, n=tokens: {**p, "max_tokens": n})
    for _ in ran.run:
        ran.run.set_messages_params(lambda p: {**p, "max_tokens": p["max_tokens"] + 1})
        ran.run.set_messages_params(lambda p: {**p, "max_tokens": p["max_tokens"] + 1})
    assert [body["max_tokens"] for body in ran.bodies] == [100, 102]


def test_what_was_submitted_before_is_among_the_parameters() -> None:
    ran = Ran("Done.")
    ran.run.submit(SetParams(max_tokens=7))
    ran.run.set_messages_params(lambda p: {**p, "max_tokens": p["max_tokens"] + 1})
    ran.run.until_done()
    assert ran.bodies[0]["max_tokens"] == 8


def test_reading_the_parameters_changes_nothing() -> None:
    ran = Ran([ADD], "Done.", system="Be kind.", thinking={"type": "adaptive"})
    followed = Followed(ran.run)
    for _ in ran.run:
        ran.run.set_messages_params(lambda params: params)
    assert not [e for e in followed.events if e.kind == "edit_applied"]
    assert ran.bodies[0]["system"] == "Be kind."


def test_what_a_function_does_to_the_parameters_it_is_given_stays_its_own() -> None:
    ran = Ran([ADD], "Done.")

    def spoil(params: dict[str, Any]) -> dict[str, Any]:
        kept = dict(params)
        kept["messages"] = [dict(message) for message in params["messages"]]
        params["messages"][0]["content"] = "SPOILED"
        return kept

    for _ in ran.run:
        ran.run.set_messages_params(spoil)
    assert ran.sent()[0]["content"] == "1 + 2?"


def test_betas_stay_where_new_parameters_leave_them_out() -> None:
    ran = Ran([ADD], "Done.", betas=["x-2026-01-01"])
    for _ in ran.run:
        ran.run.set_messages_params(
            lambda params: {k: v for k, v in params.items() if k != "betas"}
        )
    assert ran.wire.betas == ["x-2026-01-01", "x-2026-01-01"]


@pytest.mark.parametrize("name", ["model", "max_tokens", "messages"])
def test_a_needed_parameter_that_is_missing_is_named(name: str) -> None:
    ran = Ran("Done.")
    with pytest.raises(UsageError, match=f"and {name} is missing"):
        ran.run.set_messages_params(
            lambda params: {k: v for k, v in params.items() if k != name}
        )


@pytest.mark.parametrize(
    ("name", "near"), [("temperature", "extra_body"), ("max_token", "max_tokens")]
)
def test_an_unknown_parameter_is_refused_and_nothing_is_changed(
    name: str, near: str
) -> None:
    ran = Ran("Done.")
    with pytest.raises(UnknownParameter, match=near):
        ran.run.set_messages_params(
            lambda params: {**params, name: 1, "system": "Be kind."}
        )
    with pytest.raises(TypeError, match="thread"):
        ran.run.set_messages_params(lambda params: {**params, "thread": True})
    ran.run.until_done()
    assert "system" not in ran.bodies[0]


@pytest.mark.parametrize("name", ["stream", "max_iterations"])
def test_what_is_no_parameter_of_a_request_is_refused(name: str) -> None:
    ran = Ran("Done.")
    with pytest.raises(UnknownParameter, match=name):
        ran.run.set_messages_params(lambda params: {**params, name: 1})


@both_ways
def test_messages_rewritten_stand_before_the_reply_in_hand(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        if len(ran.bodies) == 1:
            rewritten = [{"role": "user", "content": "What is 1 + 2?"}]
            ran.run.set_messages_params(
                lambda params, new=rewritten: {**params, "messages": new}
            )
    assert [m["content"] for m in ran.sent()[:1]] == ["What is 1 + 2?"]
    assert ran.sent()[2]["content"][0]["content"] == "3"
    assert ran.calls == [("add", 1, 2)]


@both_ways
def test_a_tool_set_in_the_middle_of_a_run_runs(*, stream: bool) -> None:
    @beta_tool
    def double(n: int) -> str:
        """Double a number."""
        return str(2 * n)

    ran = Ran([ADD], [use("double", n=4)], "8.", stream=stream)
    for _ in ran.run:
        if len(ran.bodies) == 1:
            ran.run.set_messages_params(
                lambda params: {**params, "tools": [*params["tools"], double]}
            )
    assert [t["name"] for t in ran.bodies[1]["tools"]][-1] == "double"
    assert ran.sent()[-1]["content"][0]["content"] == "8"


@both_ways
def test_the_system_prompt_may_change_in_the_middle_of_a_run(*, stream: bool) -> None:
    ran = Ran([ADD], "Done.", stream=stream)
    for _ in ran.run:
        ran.run.set_messages_params(lambda params: {**params, "system": "Be brief."})
    assert [body.get("system") for body in ran.bodies] == [None, "Be brief."]
