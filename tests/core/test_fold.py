from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from nbrunner.core import events
from nbrunner.core.blocks import Value
from nbrunner.core.closing import INTERRUPTED, NOT_RUN, awaits_results, closing_events
from nbrunner.core.commands import Inject, Pause, Submit, Withdraw, WithdrawEdit
from nbrunner.core.edits import ToggleCache
from nbrunner.core.events import (
    Asked,
    BlockGrew,
    BlockStarted,
    CallFinished,
    CallStarted,
    CommandRefused,
    EditApplied,
    EditRefused,
    Event,
    Failure,
    IterationStarted,
    ReplyFinished,
    RequestFailed,
    ResultsFinished,
    RunFinished,
    RunStarted,
)
from nbrunner.core.fold import fold
from nbrunner.core.given import given_by_id
from nbrunner.core.note import Note
from nbrunner.core.transcript import Transcript
from nbrunner.core.usage import Usage
from tests.core.values import (
    HELLO,
    SETTINGS,
    folded,
    frozen,
    reply,
    result,
    steered_stories,
    stories,
    text,
    use,
)
from tests.loop.api_rules import broken_rule

adapter: TypeAdapter[Event] = TypeAdapter(Event)

CALLED = (
    RunStarted(source="scripted"),
    IterationStarted(iteration=0),
    ReplyFinished(iteration=0, message=reply(use("a"), use("b")), elapsed_s=1.0),
)


@given(steered_stories())
def test_folding_changes_no_transcript_that_was_there_before(
    story: list[Event],
) -> None:
    transcript = Transcript(settings=SETTINGS, messages=(HELLO,))
    seen: list[tuple[Transcript, str]] = []
    for event in story:
        seen.append((transcript, frozen(transcript)))
        told = frozen(event)
        transcript = fold(transcript, event)
        assert frozen(event) == told
    assert all(frozen(before) == as_it_was for before, as_it_was in seen)


@given(steered_stories())
def test_every_event_is_json_in_and_out_and_folds_to_the_same(
    story: list[Event],
) -> None:
    stored = [adapter.validate_json(adapter.dump_json(event)) for event in story]
    assert stored == story
    assert folded(*stored) == folded(*story)


@given(stories(), st.sampled_from(["person", "error"]))
def test_a_run_that_ends_anywhere_can_go_on(story: list[Event], why: str) -> None:
    transcript = folded(*story)
    closed = folded(*closing_events(transcript, why), start=transcript)
    assert closed.status == "finished"
    assert closed.stopped_by == why
    assert (
        broken_rule(closed.next_request((Note(id="n", text="Go on."),)).body()) is None
    )
    assert not awaits_results(closed)
    calls = closed.last.tool_calls if closed.last else ()
    assert all(call.is_answered for call in calls)
    if closed.last is not None and closed.last.reply is None:
        assert closed.last.has_failed


@given(stories())
def test_closing_adds_results_and_changes_none_but_to_what_was_given(
    story: list[Event],
) -> None:
    transcript = folded(*story)
    closed = folded(*closing_events(transcript), start=transcript)
    assert closed.messages[: len(transcript.messages)] == transcript.messages
    for before, after in zip(transcript.iterations, closed.iterations, strict=True):
        given = given_by_id(before.given)
        for call, later in zip(before.tool_calls, after.tool_calls, strict=True):
            if call.id in given:
                assert later.result == given[call.id]["content"]
            elif call.is_answered:
                assert later == call


def test_closing_tells_the_call_that_ran_from_the_one_that_did_not() -> None:
    started = CallStarted(iteration=0, call_id="a", executed_input={})
    transcript = folded(*CALLED, started)
    closed = folded(*closing_events(transcript), start=transcript)
    assert closed.messages[-1]["content"] == [
        result("a", INTERRUPTED, is_error=True),
        result("b", NOT_RUN, is_error=True),
    ]


def test_every_event_has_its_fold_and_nothing_else_has() -> None:
    kinds = get_args(get_args(Event)[0])
    assert {kind.__name__ for kind in kinds} == {
        name
        for name, value in vars(events).items()
        if isinstance(value, type)
        and issubclass(value, Value)
        and value.__module__ == events.__name__
        and "kind" in value.model_fields
        and value is not Failure
    }

    class Stranger(Value):
        kind: str = "stranger"

    with pytest.raises(TypeError, match="no fold for Stranger"):
        fold(folded(), Stranger())


SAMPLES: list[Event] = [
    RunStarted(source="recorded"),
    EditApplied(edit=ToggleCache("a"), by="code"),
    EditRefused(edit=ToggleCache("a"), reason="no"),
    CommandRefused(command=Pause(), reason="no"),
    IterationStarted(
        iteration=1, notes=(Note(id="n", text="x"),), dropped_marks=("messages[0]",)
    ),
    RequestFailed(
        iteration=0,
        failure=Failure(
            kind="api",
            message="no",
            advice="again",
            status=500,
            request_id="r",
            retryable=True,
            partial=(text(),),
        ),
    ),
    CallFinished(
        iteration=0,
        call_id="a",
        outcome="ok",
        content=[text()],
        traceback="t",
        elapsed_s=0.5,
        remark="r",
    ),
    Asked(command=Withdraw(note_id="n"), by="code"),
    Asked(command=WithdrawEdit(edit_id="e"), by="person"),
]


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: event.kind)
def test_an_event_with_all_its_fields_is_json_in_and_out(event: Event) -> None:
    assert adapter.validate_json(adapter.dump_json(event)) == event


@pytest.mark.parametrize("bad", ['{"kind": "unheard"}', "{}", '{"kind": "halted"}'])
def test_what_is_no_event_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        adapter.validate_json(bad)


def test_a_streamed_reply_grows_piece_by_piece() -> None:
    place = {"iteration": 0, "block": 1}
    transcript = folded(
        IterationStarted(iteration=0),
        BlockStarted(iteration=0, block=0, content=text("")),
        BlockGrew(iteration=0, block=0, part="text", text="Let "),
        BlockGrew(iteration=0, block=0, part="text", text="me."),
        BlockStarted(**place, content=use("a")),
        BlockGrew(**place, part="input", text='{"a"'),
        BlockGrew(**place, part="input", text=": 1}"),
    )
    assert transcript.iterations[0].blocks == (
        text("Let me."),
        {**use("a"), "partial_json": '{"a": 1}'},
    )
    assert transcript.text == "Let me."


def test_a_reply_replaces_what_was_streamed_of_it() -> None:
    message = reply(text("Whole."))
    transcript = folded(
        IterationStarted(iteration=0),
        BlockStarted(iteration=0, block=0, content=text("Who")),
        ReplyFinished(iteration=0, message=message, elapsed_s=2.0),
    )
    assert transcript.iterations[0].blocks == (text("Whole."),)
    assert transcript.iterations[0].reply == message
    assert transcript.messages == (
        HELLO,
        {"role": "assistant", "content": [text("Whole.")]},
    )


def test_results_are_shown_as_they_were_sent() -> None:
    message = {
        "role": "user",
        "content": [result("a", "mended"), result("b", is_error=True)],
    }
    finished = CallFinished(iteration=0, call_id="a", outcome="ok", content="broken")
    transcript = folded(
        *CALLED, finished, ResultsFinished(iteration=0, message=message)
    )
    first, second = transcript.iterations[0].tool_calls
    assert (first.result, first.status) == ("mended", "ok")
    assert (second.result, second.status) == ("3", "error")


def test_results_of_calls_that_are_not_in_the_message_stay_open() -> None:
    message = {"role": "user", "content": [result("a")]}
    transcript = folded(*CALLED, ResultsFinished(iteration=0, message=message))
    assert [call.is_answered for call in transcript.iterations[0].tool_calls] == [
        True,
        False,
    ]


def test_what_is_asked_waits_until_it_is_done_or_refused() -> None:
    edit = ToggleCache("a")
    waiting = folded(
        Asked(command=Submit(edit=edit), by="person"), Asked(command=Pause(), by="code")
    )
    assert waiting.asked == (Submit(edit=edit), Pause())
    assert folded(EditApplied(edit=edit, by="person"), start=waiting).asked == (
        Pause(),
    )
    refused = folded(EditRefused(edit=edit, reason="no"), start=waiting)
    assert refused.asked == (Pause(),)
    assert refused.refused == (edit, "no")
    assert folded(Asked(command=Pause(), by="code"), start=refused).refused is None
    assert folded(
        CommandRefused(command=Pause(), reason="no"), start=waiting
    ).asked == (Submit(edit=edit),)
    ended = folded(RunFinished(stopped_by="end_turn"), start=waiting)
    assert ended.asked == (Submit(edit=edit),)


def test_of_two_edits_that_are_equal_the_one_that_is_named_is_taken_back() -> None:
    first, second = (Submit(edit=ToggleCache("a"), edit_id=name) for name in "12")
    both = folded(*(Asked(command=it, by="code") for it in (first, second)))
    taken = Asked(command=WithdrawEdit(edit_id="2"), by="person")
    assert folded(taken, start=both).asked == (first,)
    made = EditApplied(edit=ToggleCache("a"), by="code")
    assert folded(made, start=both).asked == (second,)
    other = Submit(edit=ToggleCache("b"), edit_id="0")
    mixed = both.model_copy(update={"asked": (other, first)})
    assert folded(made, start=mixed).asked == (other,)
    nobodys = Asked(command=WithdrawEdit(edit_id="3"), by="person")
    assert folded(nobodys, start=both).asked == (first, second)


def test_a_refusal_of_what_nobody_asked_changes_nothing_that_waits() -> None:
    transcript = folded(CommandRefused(command=Pause(), reason="no"))
    assert transcript.asked == ()
    assert transcript.refused == (Pause(), "no")


def test_a_note_waits_until_it_goes_out_or_is_taken_back() -> None:
    first = Asked(command=Inject(note_id="1", text="one"), by="person")
    second = Asked(command=Inject(note_id="2", text="two"), by="person")
    waiting = folded(first, second, Asked(command=Withdraw(note_id="1"), by="person"))
    assert waiting.waiting == (Note(id="2", text="two"),)
    sent = folded(IterationStarted(iteration=0, notes=waiting.outgoing), start=waiting)
    assert sent.waiting == ()
    assert sent.messages[-1]["content"] == [text("two")]
    assert sent.iterations[0].injected == ("two",)


def test_usage_counts_the_whole_prompt() -> None:
    usage = Usage.of(
        {
            "input_tokens": 3,
            "output_tokens": 5,
            "cache_creation_input_tokens": None,
            "cache_read_input_tokens": 7,
            "of_the_future": {"x": 1},
        }
    )
    assert usage.prompt_tokens == 10
    assert usage + Usage(output_tokens=1) == Usage(
        input_tokens=3, output_tokens=6, cache_read_input_tokens=7
    )
    assert Usage.of(None) == Usage()


def test_a_run_uses_what_its_replies_use() -> None:
    transcript = folded(*CALLED)
    assert transcript.usage == Usage(input_tokens=1, output_tokens=2)
    assert folded(IterationStarted(iteration=0)).usage == Usage()


def test_a_transcript_knows_its_last_iteration_and_its_calls() -> None:
    assert folded().last is None
    assert folded().text == ""
    transcript = folded(*CALLED)
    found = transcript.find_call("b")
    assert found is not None
    assert found[1].id == "b"
    assert transcript.find_call("z") is None
    assert transcript.last is not None
    assert transcript.last.call("z") is None


def test_nothing_in_a_transcript_can_be_set() -> None:
    with pytest.raises(ValueError, match="frozen"):
        folded().status = "paused"


@pytest.mark.parametrize("reason", ["pause_turn", "compaction"])
def test_a_reply_that_the_api_wants_back_is_sent_back_alone(reason: str) -> None:
    message: Any = reply(text("and"), stop_reason=reason)
    transcript = folded(
        Asked(command=Inject(note_id="1", text="one"), by="person"),
        IterationStarted(iteration=0),
        ReplyFinished(iteration=0, message=message, elapsed_s=1.0),
    )
    assert transcript.is_sent_back
    assert transcript.outgoing == ()
    assert transcript.next_request().messages == transcript.messages
