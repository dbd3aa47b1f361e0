"""The blocks of a reply: while they stream, when they are whole, or broken off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.views import words
from nbrunner.views.call import call_fragment
from nbrunner.views.citations import citations_of, cited_text
from nbrunner.views.content import content_block
from nbrunner.views.fields import at, text_at
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.json_tree import json_fragment, parsed_json
from nbrunner.views.look import Look, Part, chip, is_lasting
from nbrunner.views.markdown import markdown
from nbrunner.views.marks import beside_row
from nbrunner.views.refusal import refusal_fragment
from nbrunner.views.server_calls import (
    answers_one_of,
    is_server_call,
    is_server_result,
    lone_result_fragment,
    result_of,
    server_call_fragment,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbrunner.core.blocks import Block
    from nbrunner.core.transcript import Iteration, Transcript


_NOT_SHOWN = "*(the API sent no text of it)*"


def stream_key(index: int, block_index: int) -> str:
    """The key of the element that a streamed block's text is appended to."""
    return f"it{index}.block{block_index}"


def reply_fragments(
    transcript: Transcript, iteration: Iteration, look: Look
) -> Iterator[Html | None]:
    """The blocks of a reply in their order, calls with what came of them."""
    blocks = iteration.blocks
    if iteration.reply is None:
        for place, content in enumerate(blocks):
            call = iteration.call(content.get("id", ""))
            if call is not None:  # it may run already
                yield call_fragment(transcript, iteration, call, look)
            else:
                yield _streaming(iteration, place, content, look)
        return
    for first, after in _groups(blocks):
        content = blocks[first]
        call = None
        if content.get("type") == "tool_use":
            call = iteration.call(content["id"])
        if call is not None:
            yield call_fragment(transcript, iteration, call, look)
            continue
        shown = _shown(transcript, iteration, (first, after), look)
        yield beside_row(shown, transcript, iteration, after - 1, look)
    yield refusal_fragment(iteration)


def _shown(
    transcript: Transcript, iteration: Iteration, place: tuple[int, int], look: Look
) -> Html | None:
    """The blocks from one place up to another, which are read as one."""
    first, after = place
    blocks, content = iteration.blocks, iteration.blocks[first]
    key = f"{stream_key(iteration.index, first)}.whole" if look.live else None
    if after - first > 1 or citations_of(content):
        return cited_text(blocks[first:after], key=key)
    if is_server_call(content):
        result = result_of(content, blocks)
        answers = (n for n, item in enumerate(blocks) if item is result)
        parts = (block_part(iteration, first), block_part(iteration, next(answers, 0)))
        return server_call_fragment(content, result, key=key, look=look, parts=parts)
    if answers_one_of(content, blocks):
        return None
    is_json = content.get("type") == "text" and asks_for_json(iteration)
    lasting = is_lasting(transcript, look)
    part = block_part(iteration, first)
    return (_structured(content) if is_json else None) or _whole(
        words.without_ids(content) if lasting else content, key, look, part
    )


def block_part(iteration: Iteration, number: int) -> Part:
    """A block of a reply, as the panel and as Python ask for all of it."""
    return Part(
        key=f"{stream_key(iteration.index, number)}.all",
        line=f"transcript.iterations[{iteration.index}].blocks[{number}]",
    )


def _groups(blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Blocks that are read as one: texts side by side of which some cite."""
    start = 0
    while start < len(blocks):
        end = start
        while end < len(blocks) and blocks[end].get("type") == "text":
            end += 1
        cites = any(citations_of(content) for content in blocks[start:end])
        end = end if cites else start + 1
        yield start, end
        start = end


def asks_for_json(iteration: Iteration) -> bool:
    """Whether the request asked for a reply in JSON."""
    params = iteration.request.settings.params
    return bool(params.get("output_format") or at(params, "output_config", "format"))


def _structured(content: Block) -> Html | None:
    value = parsed_json(text_at(content, "text"))
    if value is None:
        return None
    label = "structured output, indented for reading"
    return h("div", json_fragment(value, label=label), class_="nbr-thing")


def _streaming(iteration: Iteration, place: int, content: Block, look: Look) -> Html:
    """A block that still grows: plain text, so that pieces can be appended."""
    last = place == len(iteration.blocks) - 1
    key = stream_key(iteration.index, place) if look.live else None
    return h(
        "div",
        _tool_label(content),
        h("span", streamed_text(content), data_key=key),
        h("span", class_="nbr-caret") if last and look.live else None,
        class_=_thinking_class(content) or "nbr-say nbr-streaming",
    )


def broken_block(content: Block) -> Html:
    """A block of a reply that broke off."""
    text = words.cut_inline(streamed_text(content))
    class_ = _thinking_class(content) or "nbr-say"
    return h("div", _tool_label(content), text, class_=class_)


def _tool_label(content: Block) -> Html | None:
    is_call = content.get("type") in ("tool_use", "server_tool_use")
    return h("code", f"{content.get('name')} ", class_="nbr-sig") if is_call else None


def _thinking_class(content: Block) -> str | None:
    return "nbr-think" if content.get("type") == "thinking" else None


def streamed_text(content: Block) -> str:
    """The text of a block as far as it has come."""
    for part in ("text", "thinking", "partial_json"):
        if content.get(part):
            return str(content[part])
    return ""


def _whole(content: Block, key: str | None, look: Look, part: Part) -> Html | None:
    match content.get("type"):
        case "text":
            text = text_at(content, "text")
            if not text:
                return h("div", "an empty text block (not sent back)", class_="nbr-lab")
            return h("div", markdown(text), class_="nbr-say")
        case "thinking":
            return h(
                "details",
                h("summary", "Thinking"),
                h("div", markdown(text_at(content, "thinking") or _NOT_SHOWN)),
                class_="nbr-think",
                data_key=key,
            )
        case "redacted_thinking":
            return h("div", "Thinking, encrypted by the API", class_="nbr-think")
        case "compaction":
            return _compaction(content, key)
        case "container_upload":
            named = text_at(content, "file_id")
            said = spaced(
                chip("container"), "a file was put into it:", h("code", named)
            )
            return h("div", said, class_="nbr-thing")
        case "fallback":
            models = (text_at(content, way, "model") for way in ("from", "to"))
            said = spaced(chip("fallback"), " handed over to ".join(models))
            return h("div", said, class_="nbr-thing")
        case "image" | "document" | "search_result":
            return content_block(content, look=look, part=part)
        case _ if is_server_result(content):
            return lone_result_fragment(content, key=key, look=look, part=part)
        case kind:
            return h(
                "details",
                h(
                    "summary",
                    spaced(chip(words.ellipsis(str(kind), 80)), _name_of(content)),
                ),
                json_fragment(content, look=look, part=part),
                class_="nbr-call",
                data_key=key,
            )


def _compaction(content: Block, key: str | None) -> Html:
    summary = text_at(content, "content")
    if not summary:
        said = "Compaction, without a summary that can be read"
        return h("div", said, class_="nbr-think")
    return h(
        "details",
        h("summary", spaced(chip("compaction"), words.size(summary))),
        h("div", "what stands for all that was said before", class_="nbr-lab"),
        h("div", markdown(summary)),
        class_="nbr-think",
        data_key=key,
    )


def _name_of(content: Block) -> Html | None:
    name = content.get("name")
    return h("code", words.ellipsis(str(name), 100)) if name else None
