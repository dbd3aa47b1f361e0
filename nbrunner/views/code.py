"""A run as plain code for the Anthropic SDK, which does what was done to the run.

Nothing of nbrunner is in it. A run that nobody laid a hand on is the SDK's own loop;
any other is one request after the other, with what was done between them.
"""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from nbrunner.core.redact import redact, redact_json
from nbrunner.views.changes import CONTAINER, assigned
from nbrunner.views.code_steps import ADD_RESULTS, Step, Steps
from nbrunner.views.literal import inline, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbrunner.core.blocks import Block
    from nbrunner.core.transcript import Transcript


_CLOSE = "runner.close()"
# Left open, a runner is ended by the garbage collector, inside whatever runs then.


def as_code(  # noqa: PLR0913 - what the SDK's loop was given
    transcript: Transcript,
    *,
    name: str,
    tools: Iterable[Block] = (),
    stream: bool = False,
    eager: bool = False,
    max_iterations: int | None = None,
) -> str:
    """The run as a script, redacted.

    Args:
        transcript: What was done.
        name: What the run is called.
        tools: The definitions of the tools that are Python objects.
        stream: Whether the replies were streamed.
        eager: Whether calls ran while they were.
        max_iterations: How many replies one start asked for at most.
    """
    steps = Steps(tools, stream=stream)
    told = [step for i in transcript.own_iterations for step in steps.of(i)]
    if not told:
        told = [steps.unsent(transcript.next_request(transcript.outgoing))]
    if _is_untouched(transcript, told) and _are_names(steps.head):
        is_at_its_limit = transcript.stopped_by == "max_iterations"
        limit = len(told) if is_at_its_limit else max_iterations
        lines = _untouched(steps, limit, eager=eager)
    else:
        lines = [*_opening(steps), *_told(told), *_closing(transcript)]
    return "\n".join([*_preamble(transcript, name, steps), *lines, ""])


def _preamble(transcript: Transcript, name: str, steps: Steps) -> Iterator[str]:
    yield f"# The run {inline(redact(name))} as plain code for the Anthropic SDK."
    if transcript.parent is not None:
        parent = inline(redact(transcript.parent.name))
        at = transcript.parent.at + 1
        yield f"# A branch of {parent}: it goes its own way from iteration {at}."
    if steps.left_out:
        names = ", ".join(map(inline, sorted(steps.left_out)))
        yield f"# Left out, since it cannot be written down: {names}."
    if steps.used:
        yield f"# Tools of yours: {', '.join(steps.used)}."
    yield from ("from anthropic import Anthropic", "", "client = Anthropic()")


def _is_untouched(transcript: Transcript, told: Sequence[Step]) -> bool:
    """Whether the SDK's own loop, left alone, does all of it."""
    *before, last = told
    as_the_sdk = all(
        step.kind != "other"
        and not step.remarks
        and all(change.why == CONTAINER for change in step.changes)
        for step in told
    )
    is_at_its_limit = transcript.stopped_by == "max_iterations"
    return (
        as_the_sdk
        and transcript.parent is None
        and transcript.status in ("ready", "finished")
        and all(step.goes_on for step in before)
        and (not last.goes_on or is_at_its_limit)
    )


def _are_names(head: Iterable[str]) -> bool:
    """Whether the parameters can be written as arguments, the tools among them."""
    fit = all(
        key.isascii() and key.isidentifier() and not keyword.iskeyword(key)
        for key in head
    )
    return fit and "tools" in head


def _untouched(steps: Steps, max_iterations: int | None, *, eager: bool) -> list[str]:
    """A run that nobody laid a hand on: the SDK's own loop."""
    given = {**steps.head, "messages": steps.messages, "thread": False}
    if max_iterations is not None:
        given["max_iterations"] = max_iterations
    if steps.stream:
        given["stream"] = True
    if eager:
        given["run_tools_eagerly"] = True
    arguments = [
        f"    {key}={literal(steps.value(key, value), 1, len(key) + 2)},"
        for key, value in given.items()
    ]
    item, whole = ("stream", ".get_final_message()") if steps.stream else ("reply", "")
    return [
        "runner = client.beta.messages.tool_runner(",
        *arguments,
        ")",
        f"for {item} in runner:",
        f"    print({item}{whole})",
    ]


def _opening(steps: Steps) -> list[str]:
    params = {key: steps.value(key, value) for key, value in steps.head.items()}
    return [
        "# An iteration is a request, its reply and the results of its calls.",
        assigned("params", params),
        assigned("messages", redact_json(steps.messages)),
    ]


def _closing(transcript: Transcript) -> list[str]:
    own = transcript.own_iterations
    return ["", "print(reply)"] if own and own[-1].reply is not None else []


def _told(steps: Sequence[Step]) -> Iterator[str]:
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


def _joins(first: Step, step: Step) -> bool:
    loops = first.kind != "other" and step.kind != "other"
    is_bare = not step.changes and not step.remarks and not first.remarks
    return loops and is_bare and step.request == first.request


def _as_lines(step: Step) -> Iterator[str]:
    yield f"# {step.title}"
    yield from (f"# {remark}" for remark in step.remarks)
    yield from _changed(step)
    yield from step.request
    yield from step.answer
    if step.has_runner:
        yield _CLOSE


def _as_loop(steps: Sequence[Step]) -> Iterator[str]:
    first, last = steps[0], steps[-1]
    yield f"# {first.title.replace('Iteration', 'Iterations', 1)} to {last.title[10:]}"
    yield from _changed(first)
    yield f"for _ in range({len(steps)}):"
    yield from (f"    {line}" for line in first.request)
    answers = {step.answer for step in steps}
    if answers == {(ADD_RESULTS,)}:
        yield f"    {ADD_RESULTS}"
    elif answers != {()}:
        yield '    if reply.stop_reason == "tool_use":'
        yield f"        {ADD_RESULTS}"
    if first.has_runner:
        yield f"    {_CLOSE}"


def _changed(step: Step) -> Iterator[str]:
    why = None
    for change in step.changes:
        if change.why != why:
            yield f"# {change.why}"
        yield change.line
        why = change.why
