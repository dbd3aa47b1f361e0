"""A run as plain code for the Anthropic SDK, which does what was done to the run.

Nothing of nbrunner is in it. Each request is known, so the lines between two of them
are worked out from what differs: whatever a person did, the code sends the same.
"""

from __future__ import annotations

import builtins
import keyword
from typing import TYPE_CHECKING, Any, NamedTuple

from nbrunner.core.blocks import tool_uses
from nbrunner.core.compaction import is_summary
from nbrunner.core.redact import redact, redact_json
from nbrunner.core.request import result_of
from nbrunner.views.changes import Change, assigned, messages_changed
from nbrunner.views.literal import Expression, inline, is_json, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbrunner.core.blocks import Block, Message
    from nbrunner.core.request import Request
    from nbrunner.core.transcript import DroppedReply, Iteration, ToolCall, Transcript

OWN_NAMES = frozenset(
    ("Anthropic", "block", "calls", "client", "messages", "params", "reply", "runner")
)
"""The names that the code gives to things of its own."""

_PARAMETERS = "The request's parameters are others from here on."
_CONTAINER = "The code container is carried on."
_OF_THE_LOOP = ("messages", "thread", "max_iterations", "stream")
_ADD_REPLY = (
    'messages.append({"role": "assistant", "content": reply.to_dict()["content"]})'
)
_ADD_RESULTS = "messages.append(runner.generate_tool_call_response())"
_REPLACE = 'messages = [{"role": "assistant", "content": reply.to_dict()["content"]}]'


def as_code(
    transcript: Transcript,
    *,
    name: str,
    tools: Iterable[Block] = (),
    stream: bool = False,
    max_iterations: int | None = None,
) -> str:
    """The run as a script, redacted.

    Args:
        transcript: What was done.
        name: What the run is called.
        tools: The definitions of the tools that are Python objects.
        stream: Whether the replies were streamed.
        max_iterations: How many replies one start asked for at most.
    """
    script = _Script(tools, stream=stream)
    steps = [step for i in transcript.own_iterations for step in script.steps(i)]
    if not steps:
        steps = [script.unsent(transcript.next_request(transcript.outgoing))]
    lines = _preamble(transcript, name, script)
    if _is_untouched(transcript, steps):
        limit = max_iterations
        if transcript.stopped_by == "max_iterations":
            limit = len(steps)
        lines += script.untouched(limit)
    else:
        lines += script.opening()
        lines += _told(steps)
    return "\n".join(lines) + "\n"


class _Step(NamedTuple):
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


class _Script:
    """What the code's variables hold as it goes on."""

    def __init__(self, tools: Iterable[Block], *, stream: bool) -> None:
        self._stream = stream
        self._named = {d["name"]: d for d in tools if is_name(d.get("name"))}
        self._first: tuple[dict[str, Any], list[Message]] | None = None
        self._head: dict[str, Any] = {}
        self._messages: list[Message] = []
        self._reply: dict[str, Any] = {}

    def unsent(self, request: Request) -> _Step:
        """The step that sends a request of which nothing came yet."""
        changes = self._become(request)
        return _Step("Iteration 1", (), changes, self._sent(request))

    def steps(self, iteration: Iteration) -> Iterator[_Step]:
        """An iteration, and before it the requests whose replies were dropped."""
        title = f"Iteration {iteration.index + 1}"
        for dropped in iteration.dropped:
            yield self._dropped(f"{title}, a reply that is dropped", dropped)
        changes = self._become(iteration.request)
        request, remarks = self._sent(iteration.request), tuple(_remarks(iteration))
        step = _Step(title, remarks, changes, request)
        if iteration.reply is None:
            yield step
            return
        self._reply = iteration.reply
        if iteration.is_compaction:
            yield self._compacted(step, iteration.reply)
            return
        kept = {"role": "assistant", "content": iteration.reply["content"]}
        self._messages.append(kept)
        yield self._answered(step._replace(request=(*request, _ADD_REPLY)), iteration)

    def _dropped(self, title: str, dropped: DroppedReply) -> _Step:
        request = dropped.request
        remarks = ["The reply is not kept: the next request asks again."]
        if any(call.executed_input is not None for call in dropped.tool_calls):
            remarks.append("Its tools had run; here they do not.")
        if request is None:
            return _Step(title, ("What it answered is not known.",), (), ())
        changes = self._become(request)
        self._reply = dropped.reply
        return _Step(title, tuple(remarks), changes, self._sent(request))

    def _compacted(self, step: _Step, reply: dict[str, Any]) -> _Step:
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
        head = {k: v for k, v in body.items() if k not in _OF_THE_LOOP and is_json(v)}
        if self._first is None:
            self._first = head, wanted
            changes: list[Change] = []
        else:
            changes = [
                *self._params_changed(head),
                *messages_changed(self._messages, wanted),
            ]
        self._head, self._messages = head, wanted[:]
        return tuple(changes)

    def _params_changed(self, head: dict[str, Any]) -> Iterator[Change]:
        for key in self._head.keys() - head.keys():
            yield Change(_PARAMETERS, f"del params[{inline(key)}]")
        container = (self._reply.get("container") or {}).get("id")
        for key, value in head.items():
            if key in self._head and self._head[key] == value:
                continue
            path = f"params[{inline(key)}]"
            if key == "container" and container and value == container:
                yield Change(_CONTAINER, f"{path} = reply.container.id")
            else:
                yield Change(_PARAMETERS, assigned(path, self._value(key, value)))

    def _sent(self, request: Request) -> tuple[str, ...]:
        """The lines that send a request and read its reply."""
        whole = ".get_final_message()" if self._stream else ""
        if not self._head.get("tools") and request.compaction is None:
            method = "stream" if self._stream else "create"
            call = f"client.beta.messages.{method}(**params, messages=messages)"
            if self._stream:
                return (f"with {call} as stream:", f"    reply = stream{whole}")
            return (f"reply = {call}",)
        more = ", stream=True" if self._stream else ""
        lines = [
            "runner = client.beta.messages.tool_runner(",
            f"    **params, messages=messages, thread=False, max_iterations=1{more}",
            ")",
        ]
        if request.compaction is not None:
            how = literal(redact_json(request.compaction), used=40)
            lines.append(f"runner.compact_before_next_turn({how})")
        return (*lines, f"reply = next(runner){whole}")

    # -- the results -------------------------------------------------------------

    def _answered(self, step: _Step, iteration: Iteration) -> _Step:
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
            remarks = (*step.remarks, *_decided(calls))
            return step._replace(remarks=remarks, answer=self._by_hand(calls, blocks))
        self._messages.append({"role": "user", "content": blocks})
        apart = sorted({call.name for call in calls} - self._objects())
        if not apart:
            return step._replace(kind="calls", goes_on=True, answer=(_ADD_RESULTS,))
        added = f"runner.add_tools({', '.join(apart)})  # runs the calls, sends nothing"
        return step._replace(answer=(added, _ADD_RESULTS))

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
        return runs and call.status == "ok" and call.executed_input is not None

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
                content = Expression(f"{call.name}.call({given})")
            place = {"tool_use_id": Expression(f"calls[{number}].id")}
            results.append({**redact_json(block), **place, "content": content})
        message = {"role": "user", "content": results}
        return (
            'calls = [block for block in reply.content if block.type == "tool_use"]',
            f"messages.append({literal(message, used=17)})",
        )

    def _objects(self) -> set[str]:
        """The tools that are handed to the runner as they are, and so run."""
        tools = self._head.get("tools") or ()
        return {name for tool in tools if (name := self._object(tool)) is not None}

    def _object(self, definition: Block) -> str | None:
        name = definition.get("name")
        return name if name and self._named.get(name) == definition else None

    # -- values --------------------------------------------------------------------

    def _value(self, key: str, value: Any) -> Any:
        if key == "tools":
            return [self._tool(definition) for definition in value]
        return redact_json({key: value})[key]

    def _tool(self, definition: Block) -> Any:
        if (name := self._object(definition)) is not None:
            return Expression(name)
        bare = {k: v for k, v in definition.items() if k != "cache_control"}
        if (name := self._object(bare)) is not None:
            mark = inline(redact_json(definition["cache_control"]))
            return Expression(f'{{**{name}.to_dict(), "cache_control": {mark}}}')
        return redact_json(definition)

    @property
    def tool_names(self) -> list[str]:
        """The tools that the code names."""
        return list(self._named)

    def untouched(self, max_iterations: int | None) -> list[str]:
        """The lines of a run that nobody laid a hand on: the SDK's own loop."""
        head, messages = self._first or ({}, [])
        given = {**head, "messages": messages, "thread": False}
        if max_iterations is not None:
            given["max_iterations"] = max_iterations
        if self._stream:
            given["stream"] = True
        arguments = [
            f"    {key}={literal(self._value(key, value), 1, len(key) + 2)},"
            for key, value in given.items()
        ]
        shown = ".get_final_message()" if self._stream else ""
        return [
            "runner = client.beta.messages.tool_runner(",
            *arguments,
            ")",
            f"for reply in runner:\n    print(reply{shown})",
        ]

    def opening(self) -> list[str]:
        """The lines that the code begins with."""
        head, messages = self._first or ({}, [])
        params = {key: self._value(key, value) for key, value in head.items()}
        said = [redact_json(message) for message in messages]
        return [assigned("params", params), assigned("messages", said)]


def is_name(name: Any) -> bool:
    """Whether a tool's name can stand in the code as the tool itself."""
    return (
        isinstance(name, str)
        and name.isascii()  # Python takes other letters for these
        and name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("__")
        and not hasattr(builtins, name)
        and name not in OWN_NAMES | {"stream"}
        and redact(name) == name
    )


def _returned(use: Block, call: ToolCall) -> Block:
    """The result as it came, before anyone changed it."""
    content = call.returned if call.is_edited else call.result
    return result_of(use, content, is_error=call.status == "error")


def _final(use: Block, call: ToolCall) -> Block:
    return result_of(use, call.result, is_error=call.is_error)


def _decided(calls: Sequence[ToolCall]) -> Iterator[str]:
    """What was decided by hand, and what the SDK would tell Claude otherwise."""
    for number, call in enumerate(calls):
        said = _HANDS.get(call.verdict or "") or _HANDS.get(call.status)
        if said is None and call.remark is not None:
            said = "returned what the SDK would garble: it is sent as it was sent"
        if said is None and not is_name(call.name):
            said = "cannot be named or called here: what it said in the run stands here"
        if said is not None:
            yield f"calls[{number}], {inline(redact(call.name))}, {said}."


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
        yield f"In the run it was sent {iteration.sends} times."
    for failure in iteration.failures:
        if failure.kind in ("stopped", "dropped"):
            yield "A reply was stopped half way, which plain code cannot repeat."
        else:
            yield f"It failed: {inline(redact(failure.message))}"


def _preamble(transcript: Transcript, name: str, script: _Script) -> list[str]:
    lines = [f"# The run {inline(redact(name))} as plain code for the Anthropic SDK."]
    if transcript.parent is not None:
        parent = inline(redact(transcript.parent.name))
        at = transcript.parent.at + 1
        lines.append(f"# A branch of {parent}: it goes its own way from iteration {at}.")
    if script.tool_names:
        lines.append(f"# Tools of yours: {', '.join(script.tool_names)}.")
    opening = ["from anthropic import Anthropic", "", "client = Anthropic()"]
    return [*lines, *opening]


def _is_untouched(transcript: Transcript, steps: Sequence[_Step]) -> bool:
    """Whether the SDK's own loop, left alone, does all of it."""
    *before, last = steps
    plain = all(step.kind in ("calls", "ends") for step in steps)
    left_alone = all(
        not step.remarks and all(change.why == _CONTAINER for change in step.changes)
        for step in steps
    )
    by_itself = not last.goes_on or transcript.stopped_by == "max_iterations"
    has_tools = all("runner" in step.request[0] for step in steps if step.request)
    names = transcript.settings.params
    return (
        transcript.parent is None
        and all(name.isidentifier() and name.isascii() for name in names)
        and not any(map(keyword.iskeyword, names))
        and all(step.goes_on for step in before)
        and plain
        and left_alone
        and by_itself
        and has_tools
        and transcript.status == "finished"
    )


def _told(steps: Sequence[_Step]) -> Iterator[str]:
    """The steps, those in a row that nothing happens between as a loop."""
    start = 0
    while start < len(steps):
        end = start + 1
        while end < len(steps) and _joins(steps[start], steps[end]):
            end += 1
        yield ""
        if end - start > 1:
            yield from _as_loop(steps[start:end])
        else:
            yield from _as_lines(steps[start])
        start = end


def _joins(first: _Step, step: _Step) -> bool:
    loops = first.kind != "other" and step.kind != "other"
    is_bare = not step.changes and not step.remarks and not first.remarks
    return loops and is_bare and step.request == first.request


def _as_lines(step: _Step) -> Iterator[str]:
    yield f"# {step.title}"
    yield from (f"# {remark}" for remark in step.remarks)
    yield from _changed(step)
    yield from step.request
    yield from step.answer


def _as_loop(steps: Sequence[_Step]) -> Iterator[str]:
    first, last = steps[0], steps[-1]
    yield f"# {first.title.replace('Iteration', 'Iterations', 1)} to {last.title[10:]}"
    yield from _changed(first)
    yield f"for _ in range({len(steps)}):"
    yield from (f"    {line}" for line in first.request)
    answers = {step.answer for step in steps}
    if answers == {()}:
        return
    if len(answers) == 1:
        yield f"    {_ADD_RESULTS}"
        return
    yield '    if reply.stop_reason == "tool_use":'
    yield f"        {_ADD_RESULTS}"


def _changed(step: _Step) -> Iterator[str]:
    why = None
    for change in step.changes:
        if change.why != why:
            yield f"# {change.why}"
        yield change.line
        why = change.why
