"""A page taken apart by the standard library's parser, and what we put into one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

OURS = {
    *("section", "div", "span", "details", "summary", "code", "pre", "i", "b"),
    *("button", "textarea", "meter", "select", "option"),
}
MARKDOWN = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote"),
    *("ul", "ol", "li", "a", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
VOID = {"br", "hr", "img"}
PLAIN_ATTRIBUTES = {
    *("class", "open", "role", "title", "type", "rows", "placeholder", "hidden"),
    *("aria-label", "aria-pressed", "data-key", "data-intent", "data-place"),
    *("data-note", "data-part", "data-ttl", "data-lm-suppress-shortcuts"),
    *("data-own", "data-clock", "aria-hidden", "tabindex", "min", "max", "value"),
    *("data-call", "data-digest", "data-field", "data-form", "selected"),
    *("data-at", "data-attempt", "data-branch", "data-edit", "data-tool"),
    *("aria-checked", "disabled"),
}
MARKDOWN_ATTRIBUTES = {
    "a": {"href", "target", "rel"},
    "ol": {"start"},
    "img": {"src", "alt"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
}
# An image is in the page itself, and of four kinds that hold no script.
IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
SCHEMES = ("http:", "https:", "mailto:")


@dataclass
class Page(HTMLParser):
    """The elements and the text of a page, in their order.

    Attributes:
        elements: Each with its attributes.
        words: The text, piece by piece.
        stray: Comments, declarations and end tags without a start.
    """

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    stray: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.inside[-1:] == [tag]:
            self.inside.pop()
        else:
            self.stray.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        self.stray.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.stray.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.stray.append(f"<?{data}")

    def unknown_decl(self, data: str) -> None:
        self.stray.append(f"<![{data}")


def parsed(html: str) -> Page:
    """The page without its style element, which is not text."""
    page = Page()
    page.feed(html.partition("</style>")[2] if html.startswith("<style>") else html)
    page.close()
    return page


def strangers(page: Page) -> list[str]:
    """What no page of ours holds: any of it would be an injection."""
    found = page.stray + [f"unclosed <{tag}>" for tag in page.inside]
    for tag, attributes in page.elements:
        if tag not in OURS | MARKDOWN | {"img"}:
            found.append(f"<{tag}>")
        if tag == "img" and not IMAGE.fullmatch(attributes.get("src") or ""):
            found.append(f"image {(attributes.get('src') or '')[:60]}")
        spans = (attributes.get(name, "1") for name in ("colspan", "rowspan"))
        found += [f"span {span}" for span in spans if not (span or "").isdigit()]
        allowed = PLAIN_ATTRIBUTES | MARKDOWN_ATTRIBUTES.get(tag, set())
        found += [f"<{tag} {name}>" for name in attributes if name not in allowed]
        found += [f"url {url}" for url in [attributes.get("href")] if _is_bad(url)]
    return found


def _is_bad(url: str | None) -> bool:
    """Whether a link leads anywhere but to a page."""
    if url is None:
        return False
    scheme, colon, _ = "".join(url.split()).partition(":")
    is_relative = not colon or not scheme.isidentifier()
    return not is_relative and f"{scheme.lower()}:" not in SCHEMES
