"""What only the user's own loop brings into a page."""

from __future__ import annotations

from nbrunner.replay import reply
from nbrunner.views.page import static_page
from tests.loop.iterated import ADD, Ran
from tests.loop.steering import Followed

COMPACTED = {"type": "compaction", "content": "They added.", "encrypted_content": "E="}


def test_a_compaction_says_what_it_is_and_what_was_asked() -> None:
    ran = Ran([ADD], reply(COMPACTED, stop_reason="compaction"), "Done.")
    for message in ran.run:
        if message.stop_reason == "tool_use":
            ran.run.compact_before_next_turn()
    page = ran.run.to_html()
    assert '<span class="nbr-gist">the conversation, summarized</span>' in page
    assert "&quot;compaction&quot;: {" in page
    assert "They added." in page


def test_tools_that_were_added_and_removed_stand_in_the_request_that_told_of_it() -> (
    None
):
    ran = Ran([ADD], "Done.")
    for message in ran.run:
        if message.stop_reason == "tool_use":
            ran.run.remove_tools("give")
    page = ran.run.to_html()
    assert "new: system message" in page
    assert "tool_removal" in page


def test_a_run_can_be_shown_at_every_moment_of_a_loop_with_a_retry() -> None:
    ran = Ran("One two three four.", "Done.", stream=True)
    followed = Followed(ran.run)
    for stream in ran.run:
        for _ in stream.text_stream:
            if len(ran.wire.bodies) == 1:
                ran.run.retry()
    pages = [static_page(t, name="runner") for t in followed.transcripts]
    assert any("dropped before the reply was whole" in page for page in pages)


def test_a_loop_that_was_left_says_so() -> None:
    ran = Ran([ADD], "Done.")
    for _ in ran.run:
        break
    assert "left by break" in ran.run.to_html()
    assert "left by break" in ran.run.to_text()
