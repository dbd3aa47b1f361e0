"""Promise 1: watching changes nothing. The oracle is the bare SDK runner."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import pytest
from anthropic import beta_tool
from anthropic.types.beta import BetaMessage, BetaTextBlock

from nbrunner import Run, replay
from nbrunner.replay import reply, say, think, use
from tests.loop.api_rules import broken_rule
from tests.loop.toolkit import IMAGE, MARK, counted_tools
from tests.loop.wire import Wire
from tests.recordings import NAMES, exchanges

ADD = use("add", a=1, b=2)
REDACTED = {"type": "redacted_thinking", "data": "ErUB+nope"}
SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "weather"},
}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "url": "https://example.org/a",
            "title": "Wetter",
            "encrypted_content": "Eqg+",
            "page_age": None,
        }
    ],
}
CITED = {
    "type": "text",
    "text": "Sunny.",
    "citations": [
        {
            "type": "web_search_result_location",
            "url": "https://example.org/a",
            "title": "Wetter",
            "encrypted_index": "Eo8+",
            "cited_text": "sunny",
        }
    ],
}
LOOK = {"type": "text", "text": "look:"}
FUTURE = {"type": "hologram", "frames": [{"x": 1.0, "y": None}], "depth": {"k": []}}
CONTAINER = {"id": "container_1", "expires_at": "2026-12-01T00:00:00Z"}
COMPACTED = {"type": "compaction", "content": "They added.", "encrypted_content": "E="}

EQUAL: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "one answer": (("It is 3.",), {}),
    "one call": (([say("Let me see."), ADD], "It is 3."), {}),
    "parallel calls": (([ADD, use("add", a=3, b=4), ADD], "It is 3, 7, 3."), {}),
    "equal calls in one reply": (([ADD, ADD], [ADD], "3."), {}),
    "a tool error": (
        ([use("fail", how="plainly"), ADD, use("fail", how="oddly")], "Oh."),
        {},
    ),
    "an error of 10,000 characters": (([use("fail", how="at length")], "Oh."), {}),
    "an error in the tool's own words": (([use("fail", how="in words")], "Oh."), {}),
    "thinking": (
        ([think("Add?", "c2ln"), say("So."), ADD], [think("3", "c2k="), say("3")]),
        {"thinking": {"type": "adaptive"}},
    ),
    "redacted thinking": (([REDACTED, think("And"), ADD], [REDACTED, say("3")]), {}),
    "a server tool": (([SEARCH, FOUND, CITED, ADD], "Sunny, and 3."), {}),
    "a turn paused": (
        (
            reply(say("I search."), SEARCH, stop_reason="pause_turn"),
            reply(FOUND, CITED, ADD),
            reply(say("More."), SEARCH, stop_reason="pause_turn"),
            "Sunny.",
        ),
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    ),
    "a container": (
        (reply(ADD, container=CONTAINER), [ADD], "It is 3."),
        {},
    ),
    "a container that the person chose": (
        (reply(ADD, container=CONTAINER), "It is 3."),
        {"container": "container_0"},
    ),
    "containers that change": (
        (
            reply(ADD, container=CONTAINER),
            reply(ADD, container={**CONTAINER, "id": "container_2"}),
            "It is 3.",
        ),
        {},
    ),
    "a container with skills": (
        (reply(ADD, container=CONTAINER), "It is 3."),
        {"container": {"skills": [{"type": "anthropic", "skill_id": "pptx"}]}},
    ),
    "a server-side compaction": (
        ([ADD], reply(COMPACTED, stop_reason="compaction"), [ADD], "3"),
        {"context_management": {"edits": [{"type": "compact_20260112"}]}},
    ),
    "max_tokens inside a call": ((reply(ADD, stop_reason="max_tokens"),), {}),
    "a refusal": (([ADD], reply(say("I can't."), stop_reason="refusal")), {}),
    "a call in a reply that ended": ((reply(ADD, stop_reason="end_turn"),), {}),
    "a stop reason of the future": (
        ([ADD], reply(ADD, stop_reason="met_the_sun")),
        {},
    ),
    "tool_use without a call": ((reply(say("Hm."), stop_reason="tool_use"),), {}),
    "images returned": (([use("give", what="an image"), ADD], "A picture."), {}),
    "generators and tuples returned": (
        ([use("give", what="a generator"), use("give", what="a tuple")], "Two."),
        {},
    ),
    "nothing much returned": (
        ([use("give", what="an empty text"), use("give", what="an empty list")], "So."),
        {},
    ),
    "marks that a tool returns": (
        ([use("give", what="a marked text")], [use("give", what="a marked text")], "m"),
        {},
    ),
    "thirty iterations": (
        (*([use("add", a=n, b=n)] for n in range(29)), "Done."),
        {},
    ),
    "max_iterations": (([ADD], [ADD], [ADD], "3"), {"max_iterations": 2}),
    "unicode": (
        ([say("Grüße, 你好 🌞 \u202e\u0000"), use("echo", value="ß\u2028🌞")], "שלום"),
        {"messages": [{"role": "user", "content": "שלום 🌞"}]},
    ),
    "lone surrogates": (
        (
            [
                use("give", what="a lone surrogate"),
                use("give", what="a lone surrogate in a block"),
                use("fail", how="by lone surrogate"),
            ],
            "Half.",
        ),
        {},
    ),
    "a result of a megabyte": (([use("give", what="a megabyte")], "Long."), {}),
    "a system prompt of blocks": (
        ([ADD], "3"),
        {
            "system": [
                {"type": "text", "text": "Be brief."},
                {"type": "text", "text": "Be kind.", "cache_control": MARK},
            ]
        },
    ),
    "a system prompt of text": (([ADD], "3"), {"system": "Be brief."}),
    "every other parameter": (
        ([ADD], "3"),
        {
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
            "metadata": {"user_id": "u1"},
            "betas": ["context-1m-2025-08-07", "x-2026-01-01"],
            "cache_control": MARK,
            "stop_sequences": ["END"],
            "service_tier": "auto",
            "output_config": {"effort": "low"},
            "extra_body": {"temperature": 0.5},
            "extra_headers": {"x-own": "1"},
            "timeout": 30,
        },
    ),
    "blocks of the future": (([FUTURE, ADD], [FUTURE, say("3")]), {}),
    "a history of the person's own": (
        ([ADD], "3"),
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Add."}, IMAGE]},
                {"role": "assistant", "content": [{**ADD, "id": "toolu_a"}]},
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "toolu_a",
                            "content": [{"type": "text", "text": "3"}],
                            "cache_control": MARK,
                        }
                    ],
                },
                {"role": "user", "content": "And again."},
            ]
        },
    ),
    "a history with the SDK's models": (
        ([ADD], "3"),
        {
            "messages": [
                {"role": "user", "content": "Hello"},
                {
                    "role": "assistant",
                    "content": [BetaTextBlock(type="text", text="Hello.")],
                },
                {"role": "user", "content": "Add."},
            ]
        },
    ),
}

# The SDK itself says so of a block it has no model for.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


class Told:
    """What one side sent, and the calls it ran."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.bodies: list[dict[str, Any]] = []
        self.betas: list[str | None] = []


def request(told: Told, params: dict[str, Any]) -> dict[str, Any]:
    tools = [*counted_tools(told.calls), *params.get("tools", ())]
    return {
        "model": "claude-opus-5",
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": "What is 1 + 2?"}],
        **params,
        "tools": tools,
    }


def sdk_alone(
    replies: tuple[Any, ...], params: dict[str, Any], *, stream: bool
) -> Told:
    """The oracle: the SDK's runner, with nothing of ours but the transport."""
    told, wire = Told(), Wire(*replies)
    runner = wire.client.beta.messages.tool_runner(
        **request(told, params), thread=False, stream=stream
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it warns of unknown tools
        for _ in runner:
            pass
    told.bodies, told.betas = wire.bodies, wire.betas
    return told


def watched(
    replies: tuple[Any, ...],
    params: dict[str, Any],
    *,
    stream: bool,
    sdk_texts: bool = False,
) -> Told:
    told, wire = Told(), Wire(*replies)
    run = Run(
        client=wire.client,
        stream=stream,
        sdk_texts=sdk_texts,
        **request(told, params),
    )
    run.wait(20)
    assert run.stopped_by != "error", run.transcript.last
    told.bodies, told.betas = wire.bodies, wire.betas
    return told


def differences(ours: Any, theirs: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Every place where two JSON values differ, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            difference
            for key in {**ours, **theirs}
            for difference in differences(
                ours.get(key, "absent"), theirs.get(key, "absent"), f"{path}.{key}"
            )
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [
            difference
            for n, pair in enumerate(zip(ours, theirs, strict=True))
            for difference in differences(*pair, f"{path}[{n}]")
        ]
    return (
        [] if ours == theirs and type(ours) is type(theirs) else [(path, ours, theirs)]
    )


@both_ways
@pytest.mark.parametrize("name", EQUAL)
def test_a_run_sends_what_the_sdk_alone_sends(name: str, *, stream: bool) -> None:
    replies, params = EQUAL[name]
    theirs = sdk_alone(replies, params, stream=stream)
    ours = watched(replies, params, stream=stream)
    assert differences(ours.bodies, theirs.bodies) == []
    assert ours.betas == theirs.betas
    assert [broken_rule(body) for body in ours.bodies] == [None] * len(ours.bodies)


@both_ways
@pytest.mark.parametrize("name", EQUAL)
def test_each_call_runs_once_with_the_input_that_the_sdk_gives_it(
    name: str, *, stream: bool
) -> None:
    replies, params = EQUAL[name]
    theirs = sdk_alone(replies, params, stream=stream)
    assert watched(replies, params, stream=stream).calls == theirs.calls


@both_ways
def test_keys_come_in_the_order_in_which_the_sdk_sends_them(*, stream: bool) -> None:
    # The prompt cache compares text: the order inside a block matters to it.
    replies, params = EQUAL["thinking"]
    theirs = sdk_alone(replies, params, stream=stream)
    ours = watched(replies, params, stream=stream)
    for key in ("tools", "messages"):
        assert repr(ours.bodies[-1][key]) == repr(theirs.bodies[-1][key])


@both_ways
def test_of_two_tools_with_one_name_both_are_sent_and_the_last_one_runs(
    *,
    stream: bool,
) -> None:
    @beta_tool(name="add")
    def subtract(a: int, b: int) -> str:
        """Subtract two numbers."""
        return str(a - b)

    replies, params = ([ADD], "-1"), {"tools": [subtract]}
    theirs = sdk_alone(replies, params, stream=stream)
    ours = watched(replies, params, stream=stream)
    assert differences(ours.bodies, theirs.bodies) == []
    assert [t["name"] for t in ours.bodies[0]["tools"]].count("add") == 2
    assert ours.bodies[1]["messages"][-1]["content"][0]["content"] == "-1"


MARKED: dict[str, tuple[Any, list[tuple[Any, Any]]]] = {
    "an error in pictures": (
        use("fail", how="in pictures"),
        [([LOOK], [LOOK, IMAGE])],
    ),
    "an error without a word": (
        use("fail", how="without a word"),
        [("fail failed and gave no reason.", "")],
    ),
    "an input of the wrong type": (
        use("add", a="one", b=2),
        [
            (
                (
                    "Invalid input for add: `a` should be a valid integer, unable to "
                    'parse string as an integer, got "one".'
                ),
                "ValueError('Invalid arguments for function add')",
            )
        ],
    ),
    "an input with a field missing and one too many": (
        use("add", a=1, c=2),
        [
            (
                (
                    "Invalid input for add: `b` is required and is missing; `c` is not "
                    "one of its parameters."
                ),
                "ValueError('Invalid arguments for function add')",
            )
        ],
    ),
    "an unknown tool": (
        use("ad", a=1, b=2),
        [
            (
                (
                    "There is no tool 'ad'. Did you mean add? "
                    "Available tools: add, echo, fail, give."
                ),
                "Error: Tool 'ad' not found",
            )
        ],
    ),
    "a dict returned": (
        use("echo", value={"a": 1, "b": [2]}),
        [('{"a":1,"b":[2]}', ["a", "b"])],
    ),
    "a list of texts returned": (
        use("echo", value=["a", "b"]),
        [('["a","b"]', ["a", "b"])],
    ),
    "a number returned": (
        use("echo", value=42),
        [("42", "TypeError(\"'int' object is not iterable\")"), ("absent", True)],
    ),
    "None returned": (
        use("echo", value=None),
        [("echo returned None: it gave no result.", None)],
    ),
}


@both_ways
@pytest.mark.parametrize("name", MARKED)
def test_where_the_sdk_tells_claude_too_little_only_that_one_text_differs(
    name: str, *, stream: bool
) -> None:
    call, texts = MARKED[name]
    replies = ([ADD, call, ADD], [ADD], "Done.")
    theirs = sdk_alone(replies, {}, stream=stream)
    ours = watched(replies, {}, stream=stream)
    seen = differences(ours.bodies, theirs.bodies)
    block = ".messages[2].content[1]"
    fields = [".content", ".is_error"][: len(texts)]
    assert seen == [
        (f"[{request}]{block}{field}", *pair)
        for request in (1, 2)
        for field, pair in zip(fields, texts, strict=True)
    ]
    assert ours.calls == theirs.calls


@both_ways
@pytest.mark.parametrize("name", MARKED)
def test_with_sdk_texts_nothing_differs_there(name: str, *, stream: bool) -> None:
    call, _ = MARKED[name]
    replies = ([ADD, call, ADD], [ADD], "Done.")
    theirs = sdk_alone(replies, {}, stream=stream)
    ours = watched(replies, {}, stream=stream, sdk_texts=True)
    assert differences(ours.bodies, theirs.bodies) == []
    assert ours.calls == theirs.calls


@both_ways
@pytest.mark.parametrize("sdk_texts", [False, True])
def test_an_empty_text_is_left_out_of_the_sent_copy_and_nothing_else_is(
    *, stream: bool, sdk_texts: bool
) -> None:
    replies = ([say(""), ADD, say("")], [say("So."), ADD], "3")
    theirs = sdk_alone(replies, {}, stream=stream)
    ours = watched(replies, {}, stream=stream, sdk_texts=sdk_texts)
    seen = differences(ours.bodies, theirs.bodies)
    assert [path for path, *_ in seen] == [
        "[1].messages[1].content",
        "[2].messages[1].content",
    ]
    for _, sent, by_sdk in seen:
        assert by_sdk == [say(""), {**ADD, "id": "toolu_01"}, say("")]
        assert sent == [{**ADD, "id": "toolu_01"}]
    assert broken_rule(theirs.bodies[1]) == "turn 1 has an empty text"
    assert broken_rule(ours.bodies[1]) is None


def test_an_empty_text_stays_in_the_record() -> None:
    wire = Wire([say(""), ADD], "3")
    run = Run(client=wire.client, tools=counted_tools([]), messages="1 + 2?")
    assert run.wait(20).iterations[0].blocks[0] == say("")
    assert run.messages[1]["content"][0] == say("")


@both_ways
def test_models_of_the_sdk_that_a_tool_returns_are_sent_as_the_sdk_sends_them(
    *,
    stream: bool,
) -> None:
    @beta_tool
    def quote() -> Any:
        """Quote."""
        return [BetaTextBlock(type="text", text="so", citations=None)]

    replies = (use("quote"), "So.")
    theirs = sdk_alone(replies, {"tools": [quote]}, stream=stream)
    ours = watched(replies, {"tools": [quote]}, stream=stream)
    assert differences(ours.bodies, theirs.bodies) == []


@both_ways
def test_a_reply_is_kept_as_the_api_sent_it(*, stream: bool) -> None:
    sent = reply(
        think("Hm", "c2ln"),
        SEARCH,
        FOUND,
        CITED,
        FUTURE,
        container=CONTAINER,
        usage={"input_tokens": 3, "of_the_future": {"x": 1}},
        of_the_future=[1, None],
    )
    wire = Wire(sent)
    run = Run(client=wire.client, messages="?", stream=stream)
    message = run.wait(20).iterations[0].reply
    assert message is not None
    assert message["content"] == list(sent.content)
    assert message["container"] == CONTAINER
    assert message["of_the_future"] == [1, None]
    assert BetaMessage.construct(**message).id == "msg_01"


@pytest.mark.parametrize("name", NAMES)
def test_over_real_replies_a_run_sends_what_the_sdk_alone_sends(name: str) -> None:
    kept = exchanges(name)
    asked = kept[0]["request"]["body"]
    params = {key: asked[key] for key in ("model", "max_tokens", "messages")}
    stream, cassette = asked.get("stream", False), replay.import_exchanges(kept)
    bodies = []
    for tool_runner in (by_the_sdk, by_a_run):
        replies = replay.play(cassette)
        tools = [weather_stand_in(kept[1]["request"]["body"]["messages"][-1])]
        tool_runner(replay.connect(replies), stream=stream, tools=tools, **params)
        bodies.append(replies.requests)
    theirs, ours = bodies
    assert len(ours) == len(kept)
    assert differences(ours, theirs) == []
    # And, but for the tool's definition, what that older SDK once sent.
    once = [exchange["request"]["body"] for exchange in kept]
    assert (
        differences([b["messages"] for b in ours], [b["messages"] for b in once]) == []
    )


def by_the_sdk(client: Any, **params: Any) -> None:
    client.beta.messages.tool_runner(thread=False, **params).until_done()


def by_a_run(client: Any, **params: Any) -> None:
    run = Run(client=client, **params)
    run.wait(20)
    assert run.stopped_by == "end_turn"


def weather_stand_in(answers: dict[str, Any]) -> Any:
    """A `get_weather` that says, or fails, what the recorded one did."""
    (result,) = answers["content"]

    @beta_tool
    def get_weather(location: str, units: Literal["c", "f"]) -> str:
        """Lookup the weather for a given city in either celsius or fahrenheit.

        Args:
            location: The city and state, e.g. San Francisco, CA
            units: Unit for the output, either 'c' for celsius or 'f' for fahrenheit
        """
        assert location
        assert units
        if result.get("is_error"):
            raise RuntimeError("Unexpected error, try again")
        return str(result["content"])

    return get_weather
