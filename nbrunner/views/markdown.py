"""Claude's text as HTML: Markdown without raw HTML, without images, sanitised.

Two fences: markdown-it escapes raw HTML and refuses script links, and nh3 lets only
the tags and attributes below through, whatever the first fence may miss. A remote
image would tell its server who reads the notebook, so images become links.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import nh3
from markdown_it import MarkdownIt

from nbrunner.views.html import Html
from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote"),
    *("ul", "ol", "li", "a", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}


def markdown(text: str) -> Html:
    """The text rendered; secrets out, markup inert."""
    rendered = _parser().render(printable(text))
    return Html(
        nh3.clean(
            rendered,
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
            set_tag_attribute_values={"a": {"target": "_blank"}},
        )
    )


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(
        ["table", "strikethrough"]
    )
    parser.add_render_rule("image", _image_as_link)
    return parser


def _image_as_link(
    renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    token = tokens[index]
    label = renderer.renderInlineAsText(token.children or [], options, env)
    href = nh3.clean_text(str(token.attrGet("src") or ""))
    return f'<a href="{href}">image: {nh3.clean_text(label or "untitled")}</a>'
