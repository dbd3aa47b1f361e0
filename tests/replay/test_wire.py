from __future__ import annotations

import copy
from typing import Any

import pytest

from nbrunner import replay
from nbrunner.replay import wire

TEXTS = [
    "",
    "Hello",
    "  two  spaces\n\n\tand a tab ",
    "\n",
    "日本語の文章はスペースなしで続きます。" * 9,
    "🙂" * 50,
    "x" * 500,
    "data: {}\n\nevent: ping\r\n",
]
INPUTS: list[dict[str, Any]] = [
    {},
    {"location": "Paris"},
    {"nested": {"list": [1, 2.5, None, True, "ü"], "empty": {}}, "b": []},
    {"text": 'quote " backslash \\ newline \n emoji 🙂' * 5},
    {"big": 12345678901234567890, "small": 1e-7, "minus": -0.5},
]
BLOCKS: list[dict[str, Any]] = [
    *({"type": "text", "text": text} for text in TEXTS),
    {"type": "text", "text": "As said.", "citations": None},
    {
        "type": "text",
        "text": "As said.",
        "citations": [
            {"type": "char_location", "n": 1},
            {"type": "char_location", "n": 2},
        ],
    },
    *({"type": "thinking", "thinking": text, "signature": "c2ln"} for text in TEXTS),
    {"type": "thinking", "thinking": "unsigned"},
    {"type": "thinking", "thinking": "hm", "signature": ""},
    {"type": "redacted_thinking", "data": "ZGF0YQ=="},
    *(
        {"type": "tool_use", "id": f"t{n}", "name": "f", "input": value}
        for n, value in enumerate(INPUTS)
    ),
    {
        "type": "tool_use",
        "id": "t",
        "name": "f",
        "input": {},
        "caller": {"type": "direct"},
    },
    {
        "type": "server_tool_use",
        "id": "s",
        "name": "web_search",
        "input": {"query": "x"},
    },
    {
        "type": "mcp_tool_use",
        "id": "m",
        "name": "f",
        "server_name": "s",
        "input": {"a": 1},
    },
    {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": [{"type": "web_search_result", "title": "T"}],
    },
    {"type": "compaction", "content": "So far: nothing."},
    {"type": "kind_of_the_future", "payload": {"deep": [1]}},
]
FIELDS: list[dict[str, Any]] = [
    {},
    {"stop_reason": "stop_sequence", "stop_sequence": "END"},
    {"stop_reason": "refusal", "stop_details": {"category": "x", "explanation": "y"}},
    {"container": {"id": "container_1", "expires_at": "2030-01-01T00:00:00Z"}},
    {"container": None},
    {"context_management": {"applied_edits": []}},
    {"context_management": None},
    {
        "input_transformations": [
            {
                "type": "thinking_dropped",
                "path": "messages.1.content.0",
                "reason": "prefix_binding_mismatch",
            }
        ]
    },
    {"usage": {"input_tokens": 9, "output_tokens": 0}},
    {
        "usage": {
            "input_tokens": 9,
            "output_tokens": 7,
            "cache_read_input_tokens": 5,
            "service_tier": "standard",
            "cache_creation": {"ephemeral_5m_input_tokens": 3},
        }
    },
    {"diagnostics": {"unknown": "field"}},
]


def message(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": list(blocks),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 5},
        **fields,
    }


MESSAGES = [
    *(message(block) for block in BLOCKS),
    *(message({"type": "text", "text": "Hi"}, **fields) for fields in FIELDS),
    message(),
    message(*BLOCKS),
]


@pytest.mark.parametrize("original", MESSAGES)
def test_a_message_streamed_and_put_together_is_the_same(original: Any) -> None:
    before = copy.deepcopy(original)
    assert wire.message_of(wire.events_of(original)) == original
    assert original == before


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_the_sdk_receives_the_content_of_the_script(
    block: Any, stream: Any, ask: Any
) -> None:
    client = replay.connect(replay.play(replay.script([block, replay.say("End.")])))
    received = ask(client, stream=stream).to_dict(warnings=False)
    assert received["content"] == [block, replay.say("End.")]


@pytest.mark.parametrize("fields", FIELDS)
def test_the_sdk_receives_the_same_fields_streamed_and_whole(
    fields: Any, ask: Any
) -> None:
    replies = replay.play(replay.script(replay.reply("Hi", **fields)))
    # The SDK leaves out, or puts in, fields that are null when it reads a stream.
    whole = ask(replay.connect(replies)).to_dict(exclude_none=True)
    streamed = ask(replay.connect(replies), stream=True).to_dict(exclude_none=True)
    assert streamed == whole


def test_events_come_in_the_order_of_the_api() -> None:
    events = wire.events_of(message(replay.say("one two three four"), replay.think("")))
    assert [name for name, _ in events] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_text_comes_in_small_pieces() -> None:
    text = "word " * 30 + "x" * 300
    events = wire.events_of(message(replay.say(text)))
    pieces = [
        data["delta"]["text"] for name, data in events if name == "content_block_delta"
    ]
    assert max(map(len, pieces)) <= 75
    assert "".join(pieces) == text


def test_the_end_is_not_told_at_the_start() -> None:
    late = {"container": {"id": "c"}, "context_management": {"applied_edits": []}}
    _, start = next(wire.events_of(message(replay.say("Hi"), **late)))
    opening = start["message"]
    assert opening["content"] == []
    assert opening["stop_reason"] is None
    assert opening["usage"] == {"input_tokens": 3, "output_tokens": 1}
    assert not late.keys() & opening.keys()


def test_a_broken_stream_gives_what_had_come() -> None:
    whole = message(replay.say("one two three four five six"))
    events = list(wire.events_of(whole))[:4]
    half = wire.message_of(events)
    assert half["content"] == [replay.say("one two three ")]
    assert half["stop_reason"] is None
    assert not wire.is_whole(events)
    assert wire.message_of([]) == {"content": []}


def test_a_null_at_the_end_does_not_undo_what_the_start_told() -> None:
    events = [
        ("message_start", {"message": message(container={"id": "c"})}),
        (
            "message_delta",
            {"delta": {"container": None}, "usage": {"input_tokens": None}},
        ),
    ]
    put_together = wire.message_of(events)
    assert put_together["container"] == {"id": "c"}
    assert put_together["usage"] == {"input_tokens": 3, "output_tokens": 5}


def test_a_tool_input_cut_by_max_tokens_keeps_what_can_be_read() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": '{"a": 1, "b": "hal'}
    events = [
        ("message_start", {"message": message()}),
        ("content_block_start", {"index": 0, "content_block": call}),
        ("content_block_delta", {"index": 0, "delta": piece}),
    ]
    assert wire.message_of(events)["content"][0]["input"] == {"a": 1}


def test_a_tool_input_that_cannot_be_read_stays_text() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": "{nonsense"}
    events = [
        ("content_block_start", {"index": 0, "content_block": call}),
        ("content_block_delta", {"index": 0, "delta": piece}),
    ]
    assert wire.message_of(events)["content"][0]["input"] == "{nonsense"


def test_a_compaction_that_is_streamed_is_put_together() -> None:
    delta = {"type": "compaction_delta", "content": "So far.", "encrypted_content": "e"}
    events = [
        ("message_start", {"message": message()}),
        (
            "content_block_start",
            {"index": 0, "content_block": {"type": "compaction", "content": None}},
        ),
        ("content_block_delta", {"index": 0, "delta": delta}),
    ]
    assert wire.message_of(events)["content"] == [
        {"type": "compaction", "content": "So far.", "encrypted_content": "e"}
    ]


def test_a_model_that_took_over_labels_the_message() -> None:
    block = {"type": "fallback", "to": {"model": "claude-sonnet-5"}}
    assert wire.message_of(wire.events_of(message(block)))["model"] == "claude-sonnet-5"
