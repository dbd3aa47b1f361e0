"""The transcript that the benches show: the same words in every way of showing it.

Its events are made and folded here, not run, so that what is measured is the showing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.core import events
from nbrunner.core.fold import fold
from nbrunner.core.request import Settings
from nbrunner.core.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = ("The model says something about the weather in a few sentences. " * 5)[:300]
INPUT = {"city": "Paris", "units": "metric", "days": list(range(40))}
RESULT = ("row value " * 60)[:400]
QUESTION = {"role": "user", "content": "What's the weather like in Paris?"}

Told = tuple[events.Event, Transcript]


def begun() -> Transcript:
    """The transcript before anything has happened."""
    settings = Settings(model="claude-opus-5", max_tokens=1024)
    return Transcript(settings=settings, source="live", messages=(QUESTION,))


def story(iterations: int) -> list[list[Told]]:
    """What happened in each iteration, each event with the transcript after it."""
    transcript, told = begun(), []
    for index in range(iterations):
        happened = []
        for event in _events(index, is_last=index == iterations - 1):
            transcript = fold(transcript, event)
            happened.append((event, transcript))
        told.append(happened)
    return told


def _events(index: int, *, is_last: bool) -> Iterator[events.Event]:
    if index == 0:
        yield events.RunStarted(source="live")
    call_id = f"toolu_{index}"
    yield events.IterationStarted(iteration=index)
    yield events.ReplyFinished(
        iteration=index, message=_message(index, call_id), elapsed_s=1.5
    )
    yield events.CallStarted(iteration=index, call_id=call_id, executed_input=INPUT)
    yield events.CallFinished(
        iteration=index, call_id=call_id, outcome="ok", content=RESULT, elapsed_s=0.1
    )
    result = {"type": "tool_result", "tool_use_id": call_id, "content": RESULT}
    yield events.ResultsFinished(
        iteration=index, message={"role": "user", "content": [result]}
    )
    if is_last:
        yield events.RunFinished(stopped_by="max_iterations")


def _message(index: int, call_id: str) -> dict[str, Any]:
    call = {"type": "tool_use", "id": call_id, "name": "get_weather", "input": INPUT}
    return {
        "id": f"msg_{index}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [{"type": "text", "text": TEXT}, call],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 23},
    }
