"""Replies and hands made up by hypothesis, and a run that they are laid on."""

from __future__ import annotations

import itertools
import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
from anthropic import beta_tool
from hypothesis import strategies as st
from pydantic import TypeAdapter

from nbrunner import (
    EditResult,
    Run,
    SetMessages,
    SetParams,
    SetSystem,
    ToggleCache,
    ask,
    replay,
)
from nbrunner.core.edits import ChangeTools
from nbrunner.core.events import Event
from nbrunner.core.fold import fold
from nbrunner.core.offers import offer_named
from nbrunner.replay import cut, fail, reply, say, think
from tests.loop.api_rules import broken_rule
from tests.loop.steering import join, workers

if TYPE_CHECKING:
    from nbrunner import Transcript

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)

# -- what Claude says: plans, whose calls get their ids when they are asked for -----

_called = ["work", "work", "work", "fail", "nobody", "quit"]
calls = st.tuples(st.just("call"), st.sampled_from(_called))
said = st.sampled_from(["Let me see.", "It is 3.", "ß 🌞"])
blocks = st.lists(
    st.one_of(calls, calls, said, st.just(""), st.just(("think", "Hm."))),
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
        self.bodies.append(json.loads(request.read()))
        kind, what, how = (
            self.planned.popleft() if self.planned else ("whole", ["Done."], None)
        )
        if kind == "fails":
            scripted: Any = fail(what)
        else:
            scripted = self._reply(what, how if kind == "whole" else None)
            if kind == "breaks":
                scripted = cut(scripted, 3, error=how)
        return replay.play(replay.script(scripted)).handle_request(request)

    def _reply(self, planned: list[Any], stop_reason: str | None) -> Any:
        number = next(self._numbers)
        if stop_reason == "pause_turn":  # the API pauses for its own tools alone
            planned = [b for b in planned if b[:1] != ("call",)] or ["Wait."]
        message_id = f"msg_{number:04}"
        content = [
            self._block(block, number, place) for place, block in enumerate(planned)
        ]
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


# -- what a person does -------------------------------------------------------------

places = st.sampled_from(
    ["system", "tools", "request", "results", "messages[0].content[0]", "newest call"]
)
hands = st.one_of(
    st.tuples(st.just("inject"), st.sampled_from(["Be brief.", "And 4?"])),
    st.tuples(st.just("withdraw"), st.booleans()),
    st.tuples(st.just("tool"), st.sampled_from(["work", "fail"])),
    st.tuples(st.just("toggle"), places),
    st.tuples(st.just("system"), st.sampled_from([None, "Be kind.", ""])),
    st.tuples(st.just("max_tokens"), st.integers(50, 99)),
    st.tuples(st.just("messages"), st.just("Rewritten.")),
    st.tuples(st.just("result"), st.sampled_from(["edited", ""])),
    st.tuples(
        st.sampled_from(["pause", "resume", "step", "retry", "stop", "leave"]),
        st.none(),
    ),
    st.tuples(st.just("retry"), st.just("0.1")),
    st.tuples(
        st.sampled_from(["approve", "approve_rest", "modify", "reject", "answer"]),
        st.integers(0, 3),
    ),
)
EVENTS = (
    "run_started",
    "iteration_started",
    "block_started",
    "block_grew",
    "reply_finished",
    "call_asked",
    "call_decided",
    "call_started",
    "call_finished",
    "results_finished",
    "request_failed",
    "halted",
    "resumed",
    "run_held",
    "edit_applied",
)
moments = st.lists(st.tuples(st.sampled_from(EVENTS), hands), max_size=4)


class Steered:
    """A run with hands laid on it, in its own thread: at each event that is planned.

    Where the run waits for somebody, and nobody has a plan, it is let go on.
    """

    def __init__(self, **options: Any) -> None:
        self.wire = Replies()
        self.ran: Counter[str] = Counter()
        self.client = anthropic.Anthropic(
            api_key="none",
            max_retries=0,
            http_client=httpx2.Client(transport=self.wire),
        )
        asks = options.pop("asks")
        approver = {"approver": ask} if asks else {}
        self.moments: list[tuple[str, Any]] = []
        self._checked = 0
        first = Run(
            client=self.client,
            tools=self._tools(),
            messages="1 + 2?",
            max_tokens=100,
            **approver,
            **options,
        )
        self.runs: list[Run] = []
        self.refolded: dict[int, Transcript] = {}
        self.follow(first)

    def follow(self, run: Run) -> None:
        self.run = run
        self.runs.append(run)
        self.refolded[id(run)] = run.transcript

        def heard(event: Any, _transcript: Transcript) -> None:
            stored = _EVENT.validate_json(_EVENT.dump_json(event))
            self.refolded[id(run)] = fold(self.refolded[id(run)], stored)
            self._act(run, event)

        run.subscribe(heard)

    def _tools(self) -> list[Any]:
        ran = self.ran

        @beta_tool
        def work(n: str, how: str) -> str:
            """Work."""
            ran[n] += 1
            return f"{n} {how}"

        @beta_tool(name="fail")
        def failing(n: str, how: str) -> str:
            """Fail."""
            ran[n] += 1
            message = how
            raise ValueError(message)

        @beta_tool(name="quit")
        def interrupted(n: str, how: str) -> str:
            """Be interrupted."""
            ran[n] += 1
            raise KeyboardInterrupt(how)

        return [work, failing, interrupted]

    # -- laying hands on it ----------------------------------------------------------

    def _act(self, run: Run, event: Any) -> None:
        planned = next((m for m in self.moments if m[0] == event.kind), None)
        hand = None
        if planned is not None:
            self.moments.remove(planned)
            hand = planned[1]
            self.lay(run, hand)
        kind = hand[0] if hand else None
        if event.kind == "halted" and kind not in ("stop", "leave", "step"):
            run.resume()
        elif event.kind == "run_held" and kind not in ("resume", "step"):
            run.stop()
        elif event.kind == "call_asked" and kind not in ("stop", "leave"):
            run.approve(event.call_id)

    def lay(self, run: Run, hand: tuple[str, Any]) -> None:  # noqa: C901 - one row each
        kind, value = hand
        match kind:
            case "inject":
                run.inject(value)
            case "withdraw":
                notes = [note.id for note in run.transcript.waiting]
                edits = [submit.edit_id for submit in run.transcript.submitted]
                run.withdraw([*(edits if value else notes), "note_0"][0])
            case "tool":
                offer = offer_named(run.transcript, value)
                assert offer is not None
                named = {"removed" if offer.is_on else "added": (value,)}
                run.submit(ChangeTools(**named))
            case "toggle":
                place = self._call(0) if value == "newest call" else value
                run.submit(ToggleCache(place))
            case "system":
                run.submit(SetSystem(value))
            case "max_tokens":
                run.submit(SetParams(max_tokens=value))
            case "messages":
                run.submit(SetMessages([{"role": "user", "content": value}]))
            case "result":
                run.submit(EditResult(self._call(0), value))
            case "retry":
                run.retry(attempt=value)
            case "leave":
                run.stop(now=True)
            case "pause" | "resume" | "step" | "stop":
                getattr(run, kind)()
            case _:
                self._decide(run, kind, self._call(value))

    def _decide(self, run: Run, kind: str, call_id: str) -> None:
        match kind:
            case "approve":
                run.approve(call_id)
            case "approve_rest":
                run.approve(call_id, for_rest=True)
            case "modify":
                run.approve(call_id, input={"n": call_id, "how": "edited"})
            case "reject":
                run.reject(call_id, "no")
            case "answer":
                run.answer(call_id, "by hand")

    def _call(self, number: int) -> str:
        """The id of a call of the newest replies, or of none."""
        found = [c.id for i in self.run.transcript.iterations for c in i.tool_calls]
        return found[-1 - number] if number < len(found) else "toolu_0"

    # -- driving it ------------------------------------------------------------------

    def until_still(self) -> None:
        """Wait until no thread of a run is at work any more."""
        join(workers())

    def in_a_thread(self) -> None:
        if not self.run.is_running:
            self.run.start()
        self.until_still()
        worker = self.run._worker
        assert worker is None or worker.error is None, repr(worker.error)

    # -- the promises ----------------------------------------------------------------

    def hold(self) -> None:
        """What holds at every moment, whatever was done."""
        for number in range(self._checked, len(self.wire.bodies)):
            body = self.wire.bodies[number]
            assert broken_rule(body) is None, (broken_rule(body), body)
        self._checked = len(self.wire.bodies)
        twice = [call for call, times in self.ran.items() if times > 1]
        assert not twice, f"ran more than once: {twice}"
        for run in self.runs:
            assert self.refolded[id(run)] == run.transcript
            self._replies_are_kept(run)

    def _replies_are_kept(self, run: Run) -> None:
        iterations = run.transcript.iterations
        kept = [i.reply for i in iterations if i.reply is not None]
        kept += [d.reply for i in iterations for d in i.dropped]
        for message in kept:
            given = self.wire.given[message["id"]]
            assert bytes_of(message["content"]) == given["content"]
            assert message["stop_reason"] == given["stop_reason"]
        contents = {given["content"] for given in self.wire.given.values()}
        for message in run.messages:
            if message["role"] == "assistant":
                assert bytes_of(message["content"]) in contents

    def can_go_on(self, run: Run) -> None:
        """Every conversation comes to a whole end, with no hand laid on it any more."""
        self.wire.planned.clear()
        self.moments.clear()
        self.run = run
        run.inject("And then?")
        # What was left in the middle comes to its end first: a limit, or an error.
        for _ in range(3):
            self.in_a_thread()
            if (run.stopped_by, run.text) == ("end_turn", "Done."):
                break
        assert (run.stopped_by, run.text) == ("end_turn", "Done.")
        assert not run.transcript.waiting
        assert broken_rule(run.transcript.next_request().fitted().body) is None
        self.hold()
