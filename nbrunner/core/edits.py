"""Edits: changes to the next request that a person asks for, as values.

`apply(request, edit)` is pure. An edit that the API's rules forbid is refused
with the reason, so that a click can say in place why nothing happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nbrunner.core.blocks import Value, tool_results
from nbrunner.core.caching import MAX_MARKS, marked_places
from nbrunner.errors import EditRefused

if TYPE_CHECKING:
    from nbrunner.core.request import Request


class ToggleCache(Value):
    """Set or take off the cache breakpoint on one tool result.

    Attributes:
        call_id: The `tool_use` id of the call whose result is meant.
    """

    kind: Literal["toggle_cache"] = "toggle_cache"
    call_id: str

    def __init__(self, call_id: str, **fields: Any) -> None:
        super().__init__(**{"call_id": call_id, **fields})


Edit = ToggleCache


def apply(request: Request, edit: Edit, *, by: str = "person") -> Request:
    """The request with the edit made.

    Args:
        request: The next request.
        edit: What to change.
        by: "person" for a click, which never pushes another mark out; "code" for
            a line of Python, whose fifth mark makes the oldest give way at send.

    Raises:
        EditRefused: The result is not in the conversation, or a click asked for
            a fifth mark.
    """
    if edit.call_id in request.marks:
        marks = tuple(m for m in request.marks if m != edit.call_id)
        return request.model_copy(update={"marks": marks})
    if edit.call_id not in _answered(request):
        raise EditRefused.no_such_result(edit.call_id)
    places = marked_places(request.body())
    if by == "person" and len(places) >= MAX_MARKS:
        raise EditRefused.no_mark_left(places)
    return request.model_copy(update={"marks": (*request.marks, edit.call_id)})


def _answered(request: Request) -> set[str]:
    """The ids of all calls whose results stand in the conversation."""
    return {
        block["tool_use_id"]
        for message in request.messages
        if message["role"] == "user"
        for block in tool_results(message)
    }
