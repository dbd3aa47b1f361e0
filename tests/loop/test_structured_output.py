"""`output_format`: replies that fit a type."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest

from nbrunner import Run
from nbrunner.errors import UnknownParameter
from nbrunner.replay import use
from tests.loop.test_oracle import differences, sdk_alone, watched
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire

PARIS = '{"name":"Paris","degrees":20}'


class City(pydantic.BaseModel):
    """A city as it is now."""

    name: str = pydantic.Field(max_length=30)
    degrees: int


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("output_type", [City, list[City], dict[str, int]])
@pytest.mark.parametrize("more", [{}, {"output_config": {"effort": "low"}}])
def test_what_is_sent_equals_what_the_sdk_alone_sends(
    output_type: Any, more: dict[str, Any], *, stream: bool
) -> None:
    example = {City: PARIS, list[City]: f"[{PARIS}]"}.get(output_type, '{"Paris":20}')
    replies = ([use("add", a=1, b=2)], example)
    params = {"output_format": output_type, "tools": counted_tools([]), **more}
    theirs = sdk_alone(replies, params, stream=stream)
    ours = watched(replies, params, stream=stream)
    assert theirs.bodies[0]["output_config"]["format"]["type"] == "json_schema"
    assert differences(ours.bodies, theirs.bodies) == []
    assert [list(body) for body in ours.bodies] == [list(b) for b in theirs.bodies]


def test_the_answer_is_had_as_the_type() -> None:
    run = Run(client=Wire(PARIS).client, messages="?", output_format=City)
    assert run.parsed_output is None
    run.wait(20)
    assert run.parsed_output == City(name="Paris", degrees=20)


def test_without_a_type_nothing_is_parsed() -> None:
    run = Run(client=Wire(PARIS).client, messages="?")
    run.wait(20)
    assert run.parsed_output is None


def test_a_reply_that_does_not_fit_is_kept_and_fails_where_it_is_parsed() -> None:
    run = Run(client=Wire("No idea.").client, messages="?", output_format=City)
    run.wait(20)
    assert (run.stopped_by, run.text) == ("end_turn", "No idea.")
    with pytest.raises(pydantic.ValidationError):
        _ = run.parsed_output


def test_the_transcript_is_json_and_the_page_is_whole() -> None:
    run = Run(client=Wire(PARIS).client, messages="?", output_format=City)
    run.wait(20)
    stored = json.loads(run.transcript.model_dump_json())
    assert stored["settings"]["params"]["output_config"]["format"]["schema"]
    assert "Paris" in run.to_html()


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"output_format": {"type": "object"}}, "takes a type there"),
        (
            {"output_format": City, "output_config": {"format": {"type": "text"}}},
            "Give one.",
        ),
    ],
)
def test_what_the_sdk_would_refuse_later_is_refused_at_once(
    params: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UnknownParameter, match=sentence):
        Run(client=Wire().client, messages="?", **params)
