"""Edits: changes to the next request that a person asks for, as values.

`apply(request, edit)` is pure. An edit that the API's rules forbid is refused
with the reason, so that a click can say in place why nothing happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nbrunner.core.blocks import Value, content_of, is_empty_text
from nbrunner.core.caching import MAX_MARKS, UNMARKABLE, Mark, Ttl, too_late
from nbrunner.core.history import survey
from nbrunner.core.request import address_of
from nbrunner.errors import EditRefused

if TYPE_CHECKING:
    from nbrunner.core.request import Request


class ToggleCache(Value):
    """Set a cache mark, change how long it lasts, or take it off.

    Attributes:
        place: `system`, `tools`, `request` (the API chooses the block), `results`
            (the newest ones), a block such as `messages[2].content[0]`, or a
            `tool_use` id, which means the result of that call.
        ttl: How long it lasts. A mark that lasts as long is there: it is taken off.
    """

    kind: Literal["toggle_cache"] = "toggle_cache"
    place: str
    ttl: Ttl = "5m"

    def __init__(self, place: str, ttl: Ttl = "5m", **fields: Any) -> None:
        super().__init__(**{"place": place, "ttl": ttl, **fields})


Edit = ToggleCache


def apply(request: Request, edit: Edit, *, by: str = "person") -> Request:
    """The request with the edit made.

    Args:
        request: The next request.
        edit: What to change.
        by: "person" for a click, which never pushes another mark out; "code" for
            a line of Python, whose fifth mark makes the oldest give way at send.

    Raises:
        EditRefused: The place is not there or takes no mark, a click asked for a
            fifth mark, or a longer mark would stand behind a shorter one.
    """
    others = tuple(mark for mark in request.marks if mark.place != edit.place)
    wanted = Mark(edit.place, edit.ttl)
    if wanted in request.marks:
        return request.model_copy(update={"marks": others})
    _check_place(request, edit.place)
    edited = request.model_copy(update={"marks": (*others, wanted)})
    before, fitted = request.fitted(), edited.fitted()
    is_new = len(others) == len(request.marks)
    pushes_out = by == "person" and is_new and bool(fitted.dropped)
    # Only marks on messages give way: too many before them would be refused.
    if pushes_out or len(fitted.marks) > max(MAX_MARKS, len(before.marks)):
        raise EditRefused.no_mark_left([placed.path for placed in before.marks])
    if (late := too_late(fitted.marks)) is not None:
        raise EditRefused.longer_behind_shorter(late.path)
    return edited


def _check_place(request: Request, place: str) -> None:
    """Refuse a place that is not there, or that takes no mark."""
    if place in ("request", "results"):
        return
    if place == "tools":
        if not request.settings.tools:
            raise EditRefused.nothing_there(place, "the request has no tools")
        return
    if place == "system":
        system = request.settings.system
        blocks = content_of({"content": system or []})
        if not blocks or is_empty_text(blocks[-1]):
            raise EditRefused.nothing_there(place, "there is no system prompt")
        return
    address = address_of(place, survey(request.messages, request.known))
    if address is None and "[" in place:
        raise EditRefused.nothing_there(place, "the conversation has no such block")
    if address is None:
        raise EditRefused.no_such_result(place)
    index, number = address
    block = content_of(request.messages[index])[number]
    if block.get("type") in UNMARKABLE or is_empty_text(block):
        kind = "an empty text" if is_empty_text(block) else "a thinking block"
        raise EditRefused.unmarkable(place, kind)
