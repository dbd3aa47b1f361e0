"""Content blocks of a message or a result: text, images, documents, search results.

What a block is decides how it is shown; one of a kind that this version does not
know, or of an odd shape, is shown as the JSON it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.views import words
from nbrunner.views.fields import at, items_at, text_at
from nbrunner.views.html import Html, h, link, spaced
from nbrunner.views.images import image_fragment
from nbrunner.views.json_tree import json_fragment, unfolded
from nbrunner.views.look import block, chip, label_line

if TYPE_CHECKING:
    from nbrunner.views.look import Look, Part

_DEEPEST = 4
"""How deep content may lie in content: a document in a result is at 2."""


def content_part(content: Any, *, label: str, look: Look, part: Part) -> Html:
    """The content of a result: what Claude reads, kept to the letter where it is text.

    Args:
        content: The `content` of a result block.
        label: What it is.
        look: How the run is shown.
        part: Which part of the run it is.
    """
    if is_text(content):
        text = words.result_text(content) or "(an empty text)"
        shown = block(text, label=label, look=look, part=part)
        tree = unfolded(text, look=look, part=part)
        return h("div", shown, tree) if tree else shown
    return h("div", label_line(label), content_fragments(content, look=look, part=part))


def is_text(content: Any) -> bool:
    """Whether content is text and nothing else."""
    if content is None or isinstance(content, str):
        return True
    return isinstance(content, list | tuple) and all(
        at(item, "type") == "text" and isinstance(at(item, "text"), str)
        for item in content
    )


def content_fragments(
    content: Any, depth: int = 0, *, look: Look | None = None, part: Part | None = None
) -> list[Html]:
    """Blocks of a message or a result, each as what it is."""
    blocks = content if isinstance(content, list | tuple) else [content]
    return [content_block(item, depth, look=look, part=part) for item in blocks]


def content_block(
    item: Any, depth: int = 0, *, look: Look | None = None, part: Part | None = None
) -> Html:
    """One block as what it is.

    Args:
        item: The block.
        depth: How deep it lies in other content.
        look: How the run is shown, where the rest of a long text can be asked for.
        part: What is asked for then: of all that is long in it, the whole.
    """
    if isinstance(item, str):
        return block(item, look=look, part=part)
    if depth < _DEEPEST:
        match at(item, "type"):
            case "text" if isinstance(at(item, "text"), str):
                text = item["text"] or "(an empty text)"
                return block(text, look=look, part=part)
            case "image":
                return image_fragment(item)
            case "document":
                return _document(item, depth, look, part)
            case "search_result":
                return _search_result(item, depth, look, part)
    kind = text_at(item, "type") or "block"
    label = words.ellipsis(kind, 60)
    return json_fragment(item, label=label, look=look, part=part)


def _document(item: Any, depth: int, look: Look | None, part: Part | None) -> Html:
    source = at(item, "source")
    data = text_at(source, "data")
    is_plain = text_at(source, "type") == "text"
    context = text_at(item, "context")
    whose: Any = {"look": look, "part": part}
    return _folded(
        "document",
        item,
        [
            block(context, label="context", **whose) if context else None,
            block(data, **whose) if is_plain and data else None,
            content_fragments(items_at(source, "content"), depth + 1, **whose),
        ],
    )


def _search_result(item: Any, depth: int, look: Look | None, part: Part | None) -> Html:
    source = text_at(item, "source")
    where = h("div", link(source, words.ellipsis(source, 200)), class_="nbr-lab")
    content = items_at(item, "content")
    inside = content_fragments(content, depth + 1, look=look, part=part)
    return _folded("search result", item, [where if source else None, inside])


def _folded(kind: str, item: Any, inside: list[Any]) -> Html:
    """A block that is a thing of its own: its facts in a line, the rest below."""
    _, _, facts = words.block_words(item).partition(kind.replace(" ", "_"))
    summary = spaced(chip(kind), h("span", facts.lstrip(" ,"), class_="nbr-sig"))
    body = [part for part in inside if part]
    if not body:
        return h("div", summary, class_="nbr-thing")
    return h("details", h("summary", summary), body, class_="nbr-thing")
