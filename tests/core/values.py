"""Conversations and transcripts for the tests of the core, made up by hypothesis."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from nbrunner.core.commands import Inject, Pause, Resume, Retry, Step, Stop, Submit
from nbrunner.core.edits import ToggleCache
from nbrunner.core.events import (
    Asked,
    BlockGrew,
    BlockStarted,
    CallFinished,
    CallPrinted,
    CallStarted,
    Event,
    Failure,
    Halted,
    IterationStarted,
    ReplyFinished,
    RequestFailed,
    ResultsFinished,
    ResultsGiven,
    Resumed,
    RunFinished,
    RunStarted,
)
from nbrunner.core.fold import fold
from nbrunner.core.request import Settings
from nbrunner.core.transcript import Transcript

if TYPE_CHECKING:
    from nbrunner.core.blocks import Message

MARK = {"type": "ephemeral"}
SETTINGS = Settings(model="claude-opus-5", max_tokens=100)
HELLO: Message = {"role": "user", "content": "Hello"}

texts = st.text(
    alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=6,
)
maybe_marked = st.booleans()


def use(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "add", "input": {}, **more}


def result(call_id: str, content: Any = "3", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**block, **more}


def text(words: str = "so", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def reply(*blocks: dict[str, Any], stop_reason: str | None = None) -> dict[str, Any]:
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": list(blocks),
        "stop_reason": stop_reason or ("tool_use" if calls else "end_turn"),
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }


def folded(*events: Event, start: Transcript | None = None) -> Transcript:
    transcript = start or Transcript(settings=SETTINGS, messages=(HELLO,))
    for event in events:
        transcript = fold(transcript, event)
    return transcript


def frozen(value: Any) -> str:
    """A value as text, to see whether anything in it has been changed."""
    return repr(value)


def is_json(value: Any) -> bool:
    json.dumps(value, ensure_ascii=False).encode()
    return True


@st.composite
def marked_messages(draw: st.DrawFn) -> list[Message]:
    """Messages with marks at every depth at which the API takes them."""

    def block(depth: int) -> dict[str, Any]:
        mark = {"cache_control": MARK} if draw(maybe_marked) else {}
        kind = draw(st.sampled_from(["text", "tool_result", "document", "tool_use"]))
        if depth and kind == "tool_result":
            inner = [block(depth - 1) for _ in range(draw(st.integers(0, 2)))]
            return result("t", inner, **mark)
        if depth and kind == "document":
            inner = [block(depth - 1) for _ in range(draw(st.integers(0, 2)))]
            source = {"type": "content", "content": inner}
            return {"type": "document", "source": source, **mark}
        if kind == "tool_use":
            # What the model writes is no mark of ours.
            return use("t", input={"content": [{"cache_control": MARK}]}, **mark)
        return text(**mark)

    return [
        {
            "role": draw(st.sampled_from(["user", "assistant"])),
            "content": draw(texts)
            if draw(st.booleans())
            else [block(2) for _ in range(draw(st.integers(0, 3)))],
        }
        for _ in range(draw(st.integers(0, 4)))
    ]


@st.composite
def stories(draw: st.DrawFn) -> list[Event]:
    """The events of a run that got as far as it happened to get."""
    events: list[Event] = [RunStarted(source="scripted")]
    for iteration in range(draw(st.integers(0, 3))):
        events.append(IterationStarted(iteration=iteration))
        while draw(st.integers(0, 3)) == 0:
            events += _attempt_failed(draw, iteration)
            events.append(IterationStarted(iteration=iteration))
        calls = [use(f"t{iteration}_{n}") for n in range(draw(st.integers(0, 3)))]
        if draw(st.booleans()):
            calls = [{**call, "toolset_name": "browser"} for call in calls]
        events += _streamed(draw, iteration)
        message = reply(text(draw(texts)), *calls)
        events.append(
            ReplyFinished(iteration=iteration, message=message, elapsed_s=0.5)
        )
        if calls:
            events += _answered(draw, iteration, calls)
    return events[: draw(st.integers(0, len(events)))]


def _attempt_failed(draw: st.DrawFn, iteration: int) -> list[Event]:
    failure = Failure(kind="api", message="no", advice="again")
    return [
        *_streamed(draw, iteration),
        RequestFailed(iteration=iteration, failure=failure),
    ]


def _streamed(draw: st.DrawFn, iteration: int) -> list[Event]:
    place = {"iteration": iteration, "block": 0}
    return [
        BlockStarted(**place, content=text("")),
        *(BlockGrew(**place, part="text", text=draw(texts)) for _ in range(2)),
    ][: draw(st.integers(0, 3))]


def _answered(draw: st.DrawFn, iteration: int, calls: list[Any]) -> list[Event]:
    events: list[Event] = []
    for call in calls:
        if draw(st.integers(0, 3)) == 0:
            given = {"role": "user", "content": [result(call["id"], draw(texts))]}
            events.append(ResultsGiven(iteration=iteration, message=given))
        place = {"iteration": iteration, "call_id": call["id"]}
        events.append(CallStarted(**place, executed_input=draw(json_values)))
        events.append(CallPrinted(**place, text=draw(texts)))
        outcome = draw(st.sampled_from(["ok", "error", "invalid", "interrupted"]))
        events.append(CallFinished(**place, outcome=outcome, content=draw(texts)))
    content = [
        result(
            call["id"],
            **({"toolset_name": "browser"} if "toolset_name" in call else {}),
        )
        for call in calls
    ]
    message = {"role": "user", "content": content}
    return [*events, ResultsFinished(iteration=iteration, message=message)]


commands = st.sampled_from(
    [
        Pause(),
        Resume(),
        Step(),
        Stop(),
        Retry(),
        Submit(edit=ToggleCache("t0_0")),
        Inject(note_id="n1", text="Be brief."),
        Inject(note_id="n2", text="Be kind."),
    ]
)


@st.composite
def steered_stories(draw: st.DrawFn) -> list[Event]:
    """The same, with people asking things in between."""
    events: list[Event] = []
    for event in draw(stories()):
        events.append(event)
        while draw(st.integers(0, 4)) == 0:
            events.append(Asked(command=draw(commands), by="person"))
        if draw(st.integers(0, 9)) == 0:
            events += [Halted(why="paused"), Resumed()]
    if draw(st.booleans()):
        events.append(RunFinished(stopped_by="end_turn"))
    return events
