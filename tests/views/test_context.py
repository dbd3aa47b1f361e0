from __future__ import annotations

from typing import Any

import pytest

from nbrunner.views.context import applied_edit_words, scale_of
from nbrunner.views.page import panel_content, static_page
from nbrunner.views.text import as_text
from tests.core.cached import Story
from tests.views.page_parser import parsed

EDIT = {
    "type": "clear_tool_uses_20250919",
    "cleared_tool_uses": 8,
    "cleared_input_tokens": 50_000,
}


THINKING_CLEARED = (
    "The API cleared 1 turn of thinking (400 tokens) from the context: "
    "clear_thinking_20251015"
)


@pytest.mark.parametrize(
    ("tokens", "scale"),
    [
        *((0, 10_000), (993, 10_000), (4_000, 10_000)),
        *((9_000, 10_000), (10_000, 20_000), (150_000, 200_000), (999_000, 1_000_000)),
    ],
)
def test_a_full_bar_is_a_round_number_above_all_of_the_run(
    tokens: int, scale: int
) -> None:
    story = Story().replies(fresh=10).replies(fresh=tokens).replies(fresh=10)
    assert scale_of(story.transcript) == scale


def test_each_iteration_shows_how_far_it_filled_the_context() -> None:
    story = Story("system").replies(wrote=3_000, fresh=10).replies(read=3_000)
    page = parsed(panel_content(story.asks().transcript, name="run"))
    bars = [given for tag, given in page.elements if tag == "meter"]
    assert [(bar["value"], bar["max"]) for bar in bars] == [
        ("3017", "10000"),
        ("3047", "10000"),
    ]
    assert bars[0]["aria-label"] == "context 3.0 k tokens"
    assert "a full bar is 10.0 k" in str(bars[0]["title"])


def test_a_reply_without_counts_has_no_bar() -> None:
    story = Story().replies(fresh=0, usage={"output_tokens": 0})
    assert "<meter" not in static_page(story.transcript, name="run")


def test_what_the_api_cleared_is_told_where_it_happened() -> None:
    story = Story().replies().replies(fields={"context_management": cleared(EDIT)})
    page = parsed(static_page(story.transcript, name="run"))
    said = "The API cleared 8 tool uses (50.0 k tokens) from the context: "
    before, chip, after = page.text.partition("context cleared")
    assert chip
    assert said not in before
    assert said + EDIT["type"] in after
    assert f"    {said}{EDIT['type']}" in as_text(story.transcript, name="run")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (
            {
                "type": "clear_thinking_20251015",
                "cleared_thinking_turns": 1,
                "cleared_input_tokens": 400,
            },
            THINKING_CLEARED,
        ),
        ({"type": "tomorrow"}, "The API edited the context: tomorrow"),
        ("odd", "The API edited the context: an edit"),
    ],
)
def test_every_edit_is_told_and_one_that_nobody_knows_too(
    edit: Any, words: str
) -> None:
    assert applied_edit_words(edit) == words


def cleared(*edits: Any) -> dict[str, Any]:
    return {"applied_edits": list(edits)}


@pytest.mark.parametrize("managed", [None, {}, {"applied_edits": None}, cleared()])
def test_nothing_is_said_where_nothing_was_cleared(managed: Any) -> None:
    story = Story().replies(fields={"context_management": managed})
    assert "cleared" not in parsed(static_page(story.transcript, name="run")).text
