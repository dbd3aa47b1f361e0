"""HTML that cannot be injected into: the only place that escapes.

`h("p", text)` makes an element. A child or an attribute that is a plain `str` is
redacted and escaped on the way in; only an `Html`, which only this module and the
sanitised Markdown make, goes in as it is.
"""

from __future__ import annotations

import base64
import html
import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from nbrunner.views.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable


class Html(str):
    """Markup known to be safe."""

    __slots__ = ()


Child: TypeAlias = "str | Html | Iterable[Child] | None"


def h(tag: str, *children: Child, **attributes: str | bool | None) -> Html:
    """An element with escaped content.

    Args:
        tag: Its name.
        children: Text (escaped), `Html` (as it is), None (nothing), or an iterable
            of these.
        attributes: `data_key="x"` becomes `data-key="x"`; a trailing underscore is
            dropped (`class_`); True stands alone, False and None are left out.
    """
    opening = tag + "".join(
        _attribute(name, value) for name, value in attributes.items()
    )
    inside = "".join(_flat(children))
    return Html(f"<{opening}>{inside}</{tag}>")


def escaped(text: str) -> Html:
    """Text as HTML shows it: secrets out, markup and quotes inert."""
    # A page says the same few words, labels and classes above all, again and again.
    return _known(text) if len(text) <= _SHORT else _escaped(text)


_SHORT = 40


@lru_cache(maxsize=2_000)
def _known(text: str) -> Html:
    return _escaped(text)


def _escaped(text: str) -> Html:
    return Html(html.escape(printable(text), quote=True))


def picture(media_type: str, content: bytes, *, alt: str) -> Html:
    """An image out of the page itself.

    Args:
        media_type: What it is, by its bytes.
        content: Its bytes; encoded anew, so that nothing but base64 gets in.
        alt: What it is for who cannot see it.
    """
    data = base64.b64encode(content).decode()
    source = f"data:{escaped(media_type)};base64,{data}"
    return Html(f'<img src="{source}"{_attribute("alt", alt)}>')


_PAGE = re.compile(r"https?://[^\s\"'<>\\]+", re.IGNORECASE)


def link(address: str, *children: Child) -> Html:
    """A link to a page of the web; what is no such address stays text."""
    if not _PAGE.fullmatch(address):
        return join(children)
    return h(
        "a",
        children,
        href=address,
        target="_blank",
        rel="noopener noreferrer nofollow",
    )


def join(parts: Iterable[Child]) -> Html:
    """Several children as one."""
    return Html("".join(_flat(parts)))


def spaced(*children: Child) -> Html:
    """Children with a space between, so that they read apart without a stylesheet."""
    return Html(" ".join(part for part in _flat(children) if part))


def _flat(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            yield child
        elif isinstance(child, str):
            yield escaped(child)
        else:
            yield from _flat(child)


def _attribute(name: str, value: str | bool | None) -> str:  # noqa: FBT001
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escaped(value)}"'
