from __future__ import annotations

from typing import Any

import pytest

from nbrunner.core.caching import Mark
from nbrunner.core.inspection import Inspection, inspect, missed
from nbrunner.core.model_limits import cached_from_tokens
from tests.core.cached import TOOLS, Story
from tests.core.values import MARK, text

BLOCK = {"type": "text", "text": "x"}


def newest(story: Story) -> Inspection:
    return inspect(story.transcript, len(story.transcript.iterations) - 1)


def found(story: Story) -> tuple[str, str | None]:
    inspection = newest(story)
    return inspection.verdict, inspection.reason


def test_a_breakpoint_covers_what_the_api_reads_before_it() -> None:
    story = Story("tools", "system", "t0").replies().replies()
    points = newest(story).breakpoints
    assert [(p.path, p.on, p.blocks) for p in points] == [
        ("tools[1]", "tool sub", 2),
        ("system[0]", "system prompt", 3),
        ("messages[2].content[0]", "result of add", 7),
    ]
    assert [(p.tools, p.system, p.messages) for p in points] == [
        (2, 0, 0),
        (2, 1, 0),
        (2, 1, 3),
    ]
    assert not any(point.is_inside for point in points)


def test_the_mark_of_the_whole_request_covers_all_of_it() -> None:
    (point,) = newest(Story("request").replies().replies()).breakpoints
    assert (point.path, point.messages, point.blocks) == ("cache_control", 3, 7)
    assert point.on == "result of add"


def test_a_mark_on_an_earlier_block_of_a_message_is_inside_it() -> None:
    content = [{**BLOCK, "cache_control": {**MARK, "ttl": "1h"}}, BLOCK]
    story = Story().rewritten(0, {"role": "user", "content": content}).replies()
    (point,) = newest(story).breakpoints
    assert (point.is_inside, point.ttl, point.on) == (True, "1h", "user text")
    assert point.blocks == 4


def test_without_a_mark_nothing_is_said_of_the_cache() -> None:
    assert found(Story().replies()) == ("unmarked", None)


def test_before_its_reply_nothing_is_known() -> None:
    story = Story("system").replies(wrote=5000).asks()
    assert found(story) == ("awaited", None)
    assert missed(story.transcript, 1) is None


def test_a_reply_without_counts_says_nothing() -> None:
    assert found(Story("system").replies(fresh=0)) == ("unreported", None)


def test_the_first_write_has_nothing_to_read() -> None:
    assert found(Story("system").replies(wrote=5000)) == ("first", None)


def test_a_prefix_that_is_the_same_is_read() -> None:
    story = Story("system").replies(wrote=5000).replies(read=5000)
    inspection = newest(story)
    assert (inspection.verdict, inspection.difference) == ("read", None)
    assert (inspection.compared_with, inspection.left_tokens) == (0, 5000)


CHANGES: dict[str, tuple[dict[str, Any], str, str]] = {
    "model": ({"model": "claude-sonnet-5"}, "model", "model"),
    "tool": ({"tools": ({"name": "mul"}, *TOOLS[1:])}, "tools", "tools[0]"),
    "tool gone": ({"tools": TOOLS[:1]}, "tools", "tools[1]"),
    "tool more": ({"tools": (*TOOLS, {"name": "mul"})}, "tools", "tools[2]"),
    "key order": (
        {"tools": ({"input_schema": {}, "name": "add"}, *TOOLS[1:])},
        "tools",
        "tools[0]",
    ),
    "system": ({"system": "Be brief."}, "system", "system[0]"),
    "system more": ({"system": [text("Be kind."), BLOCK]}, "system", "system[1]"),
    "no system": ({"system": None}, "system", "system[0]"),
    "tool_choice": (
        {"params": {"tool_choice": {"type": "any"}}},
        "settings",
        "tool_choice",
    ),
    "thinking": (
        {"params": {"thinking": {"type": "disabled"}}},
        "settings",
        "thinking",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_missed_read_names_the_first_block_that_differs(change: str) -> None:
    settings, layer, place = CHANGES[change]
    story = Story("t0").replies().replies(wrote=5000).set(**settings)
    inspection = newest(story.replies(wrote=5000))
    assert (inspection.verdict, inspection.reason) == ("missed", "differs")
    assert inspection.difference is not None
    assert (inspection.difference.layer, inspection.difference.place) == (layer, place)
    assert inspection.compared_with == 1


def test_a_changed_message_is_named_with_what_it_was() -> None:
    story = Story("t0").replies().replies(wrote=5000)
    story.rewritten(0, {"role": "user", "content": "How much is that?"})
    difference = newest(story.replies(wrote=5000)).difference
    assert difference is not None
    assert difference.place == "messages[0].content[0]"
    assert (difference.before, difference.after) == (
        text("How much is it?"),
        text("How much is that?"),
    )
    assert difference.blocks == 3


def test_a_message_of_someone_else_is_a_difference_with_its_role() -> None:
    story = Story("t0").replies().replies(wrote=5000)
    story.rewritten(0, {"role": "system", "content": "How much is it?"})
    difference = newest(story.replies(wrote=5000)).difference
    assert difference is not None
    assert [difference.before["role"], difference.after["role"]] == ["user", "system"]


def test_a_shorter_conversation_lacks_a_block() -> None:
    story = Story("request").replies().replies(wrote=5000)
    story._with(messages=story.transcript.messages[:1])
    difference = newest(story.replies(wrote=4000)).difference
    assert difference is not None
    assert (difference.place, difference.after) == ("messages[1].content[0]", None)


def test_marks_are_no_part_of_the_prefix() -> None:
    story = Story("system", "t0").replies().replies(wrote=5000)
    story.marked("tools", "t1", Mark("messages[0].content[0]"))
    assert newest(story.replies(read=5000)).difference is None


def test_a_conversation_that_only_goes_on_differs_in_nothing() -> None:
    story = Story("results").replies(wrote=5000).replies(read=5000, wrote=100)
    assert newest(story).difference is None


def test_a_text_is_the_same_prefix_as_a_block_of_it() -> None:
    story = Story("t0").replies().replies(wrote=5000)
    story.rewritten(0, {"role": "user", "content": [text("How much is it?")]})
    assert newest(story.replies(read=5000)).difference is None


def test_a_prefix_that_is_the_same_and_was_not_read_may_have_expired() -> None:
    story = Story("system").replies(wrote=5000).replies(wrote=5000)
    assert found(story) == ("missed", "expired")


def test_a_mark_too_far_behind_what_was_kept_does_not_find_it() -> None:
    story = Story("system").replies(wrote=5000).marked()
    for _ in range(7):
        story.replies()
    assert found(story.marked("t6").replies(wrote=6000)) == ("missed", "far")
    near = Story("system").replies(wrote=5000).replies().marked("t0")
    assert found(near.replies(wrote=6000)) == ("missed", "expired")


def test_a_mark_that_stands_where_it_stood_is_near_however_far_the_newest_is() -> None:
    story = Story("system").replies(wrote=5000).marked()
    for _ in range(7):
        story.replies()
    story.marked("system", "t6").replies(wrote=6000)
    assert found(story) == ("missed", "expired")


def test_a_difference_behind_what_was_kept_is_no_reason() -> None:
    story = Story("system").replies(wrote=5000).marked("system", "t0")
    story.rewritten(0, {"role": "user", "content": "How much?"})
    assert found(story.replies(wrote=5000)) == ("missed", "expired")


def test_images_that_came_in_are_a_reason() -> None:
    image = [{"type": "image", "source": {}}]
    story = Story("system").replies(wrote=5000, content=image).replies(wrote=5000)
    assert found(story) == ("missed", "images")


def test_context_that_the_api_cleared_is_a_reason() -> None:
    edits = {"applied_edits": [{"type": "clear_tool_uses_20250919"}]}
    story = Story("system").replies(wrote=5000)
    story.replies(wrote=4000, fields={"context_management": edits})
    assert found(story) == ("missed", "cleared")


def test_what_was_kept_behind_the_last_mark_is_not_expected() -> None:
    story = Story("t0").replies().replies(wrote=5000).marked("system")
    assert found(story.replies(wrote=4000)) == ("first", None)


def test_a_difference_behind_the_last_mark_costs_nothing() -> None:
    story = Story("system", "t0").replies().replies(wrote=5000).marked("system")
    story.rewritten(0, {"role": "user", "content": "How much?"})
    inspection = newest(story.replies(read=4000))
    assert (inspection.verdict, inspection.reason) == ("read", None)
    assert inspection.difference is not None


def test_a_read_up_to_an_earlier_mark_is_a_read_in_part() -> None:
    story = Story("system", "t0").replies().replies(wrote=5000)
    story.rewritten(0, {"role": "user", "content": "How much?"})
    assert found(story.replies(read=4000, wrote=900)) == ("partly", "differs")


def test_what_is_too_short_for_the_model_is_said_to_be() -> None:
    story = Story("system", model="claude-haiku-4-5").replies(fresh=812)
    assert found(story) == ("uncached", "short")
    assert newest(story).cached_from_tokens == 4096


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-5"])
def test_of_what_may_be_long_enough_it_is_not_said(model: str) -> None:
    story = Story("system", model=model).replies(fresh=4096)
    assert found(story) == ("uncached", None)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-4-5-20251101", 4096),
        ("claude-sonnet-4-6", 2048),
        ("claude-sonnet-4-20250514", 1024),
        ("claude-3-7-sonnet-latest", 1024),
        ("claude-3-5-haiku@20241022", 2048),
        ("claude-opus-5", None),
        ("claude-opus-4-7", None),
        ("gpt-5", None),
        ("my-claude-opus-4-5", None),
    ],
)
def test_the_minimum_is_known_of_listed_models_only(
    model: str, tokens: int | None
) -> None:
    assert cached_from_tokens(model) == tokens


def test_two_misses_in_a_row_are_told_apart_from_one() -> None:
    story = Story("system").replies(wrote=5000).set(system="a").replies(wrote=5000)
    assert not newest(story).is_repeated
    assert newest(story.set(system="b").replies(wrote=5000)).is_repeated
    assert not newest(story.replies(read=5000)).is_repeated


def test_two_requests_without_anything_cached_are_repeated_too() -> None:
    story = Story("system").replies()
    assert not newest(story).is_repeated
    assert newest(story.replies()).is_repeated


def test_a_request_without_marks_in_between_is_not_held_against_it() -> None:
    story = Story("system").replies(wrote=5000).set(system="a").replies(wrote=5000)
    story.marked().replies().marked("system").set(system="b")
    inspection = newest(story.replies(wrote=5000))
    assert (inspection.verdict, inspection.is_repeated) == ("missed", False)
    assert inspection.compared_with == 1


def test_what_was_written_is_told_by_its_lifetime() -> None:
    parts = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 4900}
    story = Story("system").replies(wrote=5000, usage={"cache_creation": parts})
    assert newest(story).written == {"5m": 100, "1h": 4900}
    assert newest(Story("system").replies(wrote=5000)).written == {"": 5000}
    assert newest(Story("system").replies()).written == {}


def test_the_quick_look_finds_every_miss() -> None:
    story = Story("system", "t0").replies(wrote=5000).replies(read=5000, wrote=100)
    assert missed(story.transcript, 0) is None
    assert missed(story.transcript, 1) is None
    assert missed(story.replies(wrote=5100).transcript, 2) == "missed"
    assert missed(story.replies(read=5000).transcript, 3) == "partly"
    assert missed(story.marked().replies().transcript, 4) is None
    assert missed(story.marked("tools").replies(wrote=9).transcript, 5) is None


def test_an_empty_text_is_no_difference() -> None:
    story = Story("t0").replies().replies(wrote=5000)
    said = [text(""), *story.transcript.messages[1]["content"]]
    story.rewritten(1, {"role": "assistant", "content": said})
    assert newest(story.replies(read=5000)).difference is None


def test_an_inspection_is_json_in_and_out() -> None:
    story = Story("t0").replies().replies(wrote=5000).set(system="Be brief.")
    inspection = newest(story.replies(wrote=5000))
    assert Inspection.model_validate_json(inspection.model_dump_json()) == inspection
