"""The blocks of a reply: while they stream, when they are whole, or broken off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.views import words
from nbrunner.views.call import Look, block, call_fragment, chip, is_lasting
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.blocks import Block
    from nbrunner.core.transcript import Iteration, Transcript


def stream_key(index: int, block_index: int) -> str:
    """The key of the element that a streamed block's text is appended to."""
    return f"it{index}.block{block_index}"


def reply_fragments(
    transcript: Transcript, iteration: Iteration, look: Look
) -> Iterator[Html | None]:
    """The blocks of a reply in their order, calls with what came of them."""
    for place, content in enumerate(iteration.blocks):
        if iteration.reply is None:
            yield _streaming(iteration, place, content, look)
            continue
        call = None
        if content.get("type") == "tool_use":
            call = iteration.call(content["id"])
        if call is not None:
            yield call_fragment(transcript, iteration, call, look)
            continue
        lasting = is_lasting(transcript, look)
        whole_key = f"{stream_key(iteration.index, place)}.whole"
        yield _whole(
            words.without_ids(content) if lasting else content,
            key=whole_key if look.live else None,
        )


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


def _whole(content: Block, *, key: str | None) -> Html | None:
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
                data_key=key,
            )
        case "redacted_thinking":
            return h("div", "Thinking, encrypted by the API", class_="nbr-think")
        case kind:
            return h(
                "details",
                h("summary", spaced(chip(str(kind)), _name_of(content))),
                block(words.pretty(content)),
                class_="nbr-call",
                data_key=key,
            )


def _name_of(content: Block) -> Html | None:
    name = content.get("name")
    return h("code", str(name)) if name else None
