from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from anthropic import beta_tool

from nbrunner import Run, replay
from nbrunner.errors import UsageError
from nbrunner.replay import fail, say, script, use


def test_a_message_after_the_end_goes_out_when_someone_waits_again() -> None:
    replies = replay.play(script("Hello.", "And again."))
    run = Run(client=replies, messages="Hi")
    run.wait()
    run.inject("Once more.")
    assert run.wait().text == "And again."
    assert replies.requests[1]["messages"][-1]["content"][0]["text"] == "Once more."


def test_the_last_allowed_iteration_can_be_retried() -> None:
    replies = replay.play(script(fail(529), "Hello."))
    run = Run(client=replies, messages="Hi", max_iterations=1)
    assert run.wait().stopped_by == "error"
    run.retry()
    assert run.wait().text == "Hello."


@pytest.mark.parametrize(
    ("message", "seen"),
    [({"content": "hi"}, "dict"), ({"role": "user"}, "dict"), ("hi", "str")],
)
def test_a_message_that_is_none_is_refused_at_the_door(message: Any, seen: str) -> None:
    with pytest.raises(UsageError, match=rf"messages\[0\] is {seen}"):
        Run(client=script("Hello."), messages=[message])


def test_parameters_are_taken_as_they_are_when_the_run_is_made() -> None:
    replies = replay.play(script("Hello."))
    metadata = {"user_id": "me"}
    run = Run(client=replies, messages="Hi", metadata=metadata)
    metadata["user_id"] = "someone else"
    run.wait()
    assert replies.requests[0]["metadata"] == {"user_id": "me"}


@pytest.mark.parametrize("part", [b"raw", math.nan, Path("a.png"), object()])
def test_a_block_that_cannot_go_out_becomes_a_sentence(part: Any) -> None:
    @beta_tool
    def look() -> Any:
        """Look."""
        source = {"type": "base64", "media_type": "image/png", "data": part}
        return [{"type": "image", "source": source}]

    run = Run(client=script(use("look"), say("I see.")), tools=[look], messages="Hi")
    assert run.wait().stopped_by == "end_turn"
    (call,) = run.transcript.iterations[0].tool_calls
    assert "content blocks that are not JSON" in call.result
    assert run.messages[2]["content"][0]["content"] == call.result


def test_going_on_takes_back_a_pause_that_waits() -> None:
    run = Run(client=script("Hello."), messages="Hi")
    run.pause()
    assert [command.kind for command in run.transcript.asked] == ["pause"]
    run.resume()
    assert run.wait().stopped_by == "end_turn"
    assert run.transcript.asked == ()


def test_a_reply_that_was_stopped_half_way_is_the_next_again() -> None:
    replies = replay.play(script("A few words, and some more of them.", "Another."))
    run = Run(client=replies, messages="Hi")

    def stop_at_the_first_words(event: Any, _: Any) -> None:
        if event.kind == "block_grew" and not run.transcript.iterations[0].failures:
            run.stop()

    unsubscribe = run.subscribe(stop_at_the_first_words)
    assert run.wait().stopped_by == "person"
    unsubscribe()
    run.start()
    assert run.wait().text == "A few words, and some more of them."


def test_a_transcript_and_a_cassette_say_in_short_what_they_are() -> None:
    cassette = script("Hello.")
    run = Run(client=cassette, messages="Hi")
    assert repr(cassette) == "<Cassette: 1 scripted replies>"
    assert repr(run.wait()) == "<Transcript: 1 iterations, end_turn>"
