"""What a run did, step by step, as lines of Python for the Anthropic SDK.

Each request is known, so the lines between two of them are worked out from what
differs: whatever a person did, the code sends the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nbrunner.core.blocks import tool_uses
from nbrunner.core.compaction import is_summary
from nbrunner.core.redact import redact, redact_json
from nbrunner.core.request import result_of
from nbrunner.views.changes import (
    CONTAINER,
    PARAMETERS,
    Change,
    assigned,
    messages_changed,
)
from nbrunner.views.literal import Expression, inline, is_json, is_name, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbrunner.core.blocks import Block, Message
    from nbrunner.core.request import Request
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import DroppedReply, Iteration

ADD_RESULTS = "messages.append(runner.generate_tool_call_response())"
_ADD_REPLY = (
    'messages.append({"role": "assistant", "content": reply.to_dict()["content"]})'
)
_REPLACE = 'messages = [{"role": "assistant", "content": reply.to_dict()["content"]}]'
_FIRST = ("model", "max_tokens", "system", "tools")
_OF_THE_LOOP = ("messages", "thread", "max_iterations", "stream", "run_tools_eagerly")


class Step(NamedTuple):
    """One request and what is done with its reply.

    Attributes:
        title: What it is called.
        remarks: What else is to be said of it.
        changes: What changes before it.
        request: The lines that send it.
        answer: The lines that follow the reply.
        kind: `calls` or `ends` where the SDK's own loop would do the same.
        goes_on: Whether that loop would send another request.
    """

    title: str
    remarks: tuple[str, ...]
    changes: tuple[Change, ...]
    request: tuple[str, ...]
    answer: tuple[str, ...] = ()
    kind: str = "other"
    goes_on: bool = False

    @property
    def has_runner(self) -> bool:
        """Whether one of the SDK's runners sends it, and is left in mid-iteration."""
        return any(line.startswith("runner = ") for line in self.request)


class Steps:
    """Turns iterations into steps; knows what the code's variables hold meanwhile.

    Attributes:
        stream: Whether the replies are streamed.
        head: The parameters that the code begins with.
        messages: The conversation that it begins with.
        used: The tools that it names, in order.
        left_out: The parameters that are no JSON, and cannot be written down.
    """

    def __init__(self, tools: Iterable[Block], *, stream: bool) -> None:
        self.stream = stream
        self.head: dict[str, Any] = {}
        self.messages: list[Message] = []
        self.used: dict[str, None] = {}
        self._named = {d["name"]: d for d in tools if is_name(d.get("name"))}
        self.left_out: set[str] = set()
        self._has_begun = False
        self._head: dict[str, Any] = {}
        self._messages: list[Message] = []
        self._reply: dict[str, Any] = {}

    def unsent(self, request: Request) -> Step:
        """The step that sends a request of which nothing came yet."""
        changes = self._become(request)
        return Step("Iteration 1", (), changes, self._sent(request), kind="ends")

    def of(self, iteration: Iteration) -> Iterator[Step]:
        """An iteration, and before it the requests whose replies were dropped."""
        title = f"Iteration {iteration.index + 1}"
        for dropped in iteration.dropped:
            yield self._dropped(f"{title}, a reply that is dropped", dropped)
        changes = self._become(iteration.request)
        request, remarks = self._sent(iteration.request), tuple(_remarks(iteration))
        step = Step(title, remarks, changes, request)
        if iteration.reply is None:
            kinds = [failure.kind for failure in iteration.failures]
            is_sent = kinds[-1:] != ["history"]
            yield step if is_sent else step._replace(request=())
            return
        self._reply = iteration.reply
        if iteration.is_compaction:
            yield self._compacted(step, iteration.reply)
            return
        kept = {"role": "assistant", "content": iteration.reply["content"]}
        self._messages.append(kept)
        yield self._answered(step._replace(request=(*request, _ADD_REPLY)), iteration)

    def _dropped(self, title: str, dropped: DroppedReply) -> Step:
        request = dropped.request
        remarks = ["The reply is not kept: the next request asks again."]
        if any(call.has_begun for call in dropped.tool_calls):
            remarks.append("Its tools had run; here they do not.")
        if request is None:
            return Step(title, ("What it answered is not known.",), (), ())
        changes = self._become(request)
        self._reply = dropped.reply
        return Step(title, tuple(remarks), changes, self._sent(request))

    def _compacted(self, step: Step, reply: dict[str, Any]) -> Step:
        if not is_summary(reply):
            return step
        self._messages = [{"role": "assistant", "content": reply["content"]}]
        remark = "The summary takes the place of the conversation."
        remarks = (*step.remarks, remark)
        return step._replace(remarks=remarks, request=(*step.request, _REPLACE))

    # -- the request -----------------------------------------------------------

    def _become(self, request: Request) -> tuple[Change, ...]:
        """What changes for a request; the first one is what the code begins with."""
        body = request.model_copy(update={"compaction": None}).body()
        wanted = list(body.pop("messages"))
        head = {key: body[key] for key in (*_FIRST, *body) if key in body}
        self.left_out |= {key for key, value in head.items() if not is_json(value)}
        unfit = (*_OF_THE_LOOP, *self.left_out)
        head = {key: value for key, value in head.items() if key not in unfit}
        changes: list[Change] = []
        if self._has_begun:
            changes += self._params_changed(head)
            changes += messages_changed(self._messages, wanted)
        else:
            self.head, self.messages, self._has_begun = head, wanted, True
        self._head, self._messages = head, wanted[:]
        return tuple(changes)

    def _params_changed(self, head: dict[str, Any]) -> Iterator[Change]:
        for key in self._head:
            if key not in head:
                yield Change(PARAMETERS, f"del params[{inline(key)}]")
        container = (self._reply.get("container") or {}).get("id")
        for key, value in head.items():
            if key in self._head and self._head[key] == value:
                continue
            path = f"params[{inline(key)}]"
            if key == "container" and container and value == container:
                yield Change(CONTAINER, f"{path} = reply.container.id")
            else:
                yield Change(PARAMETERS, assigned(path, self.value(key, value)))

    def _sent(self, request: Request) -> tuple[str, ...]:
        """The lines that send a request and read its reply."""
        whole = ".get_final_message()" if self.stream else ""
        if not self._head.get("tools"):
            return self._sent_without_tools(request.compaction)
        more = ", stream=True" if self.stream else ""
        lines = [
            "runner = client.beta.messages.tool_runner(",
            f"    **params, messages=messages, thread=False, max_iterations=1{more}",
            ")",
        ]
        if request.compaction is not None:
            how = literal(redact_json(request.compaction), used=40)
            lines.append(f"runner.compact_before_next_turn({how})")
        return (*lines, f"reply = next(runner){whole}")

    def _sent_without_tools(self, compaction: Block | None) -> tuple[str, ...]:
        given = "**params, messages=messages"
        if compaction is not None:
            given += f", compaction={inline(redact_json(compaction))}"
        if not self.stream:
            return (f"reply = client.beta.messages.create({given})",)
        return (
            f"with client.beta.messages.stream({given}) as stream:",
            "    reply = stream.get_final_message()",
        )

    # -- the results -------------------------------------------------------------

    def _answered(self, step: Step, iteration: Iteration) -> Step:
        calls = iteration.tool_calls
        reason = iteration.stop_reason
        if reason != "tool_use":
            goes_on = reason in ("pause_turn", "compaction")
            return step._replace(kind="ends", goes_on=goes_on)
        if not calls or not all(call.is_answered for call in calls):
            return step
        uses = tool_uses(iteration.blocks)
        blocks = [_returned(*pair) for pair in zip(uses, calls, strict=True)]
        if not all(map(self._runs, calls)):
            blocks = [
                _returned(use, call) if self._runs_here(call) else _final(use, call)
                for use, call in zip(uses, calls, strict=True)
            ]
            self._messages.append({"role": "user", "content": blocks})
            return step._replace(answer=self._by_hand(calls, blocks))
        self._messages.append({"role": "user", "content": blocks})
        apart = sorted({call.name for call in calls} - self._objects())
        if not apart:
            return step._replace(kind="calls", goes_on=True, answer=(ADD_RESULTS,))
        self.used |= dict.fromkeys(apart)
        added = f"runner.add_tools({', '.join(apart)})  # runs the calls, sends nothing"
        return step._replace(answer=(added, ADD_RESULTS))

    def _runs(self, call: ToolCall) -> bool:
        """Whether the SDK's runner gives the very result that the tool gave."""
        return (
            call.name in self._named
            and call.status in ("ok", "error")
            and call.verdict != "modified"
            and call.executed_input == call.input
            and call.remark is None
        )

    def _runs_here(self, call: ToolCall) -> bool:
        """Whether the tool can be called in a line of its own."""
        runs = call.name in self._named and call.remark is None
        return runs and call.status == "ok" and call.has_begun

    def _by_hand(
        self, calls: Sequence[ToolCall], blocks: Sequence[Block]
    ) -> tuple[str, ...]:
        results = []
        for number, (call, block) in enumerate(zip(calls, blocks, strict=True)):
            content = redact_json({"content": block["content"]})["content"]
            if self._runs_here(call):
                given = f"calls[{number}].input"
                if call.executed_input != call.input:
                    given = inline(redact_json(call.executed_input))
                self.used[call.name] = None
                content = Expression(f"{call.name}.call({given})")
            place = {"tool_use_id": Expression(f"calls[{number}].id")}
            results.append({**redact_json(block), **place, "content": content})
        message = {"role": "user", "content": results}
        return (
            *(f"# {said}" for said in self._decided(calls)),
            'calls = [block for block in reply.content if block.type == "tool_use"]',
            f"messages.append({literal(message, used=17)})",
        )

    def _decided(self, calls: Sequence[ToolCall]) -> Iterator[str]:
        """What was decided by hand, and what the SDK would tell Claude otherwise."""
        for number, call in enumerate(calls):
            said = _HANDS.get(call.verdict or "") or _HANDS.get(call.status)
            if said is None and call.name not in self._named:
                said = "cannot be called here: what it gave in the run stands for it"
            elif said is None and call.remark is not None:
                said = "gave what the SDK would garble: it stands as it was sent"
            if said is not None:
                yield f"calls[{number}], {inline(redact(call.name))}, {said}."

    def _objects(self) -> set[str]:
        """The tools that are handed to the runner as they are, and so run."""
        tools = self._head.get("tools") or ()
        return {name for tool in tools if (name := self._object(tool)) is not None}

    def _object(self, definition: Block) -> str | None:
        name = definition.get("name")
        return name if name and self._named.get(name) == definition else None

    # -- values --------------------------------------------------------------------

    def value(self, key: str, value: Any) -> Any:
        """What is written for a parameter: redacted, tools by their names."""
        if key == "tools":
            return [self._tool(definition) for definition in value]
        return next(iter(redact_json({key: value}).values()))

    def _tool(self, definition: Block) -> Any:
        if (name := self._object(definition)) is not None:
            self.used[name] = None
            return Expression(name)
        bare = {k: v for k, v in definition.items() if k != "cache_control"}
        if (name := self._object(bare)) is not None:
            self.used[name] = None
            mark = inline(redact_json(definition["cache_control"]))
            return Expression(f'{{**{name}.to_dict(), "cache_control": {mark}}}')
        return redact_json(definition)


def _returned(use: Block, call: ToolCall) -> Block:
    """The result as it came, before anyone changed it."""
    content = call.returned if call.is_edited else call.result
    return result_of(use, content, is_error=call.status == "error")


def _final(use: Block, call: ToolCall) -> Block:
    return result_of(use, call.result, is_error=call.is_error)


_HANDS = {
    "modified": "runs with another input than Claude's",
    "rejected": "is not allowed, and does not run",
    "answered": "is answered by hand, and does not run",
    "invalid": "has an input that does not fit, which Claude is told in more words",
    "unknown": "is no tool, which Claude is told in more words",
    "interrupted": "was stopped, or never begun",
    "error": "failed; what Claude read of it stands here",
}


def _remarks(iteration: Iteration) -> Iterator[str]:
    if iteration.sends > 1 and iteration.failures:
        yield f"In the run it was sent {iteration.sends} times; here it is once."
    for failure in iteration.failures:
        if failure.kind in ("stopped", "dropped"):
            yield "A reply was stopped half way, which plain code cannot repeat."
        else:
            yield f"It failed: {inline(redact(failure.message))}"
