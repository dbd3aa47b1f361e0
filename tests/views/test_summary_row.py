"""The row by which the conversation is summarized before the next reply."""

from __future__ import annotations

from typing import Any

from nbrunner.core.commands import Submit
from nbrunner.core.compaction import SUMMARY_BETA
from nbrunner.core.edits import Compact
from nbrunner.views.page import panel_content, static_page
from tests.views.page_parser import Page, parsed
from tests.views.runs import finished, run_of

DONE = finished("It is 20.").transcript


def live(transcript: Any = DONE, **changes: Any) -> Page:
    changed = transcript.model_copy(update=changes)
    return parsed(str(panel_content(changed, name="weather")))


def button(page: Page) -> dict[str, Any]:
    named = (g for _, g in page.elements if g.get("data-key") == "next.summarize")
    return next(named, {})


def test_a_summary_can_be_asked_for_once_something_was_said() -> None:
    assert button(live(run_of("Hi.").transcript)) == {}
    page = live()
    assert button(page)["data-intent"] == "summarize"
    assert button(page)["aria-pressed"] == "false"
    assert SUMMARY_BETA in button(page)["title"]
    assert "weather.compact_before_next_turn()" in page.text


def test_one_that_was_asked_for_is_shown_and_can_be_taken_back() -> None:
    for stands in (
        {"compaction": {"type": "summarize"}},
        {"asked": (Submit(edit=Compact()),)},
    ):
        page = live(**stands)
        assert button(page)["data-intent"] == "keep"
        assert button(page)["aria-pressed"] == "true"
        assert "before the next reply" in page.text
        assert "weather.submit(Compact(compaction=None))" in page.text
    taken_back = (Submit(edit=Compact()), Submit(edit=Compact(compaction=None)))
    assert button(live(asked=taken_back))["aria-pressed"] == "false"


def test_where_the_api_compacts_the_button_says_so_and_is_off() -> None:
    params = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
    settings = DONE.settings.model_copy(update={"params": params})
    page = live(settings=settings)
    assert "disabled" in button(page)
    assert "context_management has the API compact it already" in page.text


def test_a_page_that_cannot_be_asked_has_no_row() -> None:
    page = parsed(str(static_page(DONE, name="weather")))
    assert "Summarize first" not in page.text
