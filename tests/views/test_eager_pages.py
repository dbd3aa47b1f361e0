"""A page whose calls run while the reply still comes (`run_tools_eagerly`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.replay import cut, say
from nbrunner.views.page import panel_content, static_page
from nbrunner.views.text import as_text
from tests.loop.iterated import ADD, MORE, Ran
from tests.loop.steering import Followed
from tests.loop.wire import PATIENCE_S
from tests.views.page_parser import Page, parsed

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript


def page_of(transcript: Transcript) -> Page:
    return parsed(str(panel_content(transcript, name="sums")))


def followed_run(*replies: Any) -> tuple[Ran, Followed]:
    ran = Ran(*replies, stream=True, run_tools_eagerly=True, name="sums")
    followed = Followed(ran.run)
    ran.run.wait(PATIENCE_S)
    return ran, followed


def as_it_was(followed: Followed, kind: str) -> Transcript:
    """The transcript at the first event of that kind."""
    places = (n for n, event in enumerate(followed.events) if event.kind == kind)
    return followed.transcripts[next(places)]


@pytest.fixture(scope="module")
def story() -> tuple[Ran, Followed]:
    return followed_run([say("Two sums."), ADD, MORE], "3 and 7.")


@pytest.fixture(scope="module")
def broken() -> Ran:
    return followed_run(cut([ADD, MORE], 7, "drop"))[0]


def test_a_call_shows_its_result_while_the_reply_still_streams(
    story: tuple[Ran, Followed],
) -> None:
    transcript = as_it_was(story[1], "call_finished")
    assert transcript.iterations[0].reply is None
    page = page_of(transcript)
    assert "ok add(a=1, b=2)" in page.text
    assert "result3" in page.text
    caret = [g for _, g in page.elements if g.get("class") == "nbr-caret"]
    assert len(caret) == 1


def test_a_call_that_is_whole_says_that_it_waits(story: tuple[Ran, Followed]) -> None:
    page = page_of(as_it_was(story[1], "call_proposed"))
    assert "waits add(a=1, b=2)" in page.text


def test_what_ran_in_a_broken_reply_is_told_with_its_result(broken: Ran) -> None:
    static = parsed(str(static_page(broken.run.transcript, name="sums")))
    for page in (page_of(broken.run.transcript), static):
        assert "What ran already (add) may run a second time." in page.text
        assert "what had come of the reply (not kept); its calls ran" in page.text
        assert "ok add(a=1, b=2)" in page.text
    text = as_text(broken.run.transcript, name="sums")
    assert "-> add(a=1, b=2)" in text
    assert "What ran already (add) may run a second time." in text


def test_there_is_nothing_to_click_at_a_call_of_a_broken_reply(broken: Ran) -> None:
    page = page_of(broken.run.transcript)
    keys = [given.get("data-key", "") for _, given in page.elements]
    assert not [key for key in keys if ".call." in key]
