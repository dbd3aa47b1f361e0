"""A run that hands are laid on, and the promises that it keeps all the while."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import pytest
from anthropic import beta_tool
from pydantic import TypeAdapter

from nbrunner import (
    EditResult,
    Run,
    SetMessages,
    SetParams,
    SetSystem,
    ToggleCache,
    ask,
)
from nbrunner.core.compaction import SUMMARIZE
from nbrunner.core.edits import ChangeTools, Compact
from nbrunner.core.events import Event
from nbrunner.core.fold import fold
from nbrunner.core.offers import offer_named
from nbrunner.errors import UsageError
from tests.loop.api_rules import broken_rule
from tests.loop.hands import EDITS
from tests.loop.planned_replies import Replies
from tests.loop.promises import (
    BY_HAND,
    assert_given_results_stand,
    assert_replies_are_kept,
    assert_sent_as_promised,
)
from tests.loop.steering import join

if TYPE_CHECKING:
    from nbrunner import Transcript

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class Steered:
    """A run with hands laid on it, in its own thread: at each event that is planned.

    Where the run waits for somebody, and nobody has a plan, it is let go on.

    Attributes:
        wire: What the replies come over.
        ran: How often the call of each id ran.
        run: The branch in hand, one of `runs`.
        closed: Those of `runs` that were ended for good.
        handed_in: The calls whose results the body of the own loop made.
        edited: The calls whose results a person edited.
        surprises: What a hand raised in the middle of an event, which only the log
            would tell of.
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
        stream = options.pop("stream")
        self.moments: list[tuple[str, Any]] = []
        self.closed: list[Run] = []
        self.handed_in: set[str] = set()
        self.edited: set[str] = set()
        self.surprises: list[Exception] = []
        self._checked = 0
        first = Run(
            client=self.client,
            tools=self._tools(),
            messages="1 + 2?",
            max_tokens=100,
            stream=bool(stream),
            run_tools_eagerly=stream == "eager",
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
        given: dict[str, Any] = {}

        def heard(event: Any, _transcript: Transcript) -> None:
            stored = _EVENT.validate_json(_EVENT.dump_json(event))
            self.refolded[id(run)] = fold(self.refolded[id(run)], stored)
            try:
                assert_given_results_stand(event, given)
                self._act(run, event)
            except Exception as error:  # noqa: BLE001 - told once the promises are held
                self.surprises.append(error)

        run.subscribe(heard)

    def working(self, name: str) -> Any:
        """A tool of that name that does its work."""
        ran = self.ran

        @beta_tool(name=name)
        def work(n: str, how: str) -> str:
            """Work."""
            ran[n] += 1
            return f"{n} {how}"

        return work

    def _tools(self) -> list[Any]:
        ran = self.ran

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

        return [self.working("work"), failing, interrupted]

    def plan(self, replies: list[Any], moments: list[Any]) -> None:
        """What Claude will say next, and the hands that are laid on meanwhile."""
        self.wire.planned.extend(replies)
        self.moments = moments

    # -- laying hands on it ----------------------------------------------------------

    def _act(self, run: Run, event: Any) -> None:
        planned = next((m for m in self.moments if m[0] == event.kind), None)
        hand = None
        if planned is not None:
            self.moments.remove(planned)
            hand = planned[1]
            self.lay(run, hand)
        kind = hand[0] if hand else None
        ends = ("stop", "leave", "close")
        if event.kind == "halted" and kind not in (*ends, "step"):
            self.lay(run, ("resume", None))
        elif event.kind == "run_held" and kind not in ("resume", "step"):
            run.stop()
        elif event.kind == "call_asked" and kind not in ends:
            run.approve(event.call_id)

    def lay(self, run: Run, hand: tuple[str, Any]) -> None:
        """Lay a hand on it; a closed run may refuse to go on, and no other."""
        try:
            self._lay(run, *hand)
        except UsageError as refusal:
            if run not in self.closed or "that is final" not in str(refusal):
                raise

    def _lay(self, run: Run, kind: str, value: Any) -> None:
        match kind:
            case "inject":
                run.inject(value)
            case "withdraw":
                notes = [note.id for note in run.transcript.waiting]
                edits = [submit.edit_id for submit in run.transcript.submitted]
                run.withdraw([*(edits if value else notes), "note_0"][0])
            case "retry":
                run.retry(attempt=value)
            case "leave":
                run.stop(now=True)
            case "close":
                self.closed.append(run)
                run.close()
            case "pause" | "resume" | "step" | "stop":
                getattr(run, kind)()
            case _ if kind in EDITS:
                self._edit(run, kind, value)
            case _:
                self._decide(run, kind, self._call(value))

    def _edit(self, run: Run, kind: str, value: Any) -> None:
        match kind:
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
                self.edited.add(self._call(0))
                run.submit(EditResult(self._call(0), value))
            case "add":
                run.add_tools(self.working(value))
            case "remove":
                run.remove_tools(value)
            case "tick":
                offer = offer_named(run.transcript, value)
                assert offer is not None
                named = {"removed" if offer.is_on else "added": (value,)}
                run.submit(ChangeTools(**named))
            case "compact" | "do not compact":
                how = SUMMARIZE if kind == "compact" else None
                run.submit(Compact(compaction=how))

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
                run.answer(call_id, BY_HAND)

    def _call(self, number: int) -> str:
        """The id of a call of the newest replies, or of none."""
        found = [c.id for i in self.run.transcript.iterations for c in i.tool_calls]
        return found[-1 - number] if number < len(found) else "toolu_0"

    # -- driving it ------------------------------------------------------------------

    def until_still(self) -> None:
        """Wait until no thread of a run is at work any more."""
        names = ("nbrunner-run", "nbrunner-call")
        join([t for t in threading.enumerate() if t.name in names])

    def in_a_thread(self) -> None:
        if self.run in self.closed:
            with pytest.raises(UsageError, match="closed, and that is final"):
                self.run.start()
            return
        if not self.run.is_running:
            self.run.start()
        self.until_still()
        worker = self.run._worker
        assert worker is None or worker.error is None, repr(worker.error)

    def do_in_the_body(self, what: str) -> None:
        """Do something with the reply in hand, in the body of the own loop."""
        run = self.run
        match what:
            case "results":
                run.generate_tool_call_response()
            case "a note":
                run.append_messages({"role": "user", "content": "Be quick."})
            case "nothing":
                run.append_messages()
            case "the reply and its results":
                self._hand_in_the_reply()
            case "the first result by hand":
                self._hand_in_a_result(0)
            case "results made by hand":
                self._hand_in_a_result(-1)
            case "another reply":
                with pytest.raises(UsageError, match="not the reply in hand"):
                    run.append_messages({"role": "assistant", "content": "Not so."})

    def _hand_in_the_reply(self) -> None:
        """Hand in the reply and its results, as the SDK's page does; the last stand."""
        made = self.run.generate_tool_call_response()
        reply = self.run.transcript.iterations[-1].reply
        if reply is not None:
            said = {"role": "assistant", "content": reply["content"]}
            self.run.append_messages(said, *([made] if made else []))
        for block in made["content"] if made else ():
            self.handed_in.discard(block["tool_use_id"])

    def _hand_in_a_result(self, place: int) -> None:
        """Hand in a result for a call of the reply in hand, if it has calls."""
        iteration = self.run.transcript.iterations[-1]
        calls = iteration.tool_calls
        if calls and iteration.stop_reason == "tool_use":
            result = {"tool_use_id": calls[place].id, "content": BY_HAND}
            content = [{"type": "tool_result", **result}]
            self.run.append_messages({"role": "user", "content": content})
            self.handed_in.add(calls[place].id)

    # -- the promises ----------------------------------------------------------------

    def hold(self) -> None:
        """What holds at every moment, whatever was done."""
        # A person's edit is laid on what the body handed in, before it or after.
        stand = self.handed_in - self.edited
        for number in range(self._checked, len(self.wire.bodies)):
            assert_sent_as_promised(self.wire.bodies[number], stand)
        self._checked = len(self.wire.bodies)
        twice = [call for call, times in self.ran.items() if times > 1]
        assert not twice, f"ran more than once: {twice}"
        assert not self.surprises, self.surprises
        for run in self.runs:
            assert self.refolded[id(run)] == run.transcript
            assert_replies_are_kept(run, self.wire.given)

    def can_go_on(self, run: Run) -> None:
        """Every conversation comes to a whole end, with no hand laid on it any more."""
        self.wire.planned.clear()
        self.moments.clear()
        if run in self.closed:
            run = run.fork()
            self.follow(run)
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
