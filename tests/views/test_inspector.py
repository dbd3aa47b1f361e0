from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nbrunner.core.redact import REDACTED
from nbrunner.errors import UsageError
from nbrunner.views.inspected import Inspected
from nbrunner.views.page import panel_content, static_page
from nbrunner.views.text import as_text
from tests.core.cached import Story
from tests.views.page_parser import Page, parsed, strangers
from tests.views.runs import finished, story, use

if TYPE_CHECKING:
    from nbrunner import Run
    from nbrunner.core.transcript import Transcript

# In pieces, so that no scanner takes this file for a leak.
KEY = "sk-" + "ant-api03-" + "a1B2" * 10


def missed(old: str = "Now: 10:00", new: str = "Now: 10:01") -> Transcript:
    """A run whose second request misses what the first had written."""
    begun = Story("system", system=old).replies(wrote=5_000)
    return begun.set(system=new).replies(wrote=5_000).transcript


def static(transcript: Transcript) -> Page:
    return parsed(static_page(transcript, name="run"))


def test_a_missed_read_is_told_on_the_line_and_explained_below() -> None:
    page = static(missed())
    line, _, below = page.text.partition("2 tools · 1 of 4 cache marks")[2].partition(
        "2 tools · 1 of 4 cache marks"
    )
    assert "cache missed" in line
    assert "read missed" in below
    assert "It read nothing of the 5.0 k tokens that request 1 left" in below
    assert "system[0] is not what it was" in below
    assert "first difference from request 1: system[0]" in below
    assert "- Now: 10:00\n+ Now: 10:01\n" in below
    assert "By Anthropic's public documentation" in below


def test_the_marks_are_drawn_where_they_stand() -> None:
    text = static(Story("tools", "t0").replies().replies(wrote=5_000).transcript).text
    assert "tools 1 to 2 ▲ 5 min system prompt messages 1 to 3 ▲ 5 min" in text
    assert "result of add (messages[2].content[0]), 5 minutes: covers 2 tools, " in text
    assert "the system prompt, messages 1 to 3" in text


def test_the_part_in_which_they_differ_carries_a_sign() -> None:
    assert "tools 1 to 2 system prompt ≠ ▲ 5 min" in static(missed()).text


def test_what_no_mark_covers_is_drawn_behind_the_last() -> None:
    page = static(missed())
    kept = [g["class"] for _, g in page.elements if "stretch" in str(g.get("class"))]
    covered, bare = "nbr-stretch nbr-kept", "nbr-stretch"
    assert kept == [covered, covered, bare] * 2
    assert "▲ 5 min messages 1 to 3" in page.text


def test_what_a_message_holds_behind_a_mark_is_drawn_behind_it() -> None:
    marked = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    content = [marked, {"type": "text", "text": "y"}]
    begun = Story().rewritten(0, {"role": "user", "content": content}).replies()
    text = static(begun.transcript).text
    assert "system prompt message 1 ▲ 5 min message 1" in text
    assert "the system prompt, message 1 (in part)" in text


def test_where_the_cache_plays_no_part_nothing_is_shown() -> None:
    text = static(Story().replies().replies().transcript).text
    assert "cache ·" not in text


def test_tokens_are_told_read_and_written_by_their_lifetime() -> None:
    parts = {"cache_creation": {"ephemeral_1h_input_tokens": 5_000}}
    begun = Story("system").replies(wrote=5_000, usage=parts)
    page = static(begun.replies(read=5_000, wrote=120).transcript)
    assert "cache · wrote 5.0 k tokens for 1 h first write" in page.text
    assert "cache · read 5.0 k tokens · wrote 120 tokens" in page.text
    assert "It read the 5.0 k tokens that request 1 left in the cache." in page.text
    assert "cache missed" not in page.text


def test_two_misses_in_a_row_raise_a_hint_that_is_seen_at_once() -> None:
    begun = Story("system").replies(wrote=5_000).set(system="a").replies(wrote=5_000)
    hint = "belongs behind the last mark"
    assert hint not in static(begun.transcript).text
    page = static(begun.set(system="b").replies(wrote=5_000).transcript)
    assert page.text.count(hint) == 1
    hinted = [g for _, g in page.elements if g.get("class") == "nbr-hinted"]
    assert len(hinted) == 1


def test_too_short_for_the_model_is_told_with_the_count() -> None:
    begun = Story("system", model="claude-haiku-4-5").replies(fresh=812)
    text = static(begun.transcript).text
    assert "too short to cache" in text
    assert "the whole prompt has 812 tokens, and claude-haiku-4-5 caches from " in text
    assert "4,096 on." in text
    again = static(begun.replies(fresh=812).transcript).text
    assert "Twice in a row nothing was cached, although marks are set" in again


def test_of_a_model_that_is_not_listed_the_minimum_is_said_to_be_unknown() -> None:
    text = static(Story("system").replies(fresh=812).transcript).text
    assert "the least that claude-opus-5 caches is not known here" in text
    assert "nothing cached" in text


REASONS = {
    "expired": (Story("system").replies(wrote=5_000), "cannot be told from here"),
    "images": (
        Story("system").replies(wrote=5_000, content=[{"type": "image"}]),
        "but images came in",
    ),
}


@pytest.mark.parametrize("reason", REASONS)
def test_a_prefix_that_is_the_same_is_said_to_be(reason: str) -> None:
    begun, words = REASONS[reason]
    text = static(begun.replies(wrote=5_000).transcript).text
    assert "The prefix is the same" in text
    assert words in text
    assert ("public documentation" in text) is (reason == "images")


def test_the_panel_shows_the_same_with_its_line_of_python() -> None:
    page = parsed(panel_content(missed(), name="weather"))
    assert "first difference from request 1: system[0]" in page.text
    assert "weather.inspect(at=1)" in page.text
    keys = [given.get("data-key") for _, given in page.elements]
    assert {"it0.cache", "it1.cache"} < set(keys)
    assert "inspect(" not in static(missed()).text


def test_the_text_of_a_run_says_what_was_missed() -> None:
    text = as_text(missed(), name="run")
    assert "cache: It read nothing of the 5.0 k tokens that request 1 left" in text
    good = Story("system").replies(wrote=5_000).replies(read=5_000)
    assert "cache:" not in as_text(good.transcript, name="run")


def test_a_replayed_inspector_holds_no_ids() -> None:
    begun = Story("t0").replies().replies(wrote=5_000)
    begun._with(source="scripted", messages=begun.transcript.messages[:2])
    begun.rewritten(1, {"role": "assistant", "content": [use("add") | {"id": "t_9"}]})
    assert "t_9" not in static(begun.replies(wrote=5_000).transcript).text


@pytest.mark.parametrize("place", ["old", "new"])
def test_a_key_in_a_block_that_changed_is_not_shown(place: str) -> None:
    transcript = missed(**{place: f"see {KEY} there"})
    inspected = Inspected.at(transcript, 1)
    shown = (
        static_page(transcript, name="run"),
        panel_content(transcript, name="run"),
        *inspected._repr_mimebundle_().values(),
    )
    for part in shown:
        assert KEY[:12] not in part
        assert REDACTED in part


def test_markup_in_a_block_that_changed_is_inert() -> None:
    evil = "</pre><img src=x onerror=y()><script>z()</script>"
    transcript = missed(new=evil)
    html = Inspected.at(transcript, 1)._repr_mimebundle_()["text/html"]
    for page in (static(transcript), parsed(html)):
        assert strangers(page) == []
        assert evil in page.text


def test_python_gets_the_same_by_the_index_of_the_iteration() -> None:
    run = story("a cache that is missed")
    inspection = run.inspect(at=2)
    assert (inspection.index, inspection.verdict) == (2, "missed")
    assert run.inspect().index == 4
    assert run.inspect(-2).index == 3
    assert run.inspect(at=2).breakpoints[0].on == "result of look"


def test_an_inspection_shows_itself_as_text_and_as_a_page() -> None:
    bundle = story("a cache that is missed").inspect(at=2)._repr_mimebundle_()
    assert bundle["text/plain"].startswith(
        "cache of request 3 · read missed · wrote 11.3 k tokens\n"
    )
    page = parsed(bundle["text/html"])
    assert strangers(page) == []
    assert "It read nothing of the 4.2 k tokens that request 2 left" in page.text
    assert str(story("a cache that is missed").inspect(at=2)) == bundle["text/plain"]


@pytest.mark.parametrize("at", [1, -2, 7])
def test_an_iteration_that_is_not_there_is_refused_with_a_sentence(at: int) -> None:
    run: Run = finished("Hi.", name="weather")
    with pytest.raises(UsageError, match=f"weather has 1 iteration, and none at {at}"):
        run.inspect(at=at)
