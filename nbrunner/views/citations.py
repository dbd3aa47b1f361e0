"""Cited text: numbers behind what Claude says, and below it what each one cites.

The API cuts a text into blocks where its citations change, in the middle of a
sentence too, so blocks that stand side by side are read as one text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.views import words
from nbrunner.views.fields import at, items_at, text_at
from nbrunner.views.html import Html, h, link, spaced
from nbrunner.views.markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable

_QUOTED_CHARACTERS = 600
_RANGES = (
    ("character", "start_char_index", "end_char_index"),
    ("page", "start_page_number", "end_page_number"),
    ("block", "start_block_index", "end_block_index"),
)


def citations_of(block: Any) -> list[Any]:
    """What a text block cites."""
    return [item for item in items_at(block, "citations") if isinstance(item, dict)]


def cited_text(blocks: Iterable[Any], *, key: str | None) -> Html:
    """Text blocks side by side, of which some cite.

    Args:
        blocks: The blocks.
        key: The key of the list of what is cited.
    """
    text, cited = "", []
    for block in blocks:
        text += text_at(block, "text")
        for citation in citations_of(block):
            if citation not in cited:
                cited.append(citation)
            # Escaped, so that no text behind it makes a link of the number.
            text += rf"\[{cited.index(citation) + 1}]"
    return h(
        "div",
        markdown(text),
        h(
            "details",
            h("summary", words.count(len(cited), "citation")),
            [_citation(number, item) for number, item in enumerate(cited, 1)],
            class_="nbr-cites",
            data_key=key,
        ),
        class_="nbr-say",
    )


def cited_words(block: Any) -> str:
    """What a text block cites, as text."""
    named = [_title(citation) for citation in citations_of(block)]
    return f" [cites {'; '.join(named)}]" if named else ""


def _citation(number: int, citation: Any) -> Html:
    quoted = words.ellipsis(text_at(citation, "cited_text"), _QUOTED_CHARACTERS)
    address = text_at(citation, "url") or text_at(citation, "source")
    return h(
        "div",
        spaced(
            h("span", f"[{number}]", class_="nbr-n"),
            link(address, _title(citation)),
            h("span", _place(citation), class_="nbr-num"),
        ),
        h("div", f"“{quoted}”", class_="nbr-quote") if quoted else None,
    )


def _title(citation: Any) -> str:
    names = ("document_title", "title", "url", "source", "type")
    found = (text_at(citation, name) for name in names)
    return words.ellipsis(next(filter(None, found), "a source"), 200)


def _place(citation: Any) -> str:
    for thing, first, last in _RANGES:
        start, end = at(citation, first), at(citation, last)
        if isinstance(start, int) and isinstance(end, int):
            # The end is exclusive in all of them; characters and blocks count from 0.
            start, end = (start, end - 1) if thing == "page" else (start + 1, end)
            if end <= start:
                return f"{thing} {start}"
            return f"{thing}s {start} to {end}"
    return ""
