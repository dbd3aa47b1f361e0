"""Tools for the tests of the loop; each notes its calls in the list it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anthropic import beta_tool
from anthropic.lib.tools import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = "20 degrees, ünd wärmer 🌞 " * 40_000
PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
IMAGE = {"type": "image", "source": PNG}
MARK = {"type": "ephemeral"}


class OddlyNamed(Exception):
    """An error with more than a text in it."""


def counted_tools(calls: list[Any]) -> list[Any]:
    """The SDK's tools over plain functions: `add`, `fail`, `give`, `echo`."""

    @beta_tool
    def add(a: int, b: int) -> str:
        """Add two numbers."""
        calls.append(("add", a, b))
        return str(a + b)

    @beta_tool
    def fail(how: str) -> str:
        """Fail."""
        calls.append(("fail", how))
        error = ERRORS[how]()
        raise error

    @beta_tool
    def give(what: str) -> Any:
        """Give something back."""
        calls.append(("give", what))
        return GIFTS[what]()

    @beta_tool
    def echo(value: Any) -> Any:
        """Give back what came in."""
        calls.append(("echo", value))
        return value

    return [add, fail, give, echo]


ERRORS: dict[str, Callable[[], Exception]] = {
    "plainly": lambda: ValueError("bad"),
    "at length": lambda: ValueError("x" * 10_000),
    "oddly": lambda: OddlyNamed("a", 2),
    "by lone surrogate": lambda: ValueError("half \ud83d of it"),
    "in words": lambda: ToolError("Ask for a city in Europe."),
    "without a word": lambda: ToolError(""),
    "in pictures": lambda: ToolError([{"type": "text", "text": "look:"}, IMAGE]),
}

GIFTS: dict[str, Callable[[], Any]] = {
    "an image": lambda: [{"type": "text", "text": "here"}, IMAGE],
    "a generator": lambda: ({"type": "text", "text": t} for t in ("one", "two")),
    "a tuple": lambda: ({"type": "text", "text": "in a tuple"},),
    "a marked text": lambda: [{"type": "text", "text": "m", "cache_control": MARK}],
    "an empty text": lambda: "",
    "an empty list": list,
    "a megabyte": lambda: MEGABYTE,
    "a lone surrogate": lambda: "half \ud83d of it",
    "a lone surrogate in a block": lambda: [{"type": "text", "text": "\udfff!"}],
}
