"""One iteration as a collapsible cell: request, reply, calls, failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.core.blocks import Block, content_of
from nbrunner.core.caching import MAX_MARKS, marked_places
from nbrunner.views import words
from nbrunner.views.call import Look, block, call_fragment, chip
from nbrunner.views.html import Child, Html, h
from nbrunner.views.markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.events import Failure
    from nbrunner.core.transcript import Iteration, Transcript


def iteration_key(index: int) -> str:
    """The key of an iteration's fragment."""
    return f"it{index}"


def summary_key(index: int) -> str:
    """The key of an iteration's one line."""
    return f"it{index}.summary"


def stream_key(index: int, block_index: int) -> str:
    """The key of the element that a streamed block's text is appended to."""
    return f"it{index}.block{block_index}"


def iteration_fragment(transcript: Transcript, index: int, look: Look) -> Html:
    """An iteration: one line when closed, everything when open."""
    iteration = transcript.iterations[index]
    return h(
        "details",
        summary_fragment(transcript, index, look),
        h(
            "div",
            _request(iteration),
            [_note(text) for text in iteration.injected],
            [_failure(transcript, iteration, f, look) for f in iteration.failures],
            list(_reply(transcript, iteration, look)),
            class_="nbr-body",
        ),
        class_="nbr-it",
        data_key=iteration_key(index) if look.live else None,
        open=_is_open(transcript, iteration),
    )


def _is_open(transcript: Transcript, iteration: Iteration) -> bool:
    """Open where there is something to see: the newest one, and errors."""
    return (
        iteration.index == len(transcript.iterations) - 1
        or bool(iteration.failures)
        or any(call.is_error for call in iteration.tool_calls)
    )


def summary_fragment(transcript: Transcript, index: int, look: Look) -> Html:
    """The one line of an iteration."""
    iteration = transcript.iterations[index]
    errors = sum(call.is_error for call in iteration.tool_calls)
    cached = any(call.id in transcript.marks for call in iteration.tool_calls)
    return h(
        "summary",
        h("span", str(index + 1), class_="nbr-n"),
        h("span", _gist(transcript, iteration), class_="nbr-gist"),
        chip(words.count(errors, "error"), "err") if errors else None,
        chip("request failed", "err") if iteration.has_failed else None,
        chip("cached to here", "mark") if cached else None,
        h("span", _numbers(transcript, iteration), class_="nbr-num"),
        data_key=summary_key(index) if look.live else None,
    )


def _gist(transcript: Transcript, iteration: Iteration) -> list[Child]:
    names: list[Child] = []
    for call in iteration.tool_calls:
        names += [", " if names else "", h("b", call.name)]
        names += [" failed"] if call.is_error else []
    said = words.gist(iteration)
    if iteration.reply is None and not iteration.has_failed:
        waits = transcript.status in ("running", "ready")
        said = said or ("waiting for the first words" if waits else "")
    if names and said:
        names.append(" — ")
    return [*names, said]


def _numbers(transcript: Transcript, iteration: Iteration) -> str:
    live = transcript.source == "live"
    facts = [
        iteration.stop_reason,
        words.seconds(iteration.elapsed_s) if live else None,
        words.usage_words(iteration.usage),
    ]
    return " · ".join(fact for fact in facts if fact)


def _request(iteration: Iteration) -> Html:
    """What went out, in a line, with the settings one click away."""
    request = iteration.request
    body = request.body()
    marks = len(marked_places(body))
    facts = [
        f"request {iteration.index + 1}",
        words.count(request.position, "message"),
        words.count(len(request.settings.tools), "tool"),
        f"{marks} of {MAX_MARKS} cache marks" if marks else None,
    ]
    settings = {key: value for key, value in body.items() if key != "messages"}
    return h(
        "details",
        h("summary", " · ".join(fact for fact in facts if fact)),
        [block(f"cache mark left out at {place}") for place in iteration.dropped_marks],
        block(words.pretty(settings), label="settings"),
        [
            block(words.pretty(message), label=f"new: {message['role']} message")
            for message in _new_messages(iteration)
        ],
        class_="nbr-request",
    )


def _new_messages(iteration: Iteration) -> list[Any]:
    """The messages that this request was the first to carry."""
    messages = iteration.request.messages
    count = len(messages)
    newest = next(
        (i for i in range(count - 1, -1, -1) if messages[i]["role"] == "assistant"), -1
    )
    return list(messages[newest + 1 :])


def _note(text: str) -> Html:
    return h(
        "div",
        h("span", "you, sent with this request", class_="nbr-who"),
        h("span", text, class_="nbr-said"),
        class_="nbr-note",
    )


def _failure(
    transcript: Transcript, iteration: Iteration, failure: Failure, look: Look
) -> Html:
    waits = transcript.status == "failed" or transcript.stopped_by in (
        "error",
        "person",
    )
    newest = failure is iteration.failures[-1] and iteration.has_failed
    can_retry = look.live and waits and newest
    return h(
        "div",
        h("div", failure.message, class_="nbr-what"),
        h("div", failure.advice, class_="nbr-advice") if failure.advice else None,
        _controls(look) if can_retry else None,
        _partial(failure),
        class_="nbr-failure",
        role="alert" if newest else None,
    )


def _controls(look: Look) -> Html:
    return h(
        "div",
        h(
            "button",
            "Retry",
            type="button",
            class_="nbr-button nbr-main",
            data_intent="retry",
        ),
        h("code", f"{look.name}.retry()", class_="nbr-py"),
        class_="nbr-foot",
    )


def _partial(failure: Failure) -> Html | None:
    if not failure.partial:
        return None
    return h(
        "div",
        h("div", "what had come of the reply (not kept)", class_="nbr-lab"),
        [_plain_block(b) for b in failure.partial],
        class_="nbr-partial",
    )


def _reply(
    transcript: Transcript, iteration: Iteration, look: Look
) -> Iterator[Html | None]:
    for place, content in enumerate(iteration.blocks):
        if iteration.reply is None:
            yield _streaming(iteration, place, content, look)
            continue
        call = None
        if content.get("type") == "tool_use":
            call = iteration.call(content["id"])
        if call is not None:
            yield call_fragment(transcript, iteration, call, look)
        else:
            yield _whole(content)


def _streaming(iteration: Iteration, place: int, content: Block, look: Look) -> Html:
    """A block that still grows: plain text, so that pieces can be appended."""
    last = place == len(iteration.blocks) - 1
    kind = content.get("type")
    label = content.get("name") if kind in ("tool_use", "server_tool_use") else None
    text = streamed_text(content)
    return h(
        "div",
        h("code", f"{label} ", class_="nbr-sig") if label else None,
        h("span", text, data_key=stream_key(iteration.index, place)),
        h("span", class_="nbr-caret") if last and look.live else None,
        class_="nbr-think" if kind == "thinking" else "nbr-say nbr-streaming",
    )


def streamed_text(content: Block) -> str:
    """The text of a block as far as it has come."""
    for part in ("text", "thinking", "partial_json"):
        if content.get(part):
            return str(content[part])
    return ""


def _whole(content: Block) -> Html | None:
    match content.get("type"):
        case "text":
            text = content.get("text") or ""
            if not text:
                return h("div", "an empty text block (not sent back)", class_="nbr-lab")
            return h("div", markdown(text), class_="nbr-say")
        case "thinking":
            return h(
                "details",
                h("summary", "Thinking"),
                h("div", markdown(content.get("thinking") or "")),
                class_="nbr-think",
            )
        case "redacted_thinking":
            return h("div", "Thinking, encrypted by the API", class_="nbr-think")
        case kind:
            return h(
                "details",
                h("summary", chip(str(kind)), h("code", str(content.get("name", "")))),
                block(words.pretty(content)),
                class_="nbr-call",
            )


def _plain_block(content: Block) -> Html:
    text = streamed_text(content) or words.pretty(content)
    return h("div", words.cut(text)[0], class_="nbr-say")


def opening_fragment(transcript: Transcript) -> Html:
    """What the run began with: the system prompt and the first messages."""
    system = transcript.settings.system
    first = transcript.iterations[0].request.messages if transcript.iterations else ()
    messages = first or transcript.messages
    return h(
        "div",
        _system(system) if system else None,
        [_opening_message(message) for message in messages],
        class_="nbr-opening",
    )


def _system(system: Any) -> Html:
    text = system if isinstance(system, str) else words.result_text(system)
    return h(
        "details",
        h("summary", "System prompt"),
        block(text),
        class_="nbr-request",
    )


def _opening_message(message: Any) -> Html:
    who = "you" if message["role"] == "user" else message["role"]
    text = words.cut(words.result_text(content_of(message)))[0]
    return h(
        "div",
        h("span", who, class_="nbr-who"),
        h("span", text, class_="nbr-said"),
        class_="nbr-note",
    )
