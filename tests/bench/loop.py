"""The loop's cost: a `Run` against the bare SDK runner on the same replies.

CPU seconds of the process, best of several, taken by turns so that what else the
machine does meets all alike; the ratio is what counts. The replies come from a
transport that makes them by counting, so that it costs little.
"""

from __future__ import annotations

import gc
import json
import time
from functools import partial
from typing import TYPE_CHECKING

import anthropic
import httpx2
from anthropic import beta_tool

from nbrunner import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HEAD = """\
| iterations | stream | bare (s) | Run (s) | ratio | SDK default (s) | best of |
|---|---|---|---|---|---|---|"""
ROUNDS = ((10, 5), (100, 5), (300, 5), (1000, 2))
"""How many iterations, and how often: the last takes a minute each time."""

_AT_ONCE = 100
"""Iterations measured at once: a few of them are too short for the clock."""


@beta_tool
def look(page: int) -> str:
    """Look at a page.

    Args:
        page: Which.
    """
    return f"This is what stands on page {page}, in a sentence or two of text."


class Counting(httpx2.BaseTransport):
    """Answers with `calls` tool calls, one a reply, then with a last word."""

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._answered = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request without looking at it."""
        request.read()
        self._answered += 1
        message = _message(self._answered, more=self._answered < self._calls)
        if b'"stream":true' in request.content:
            events = b"".join(_events(message))
            headers = {"content-type": "text/event-stream"}
            return httpx2.Response(200, content=events, headers=headers)
        return httpx2.Response(200, json=message)


def _message(number: int, *, more: bool) -> dict[str, object]:
    call = {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": "look",
        "input": {"page": number},
    }
    text = {"type": "text", "text": "Some words of the model come first. " * 4}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [text, call] if more else [text],
        "stop_reason": "tool_use" if more else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def _events(message: dict[str, object]) -> list[bytes]:
    start = {**message, "content": [], "stop_reason": None}
    events: list[dict[str, object]] = [{"type": "message_start", "message": start}]
    blocks = message["content"]
    assert isinstance(blocks, list)
    for index, block in enumerate(blocks):
        whole = block.get("text") or json.dumps(block["input"])
        kind = "text" if block["type"] == "text" else "input_json"
        key = "text" if kind == "text" else "partial_json"
        empty = {**block, "text": ""} if kind == "text" else {**block, "input": {}}
        at = {"index": index}
        events.append({"type": "content_block_start", **at, "content_block": empty})
        events += [
            {
                "type": "content_block_delta",
                **at,
                "delta": {"type": f"{kind}_delta", key: whole[place : place + 24]},
            }
            for place in range(0, len(whole), 24)
        ]
        events.append({"type": "content_block_stop", **at})
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": 20}
    events.append({"type": "message_delta", "delta": ended, "usage": usage})
    events.append({"type": "message_stop"})
    return [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events]


def client_of(calls: int) -> anthropic.Anthropic:
    """A client whose replies count to `calls`."""
    http_client = httpx2.Client(transport=Counting(calls))
    return anthropic.Anthropic(api_key="none", http_client=http_client)


def by_run(calls: int, *, stream: bool) -> None:
    """The loop as we drive it."""
    run = Run(client=client_of(calls), tools=[look], messages="Read on.", stream=stream)
    run.wait()
    assert run.stopped_by == "end_turn"


def by_sdk(calls: int, *, stream: bool, **threads: bool) -> None:
    """The loop as the SDK drives it."""
    runner = client_of(calls).beta.messages.tool_runner(
        model="claude-opus-5",
        max_tokens=1024,
        tools=[look],
        messages=[{"role": "user", "content": "Read on."}],
        stream=stream,
        **threads,
    )
    runner.until_done()


def cpu_s(works: Sequence[Callable[[], None]], times: int, at_once: int) -> list[float]:
    """The least CPU seconds that each of the works took, by turns."""
    best = [float("inf")] * len(works)
    for _ in range(times):
        for number, work in enumerate(works):
            gc.collect()
            started = time.process_time()
            for _ in range(at_once):
                work()
            took = (time.process_time() - started) / at_once
            best[number] = min(best[number], took)
    return best


def row(calls: int, times: int, *, stream: bool) -> str:
    """Measure one line of the table."""
    works = (
        partial(by_sdk, calls, stream=stream, thread=False),
        partial(by_run, calls, stream=stream),
        partial(by_sdk, calls, stream=stream),
    )
    bare, ours, threads = cpu_s(works, times, max(1, _AT_ONCE // calls))
    facts = [
        str(calls),
        "yes" if stream else "no",
        f"{bare:.3f}",
        f"{ours:.3f}",
        f"{ours / bare:.2f}",
        f"{threads:.3f}",
        str(times),
    ]
    return f"| {' | '.join(facts)} |"


def table(rounds: Iterable[tuple[int, int]] = ROUNDS) -> str:
    """Measure the whole table; its lines are printed as they come."""
    for stream in (False, True):  # what is loaded and built only once
        by_run(2, stream=stream)
        by_sdk(2, stream=stream, thread=False)
    lines = [HEAD]
    for calls, times in rounds:
        for stream in (False, True):
            lines.append(row(calls, times, stream=stream))
            print(lines[-1], flush=True)
    return "\n".join(lines)
