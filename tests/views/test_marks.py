from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.core.blocks import content_of
from nbrunner.core.caching import Mark, block_address
from nbrunner.core.commands import Submit
from nbrunner.core.edits import ToggleCache
from nbrunner.views.page import panel_content, static_page
from tests.views.page_parser import Page, parsed
from tests.views.runs import finished, run_of, story, use

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

RUN = finished(
    [use("get_weather", location="Paris"), use("get_temperature", city="Paris")],
    "Done.",
    system="Be brief.",
)
HISTORY = [
    {"role": "user", "content": [{"type": "text", "text": f"{n}"} for n in range(2)]},
    {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
    {"role": "user", "content": "And now?"},
]
SAID = "messages[3].content[0]"


def live(transcript: Transcript, *opened: str, **changes: Any) -> Page:
    changed = transcript.model_copy(update=changes)
    whole = frozenset(f"marks.{place}" for place in opened)
    return parsed(panel_content(changed, name="weather", whole=whole))


def openers(page: Page) -> list[str]:
    """The places whose buttons can be asked for."""
    parts = [given.get("data-part") or "" for _, given in page.elements]
    return [p.removeprefix("marks.") for p in parts if p.startswith("marks.")]


def toggles(page: Page) -> list[str]:
    """The places whose buttons are there, each place once."""
    places = [given.get("data-place") for _, given in page.elements]
    return list(dict.fromkeys(place for place in places if place))


def test_every_block_of_the_conversation_can_be_marked_somewhere() -> None:
    page = live(RUN.transcript)
    offered = {*openers(page), *toggles(page)}
    blocks = {
        f"messages[{index}].content[{number}]"
        for index, message in enumerate(RUN.messages)
        for number in range(len(message["content"]) if index else 1)
        if index != 2
    }
    results = {call.id for call in RUN.transcript.iterations[0].tool_calls}
    assert len(results) == 2
    assert offered == {"system", "tools", "request"} | blocks | results


@pytest.mark.parametrize("title", ["odd results", "blocks of the API"])
def test_each_button_names_the_block_that_its_place_is(title: str) -> None:
    run = story(title)
    page = live(run.transcript)
    names = [
        given["aria-label"] or ""
        for _, given in page.elements
        if (given.get("data-part") or "").startswith("marks.")
    ]
    assert len(names) == len(openers(page)) > 4
    for place, name in zip(openers(page), names, strict=True):
        index, number = block_address(place) or (-1, -1)
        kind = content_of(run.messages[index])[number]["type"]
        assert name.startswith(f"cache marks of the {kind}, block {number + 1} of ")


def test_a_closed_page_has_one_quiet_button_for_a_block() -> None:
    page = live(RUN.transcript)
    assert SAID in openers(page)
    assert SAID not in toggles(page)
    assert f'weather.submit(ToggleCache("{SAID}"))' not in page.text


def test_who_asks_gets_the_buttons_the_count_and_the_line_of_python() -> None:
    page = live(RUN.transcript, SAID)
    assert SAID in toggles(page)
    assert SAID not in openers(page)
    assert f'0 of 4 marks weather.submit(ToggleCache("{SAID}"))' in page.text
    given = [g for _, g in page.elements if g.get("data-place") == SAID]
    assert [g["title"] for g in given] == [
        f'in Python: weather.submit(ToggleCache("{SAID}"))',
        f'in Python: weather.submit(ToggleCache("{SAID}", ttl="1h"))',
    ]


def test_a_block_with_a_mark_says_so_unasked_and_so_does_its_iteration() -> None:
    page = live(RUN.transcript, marks=(Mark(SAID, "1h"),))
    pressed = [
        g["aria-pressed"] for _, g in page.elements if g.get("data-place") == SAID
    ]
    assert pressed == ["false", "true"]
    assert page.text.count("cached to here") == 1
    assert page.text.index("cached to here") > page.text.index("Be brief.")
    assert "next request · 1 of 4 marks" in page.text


def test_a_static_page_shows_the_mark_and_no_button() -> None:
    marked = RUN.transcript.model_copy(update={"marks": (Mark(SAID, "1h"),)})
    page = parsed(static_page(marked, name="weather"))
    assert "cache 1 h" in page.text
    assert not [tag for tag, _ in page.elements if tag == "button"]


def test_an_edit_of_a_block_that_waits_is_shown_in_its_row() -> None:
    page = live(RUN.transcript, asked=(Submit(edit=ToggleCache(SAID)),))
    assert SAID in toggles(page)
    assert page.text.count("waits for the next safe point") == 1


@pytest.mark.parametrize(
    "place",
    ["system", "tools", "request", "messages[0].content[0]", SAID, "toolu_01"],
)
def test_a_refusal_is_shown_once_and_beside_its_button(place: str) -> None:
    page = live(RUN.transcript, refused=(ToggleCache(place), "It cannot be."))
    assert page.text.count("It cannot be.") == 1
    line = f'weather.submit(ToggleCache("{place}"))'
    assert f"{line} It cannot be." in page.text


@pytest.mark.parametrize(
    "place", ["messages[9].content[0]", "messages[4].content[0]", "toolu_99", "results"]
)
def test_a_refusal_at_no_place_of_the_page_is_shown_in_the_bar(place: str) -> None:
    page = live(RUN.transcript, refused=(ToggleCache(place), "It cannot be."))
    assert page.text.count("It cannot be.") == 1
    assert page.text.index("It cannot be.") < page.text.index("How warm is Paris?")


def test_before_the_first_request_its_messages_can_be_marked() -> None:
    page = live(run_of("Hi.", messages=HISTORY).transcript)
    expected = [f"messages[{m}].content[{b}]" for m, b in ((0, 0), (0, 1), (1, 0))]
    assert openers(page) == [*expected, "messages[2].content[0]"]
    assert toggles(page) == ["tools", "request"]
    assert "next request · 0 of 4 marks" in page.text


def test_what_a_run_began_with_can_be_marked_when_it_has_gone_out() -> None:
    page = live(finished("Hi.", messages=HISTORY).transcript)
    assert "messages[0].content[1]" in openers(page)
    assert "messages[1].content[0]" in openers(page)


def test_a_long_history_is_gone_through_from_its_end() -> None:
    turns = [HISTORY[0], HISTORY[1]] * 40
    for run in (
        run_of("Hi.", messages=[*turns, HISTORY[2]]),
        finished("Hi.", messages=[*turns, HISTORY[2]]),
    ):
        offered = openers(live(run.transcript))
        assert "messages[50].content[0]" not in offered
        assert {"messages[51].content[0]", "messages[80].content[0]"} <= set(offered)


def test_without_tools_and_system_only_the_request_can_be_marked() -> None:
    assert toggles(live(run_of("Hi.", tools=[]).transcript)) == ["request"]


def test_a_reply_that_streams_has_no_marks_yet() -> None:
    *before, last = RUN.transcript.iterations
    streaming = last.model_copy(update={"reply": None})
    page = live(
        RUN.transcript,
        iterations=(*before, streaming),
        messages=RUN.transcript.messages[:-1],
        status="running",
    )
    assert SAID not in openers(page)
