"""Images as the page itself holds them: decoded, checked, never loaded from anywhere.

Only four raster formats are shown, each known by its first bytes and not by what a
block claims: an SVG is a document with scripts, and an address would tell its server
who reads the notebook.
"""

from __future__ import annotations

from typing import Any

from nbrunner.views import words
from nbrunner.views.fields import at, decoded, decoded_size, text_at
from nbrunner.views.html import Html, h, picture

LARGEST_BYTES = 1_000_000
"""An image above this would weigh down the notebook it is saved in."""

_FIRST_BYTES = (
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF87a"),
    ("image/gif", b"GIF89a"),
)


def image_fragment(block: Any) -> Html:
    """An image block: the image, or words on why it is not shown."""
    if text_at(block, "source", "type") == "base64":
        return encoded_image(at(block, "source", "data"), alt="image in a message")
    return h("div", f"[{words.block_words(block)}]", class_="nbr-picture nbr-remark")


def encoded_image(data: Any, *, alt: str) -> Html:
    """A base64 text as the image it is, or words on why it is none."""
    if isinstance(data, str) and decoded_size(data) > LARGEST_BYTES:
        return _left_out(f"it has {words.bytes_words(decoded_size(data))}", alt)
    content = decoded(data)
    if content is None:
        return _left_out("it is not base64", alt)
    media_type = _media_type(content)
    if media_type is None:
        return _left_out("its bytes are not those of a PNG, JPEG, GIF or WebP", alt)
    size = words.bytes_words(len(content))
    return h(
        "div",
        picture(media_type, content, alt=alt),
        h("div", f"{media_type}, {size}", class_="nbr-remark"),
        class_="nbr-picture",
    )


def _media_type(content: bytes) -> str | None:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    matches = (kind for kind, first in _FIRST_BYTES if content.startswith(first))
    return next(matches, None)


def _left_out(why: str, alt: str) -> Html:
    return h("div", f"[{alt}: not shown, {why}]", class_="nbr-picture nbr-remark")


def without_bytes(value: Any) -> Any:
    """Blocks of the API with encoded files in them left out, and their size told."""
    if isinstance(value, list | tuple):
        return [without_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "base64" and isinstance(value.get("data"), str):
        weight = words.bytes_words(decoded_size(value["data"]))
        return {**value, "data": f"… {weight}"}
    return {key: without_bytes(item) for key, item in value.items()}
