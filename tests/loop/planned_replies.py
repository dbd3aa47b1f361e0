"""Replies made up by hypothesis, and a wire that gives them when they are asked for."""

from __future__ import annotations

import itertools
import json
from collections import deque
from typing import Any

import httpx2
from hypothesis import strategies as st

from nbrunner import replay
from nbrunner.replay import cut, fail, reply, say, think

COMPACTED = {"type": "compaction", "content": "They added.", "encrypted_content": "E="}

# Plans: their calls get ids when they are asked for.
_called = ["work", "work", "work", "fail", "nobody", "quit", "spare", "spare"]
calls = st.tuples(st.just("call"), st.sampled_from(_called))
said = st.sampled_from(["Let me see.", "It is 3.", "ß 🌞"])
blocks = st.lists(
    st.one_of(calls, calls, calls, said, st.just(""), st.just(("think", "Hm."))),
    min_size=1,
    max_size=4,
)
reasons = st.sampled_from(
    [None, None, None, None, "pause_turn", "max_tokens", "refusal"]
)
replies = st.one_of(
    st.tuples(st.just("whole"), blocks, reasons),
    st.tuples(st.just("whole"), blocks, reasons),
    st.tuples(st.just("whole"), blocks, reasons),
    st.tuples(st.just("fails"), st.sampled_from([400, 429, 529]), st.none()),
    st.tuples(
        st.just("breaks"),
        blocks,
        st.sampled_from([None, "drop", "overloaded_error"]),
    ),
)
plans = st.lists(replies, max_size=3)


def bytes_of(content: Any) -> str:
    """The content letter by letter, save the order of keys, which is the SDK's."""
    return json.dumps(content, sort_keys=True)


class Replies(httpx2.BaseTransport):
    """Answers with what is planned, and then with a last word.

    Attributes:
        planned: The plans that have not been asked for yet.
        bodies: What was asked, checked up to `checked`.
        given: The content of each whole reply, by the id of its message.
    """

    def __init__(self) -> None:
        self.planned: deque[Any] = deque()
        self.bodies: list[dict[str, Any]] = []
        self.given: dict[str, dict[str, Any]] = {}
        self._numbers = itertools.count(1)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.read())
        self.bodies.append(body)
        kind, what, how = (
            self.planned.popleft() if self.planned else ("whole", ["Done."], None)
        )
        reason = how if kind == "whole" else None
        if kind == "fails":
            scripted: Any = fail(what)
        else:
            is_compacting = body.get("compaction") is not None
            scripted = (
                self._summary(body, reason)
                if is_compacting
                else self._reply(what, reason)
            )
            if kind == "breaks":
                scripted = cut(scripted, 3, error=how)
        return replay.play(replay.script(scripted)).handle_request(request)

    def _summary(self, body: dict[str, Any], refused: str | None) -> Any:
        """A summary, which keeps the tools that were added and removed; or none."""
        told = [m["content"] for m in body["messages"] if m["role"] == "system"]
        block = {**COMPACTED, "tool_changes": [b for blocks in told for b in blocks]}
        content = {**block, "content": None} if refused else block
        return self._noted([content], "compaction")

    def _reply(self, planned: list[Any], stop_reason: str | None) -> Any:
        number = next(self._numbers)
        if stop_reason == "pause_turn":  # the API pauses for its own tools alone
            planned = [b for b in planned if b[:1] != ("call",)] or ["Wait."]
        content = [
            self._block(block, number, place) for place, block in enumerate(planned)
        ]
        return self._noted(content, stop_reason)

    def _noted(self, content: list[Any], stop_reason: str | None) -> Any:
        message_id = f"msg_{len(self.given) + 1:04}"
        said = reply(*content, stop_reason=stop_reason, id=message_id)
        self.given[message_id] = {
            "content": bytes_of(said.content),
            "stop_reason": said.stop_reason,
        }
        return said

    def _block(self, planned: Any, number: int, place: int) -> Any:
        if isinstance(planned, str):
            return say(planned)
        kind, value = planned
        if kind == "think":
            return think(value, f"signed {number}")
        call_id = f"toolu_{number}_{place}"
        call_input = {"n": call_id, "how": "as told"}
        return {"type": "tool_use", "id": call_id, "name": value, "input": call_input}
