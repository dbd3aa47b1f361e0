"""What a tool displayed, as far as a page may hold it: images, tables, text.

A display's HTML was written by a library for a page it trusts. Of it only tables and
plain markup stay, without styles, scripts, addresses and images.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

import nh3

from nbrunner.views import words
from nbrunner.views.html import Html, h
from nbrunner.views.images import encoded_image
from nbrunner.views.look import block, label_line
from nbrunner.views.markdown import markdown
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbrunner.core.tool_call import Display

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_ADDRESS = re.compile(r"(<[^<>]* at 0x)[0-9a-fA-F]+(?=>)")
_MOST_CHARACTERS = 3_000_000
"""What one call may add to the notebook it is saved in."""
_LONGEST_HTML = 100_000
_TAGS = {
    *("table", "thead", "tbody", "tr", "th", "td", "p", "br", "hr", "div", "span"),
    *("em", "strong", "i", "b", "code", "pre", "ul", "ol", "li"),
    *("h1", "h2", "h3", "h4", "h5", "h6"),
}
_SPANS = {"colspan", "rowspan"}
_WITH_CONTENT_GONE = {"script", "style", "title", "template", "textarea", "svg", "math"}


def display_fragments(displays: Sequence[Display]) -> Html | None:
    """Everything that a call displayed, oldest first."""
    if not displays:
        return None
    weights = accumulate(sum(map(len, shown.data.values())) for shown in displays)
    return h(
        "div",
        label_line("displayed (not sent to Claude)"),
        [
            _display(shown) if weight <= _MOST_CHARACTERS else _too_much(shown)
            for shown, weight in zip(displays, weights, strict=True)
        ],
        class_="nbr-displayed",
    )


def display_words(display: Display) -> str:
    """A display as text."""
    plain = _plain(display)
    for media_type in _IMAGES:
        if media_type in display.data:
            return f"[{media_type}] {plain}".rstrip()
    plain = plain or display.data.get("text/markdown", "")
    return plain or f"[{', '.join(display.data) or 'nothing that can be shown'}]"


def _too_much(display: Display) -> Html | None:
    said = words.ellipsis(display_words(display), 120)
    most = words.bytes_words(_MOST_CHARACTERS)
    return label_line(f"{said}: not shown, this call displayed more than {most}")


def _display(display: Display) -> Html:
    shown = _richest(display)
    left_out = display.left_out
    return h("div", shown, label_line(left_out) if left_out else None)


def _plain(display: Display) -> str:
    """Its text, without the address of an object: that is another in every run."""
    return _ADDRESS.sub(r"\1…", display.data.get("text/plain", ""))


def _richest(display: Display) -> Html:
    data = display.data
    plain = _plain(display)
    for media_type in _IMAGES:
        if media_type in data:
            alt = words.ellipsis(plain, 120) or "figure"
            return encoded_image(data[media_type], alt=alt)
    if (html := data.get("text/html")) and len(html) <= _LONGEST_HTML:
        cleaned = _cleaned(html)
        if cleaned.strip():
            return h("div", cleaned, class_="nbr-table")
    if text := data.get("text/markdown"):
        return h("div", markdown(words.cut(text)[0]), class_="nbr-say")
    return block(plain or display_words(display))


def _digits(_tag: str, _name: str, value: str) -> str | None:
    return value if value.isascii() and value.isdigit() else None


def _cleaned(html: str) -> Html:
    return Html(
        nh3.clean(
            printable(html),
            tags=_TAGS,
            clean_content_tags=_WITH_CONTENT_GONE,
            attributes={"td": _SPANS, "th": _SPANS},
            attribute_filter=_digits,
            url_schemes=set(),
            link_rel=None,
        )
    )
