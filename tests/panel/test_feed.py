from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nbrunner.core.edits import ToggleCache
from nbrunner.core.events import (
    BlockGrew,
    BlockStarted,
    EditApplied,
    Event,
    IterationStarted,
)
from nbrunner.core.fold import fold
from nbrunner.core.redact import REDACTED
from nbrunner.replay import say, use
from tests.panel.stage import Recording, Stage, recorded

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

WORDS = "It is 20 degrees in Paris, " + "and it stays so " * 20
KEY = "sk-" + "ant-api03-" + "a1B2" * 10
CALLS = tuple([use("get_weather", location=f"city {n}")] for n in range(2))


def split(events: Recording, kind: type[Event]) -> tuple[Recording, Recording]:
    """What happened up to the first event of a kind, and that and the rest."""
    place = next(i for i, (event, _) in enumerate(events) if isinstance(event, kind))
    return events[:place], events[place:]


def streaming(*replies: object) -> tuple[Stage, Recording]:
    """A stage on which the first reply has begun, and the growth that follows."""
    before, events = recorded(*replies)
    begun, rest = split(events, BlockGrew)
    stage = Stage(before).play(*begun)
    stage.feed.flush()
    return stage, [told for told in rest if isinstance(told[0], BlockGrew)]


def keys(message: dict[str, object]) -> list[str]:
    changes = message["changes"]
    assert isinstance(changes, list)
    return [change["key"] for change in changes]


def test_many_deltas_are_one_message_with_one_append() -> None:
    stage, growth = streaming(WORDS)
    assert len(growth) > 10
    stage.play(*growth)
    (message,) = stage.flushed()
    appended = [change for change in message["changes"] if "text" in change]
    assert appended == [{"key": "it0.block0", "text": WORDS}]
    assert keys(message) == ["it0.block0", "it0.summary"]


def test_the_line_of_an_iteration_is_sent_only_while_it_changes() -> None:
    stage, growth = streaming("One line.\n" + WORDS)
    half = len(growth) // 2
    stage.play(*growth[:half])
    assert keys(stage.flushed()[0]) == ["it0.block0", "it0.summary"]
    stage.play(*growth[half:])
    assert keys(stage.flushed()[0]) == ["it0.block0"]


def test_what_did_not_change_is_not_sent() -> None:
    stage, growth = streaming(WORDS)
    stage.play(*growth).feed.flush()
    assert stage.flushed() == []
    assert Stage(stage.transcript).flushed() == []


def test_messages_are_numbered_without_a_gap() -> None:
    before, events = recorded(*CALLS, "Done.")
    stage = Stage(before)
    for number, told in enumerate(events):
        stage.play(told).feed.flush()
        if number % 5 == 0:
            stage.feed.snapshot()
        if number % 7 == 0:
            stage.feed.refuse("no")
    assert [message["seq"] for message in stage.sent] == list(
        range(1, len(stage.sent) + 1)
    )


def test_a_snapshot_holds_what_was_noted_so_nothing_is_sent_twice() -> None:
    stage, growth = streaming(WORDS)
    stage.play(*growth).feed.snapshot()
    assert stage.flushed() == []
    assert stage.view.root == stage.truth


def in_pieces(text: str, transcript: Transcript, block: int = 0) -> Recording:
    """The growth of a block by this text, a few letters at a time."""
    growth = []
    for place in range(0, len(text), 5):
        piece = text[place : place + 5]
        event = BlockGrew(iteration=0, block=block, part="text", text=piece)
        transcript = fold(transcript, event)
        growth.append((event, transcript))
    return growth


def test_a_key_that_completes_while_it_streams_is_taken_back() -> None:
    stage, _ = streaming("Words.")
    for told in in_pieces(f"The key {KEY} is yours.", stage.transcript):
        stage.play(told).feed.flush()
        assert stage.view.root == stage.truth
    assert f"The key {REDACTED} is yours." in stage.view.root.text
    assert KEY[:10] not in stage.view.root.text


def test_a_reply_rendered_anew_is_not_appended_to_as_well() -> None:
    stage, _ = streaming("Words.")
    begun = BlockStarted(iteration=0, block=1, content=say(""))
    stage.play((begun, fold(stage.transcript, begun)))
    stage.play(*in_pieces("The key sk-", stage.transcript)).feed.flush()
    stage.play(*in_pieces(KEY.removeprefix("sk-"), stage.transcript))
    stage.play(*in_pieces("More words.", stage.transcript, block=1))
    (message,) = stage.flushed()
    assert keys(message) == ["it0"]
    assert stage.view.root == stage.truth
    assert stage.view.root.text.count("More words.") == 1


@pytest.mark.parametrize("odd", ["bell \x07 and \x1b[31m", "lines\r\nend\r", "\ud800"])
def test_odd_characters_stream_as_they_are_shown_later(odd: str) -> None:
    stage, growth = streaming("One. " + "Two. " * 20)
    transcript = growth[-1][1]
    grown = BlockGrew(iteration=0, block=0, part="text", text=odd)
    stage.play(*growth).feed.flush()
    stage.play((grown, fold(transcript, grown))).feed.flush()
    assert stage.view.root == stage.truth
    assert stage.view.root.text.encode("utf-8")


def test_one_edit_touches_every_toggle() -> None:
    before, events = recorded(*CALLS, "Done.")
    stage = Stage(before).play(*events)
    stage.feed.flush()
    edited = EditApplied(edit=ToggleCache("toolu_01"), by="person")
    stage.play((edited, fold(stage.transcript, edited)))
    (message,) = stage.flushed()
    assert keys(message) == [
        "next",
        *("it0.call.toolu_01", "it0.summary"),
        *("it1.call.toolu_02", "it1.summary"),
    ]


def test_the_iteration_before_is_rendered_again_when_one_begins() -> None:
    before, events = recorded(*CALLS, "Done.")
    second = [e for e in events if isinstance(e[0], IterationStarted)][1]
    place = events.index(second)
    stage = Stage(before).play(*events[:place])
    stage.feed.flush()
    stage.play(second)
    (message,) = stage.flushed()
    assert keys(message) == ["bar", "it0", "it1"]
    assert "open" not in stage.view.root.find("it0").attributes
    assert "open" in stage.view.root.find("it1").attributes


def test_a_refusal_is_short_and_holds_no_secret() -> None:
    stage = Stage(recorded("Hi.")[0])
    stage.feed.refuse(f"{KEY} " + "x" * 10_000)
    assert stage.sent[-1]["op"] == "refused"
    assert stage.sent[-1]["reason"].startswith(f"{REDACTED} xxx")
    assert len(stage.sent[-1]["reason"]) == 500


def test_an_event_only_wakes_the_feed_and_renders_nothing() -> None:
    before, events = recorded("Hi.")
    stage = Stage(before)
    stage.feed.changed.clear()
    stage.play(events[0])
    assert stage.feed.changed.is_set()
    assert len(stage.sent) == 1
    stage.feed.flush()
    assert not stage.feed.changed.is_set()


def test_a_long_run_is_told_in_messages_of_the_size_of_what_changed() -> None:
    calls = [[use("get_weather", location=f"city {n}")] for n in range(40)]
    before, events = recorded(*calls, "Done.")
    stage = Stage(before)
    for told in events:
        stage.play(told).feed.flush()
    sizes = [len(str(message)) for message in stage.sent if message["op"] == "patch"]
    assert max(sizes[-20:]) < 2 * max(sizes[:20])
