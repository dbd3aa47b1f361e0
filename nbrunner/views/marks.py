"""Cache marks on a page: the buttons of a place, and what is said of it there.

A tool result has its buttons at hand. The other blocks of the conversation would
flood the page with theirs, so each has one quiet opener, which the panel answers with
the buttons, the count and the line of Python of that block alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbrunner.core.blocks import content_of
from nbrunner.core.caching import MAX_MARKS, block_address
from nbrunner.core.edits import ToggleCache
from nbrunner.views import words
from nbrunner.views.fields import text_at
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.look import Look, chip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.caching import Ttl
    from nbrunner.core.transcript import Iteration, Transcript

MARKS = "marks."
"""What the key of a part begins with that stands for the buttons of a place."""

MOST_MESSAGES = 30
"""How many of the messages that a run began with are gone through one by one."""

_FULL = "All four marks are set: take one off first."
_LASTING: tuple[tuple[Ttl, str, str], ...] = (
    ("5m", "Cache mark", "cache mark"),
    ("1h", "1 h", "1-hour cache mark"),
)


# -- where a place is shown ------------------------------------------------------


def first_new(iteration: Iteration) -> int:
    """The place of the first message that its request was the first to carry."""
    messages = iteration.request.messages
    if iteration.index == 0:
        return max(0, len(messages) - MOST_MESSAGES)
    for place in range(len(messages) - 1, -1, -1):
        if messages[place]["role"] == "assistant":
            return place + 1
    return 0


def holds(iteration: Iteration, place: str) -> bool:
    """Whether a block of the conversation is shown in an iteration."""
    address = block_address(place)
    if address is None:
        return False
    most = iteration.request.position - (iteration.reply is None)
    return first_new(iteration) <= address[0] <= most


def says_itself(transcript: Transcript, place: str) -> bool:
    """Whether the page has a row for a place, which tells of what was refused there."""
    settings = transcript.settings
    match place:
        case "request":
            return True
        case "system" | "tools":
            return bool(getattr(settings, place))
    if (address := block_address(place)) is None:
        return transcript.find_call(place) is not None
    if not transcript.iterations:
        return address[0] < len(transcript.messages)
    return any(holds(iteration, place) for iteration in transcript.iterations)


def has_row(transcript: Transcript, place: str, look: Look) -> bool:
    """Whether the buttons of a block are shown: someone asked, or there is news."""
    return (
        f"{MARKS}{place}" in look.whole
        or transcript.mark_at(place) is not None
        or _waits(transcript, place)
        or refusal_at(transcript, place) is not None
    )


# -- what is said there ----------------------------------------------------------


def toggles(
    transcript: Transcript, place: str, what: str, look: Look, *, counted: bool = True
) -> list[Html]:
    """The buttons of a place, how many marks are set, and the line of Python.

    Args:
        transcript: The run.
        place: Where the mark stands, in the words of `ToggleCache`.
        what: What stands there, in the names of the buttons.
        look: How the run is shown.
        counted: Whether to say how many marks are set, where nothing near says it.
    """
    marked = transcript.mark_at(place)
    full = marked is None and look.marks.startswith(str(MAX_MARKS))
    lasting = "5m" if marked is None else marked.ttl
    shown = [
        h(
            "button",
            label,
            type="button",
            class_=f"nbr-button {'nbr-on' if is_on else 'nbr-quiet'}",
            data_intent="toggle_cache",
            data_place=place,
            data_ttl=ttl,
            aria_pressed="true" if is_on else "false",
            aria_label=f"{named} on {what}",
            title=_FULL if full else f"in Python: {_line(place, look, ttl)}",
        )
        for ttl, label, named in _LASTING
        for is_on in [marked is not None and marked.ttl == ttl]
    ]
    if counted:
        shown.append(h("span", look.marks, class_="nbr-num"))
    if _waits(transcript, place):
        shown.append(chip("waits for the next safe point", "warn"))
    return [*shown, h("code", _line(place, look, lasting), class_="nbr-py")]


def _line(place: str, look: Look, ttl: Ttl) -> str:
    lasting = "" if ttl == "5m" else f', ttl="{ttl}"'
    return f"{look.name}.submit(ToggleCache({json.dumps(place)}{lasting}))"


def _waits(transcript: Transcript, place: str) -> bool:
    return any(
        isinstance(edit, ToggleCache) and edit.place == place
        for edit in transcript.asked_edits
    )


def mark_chip(transcript: Transcript, place: str) -> Html | None:
    """How long the mark at a place lasts, if there is one."""
    marked = transcript.mark_at(place)
    if marked is None:
        return None
    return chip("cache 5 min" if marked.ttl == "5m" else "cache 1 h", "mark")


def refusal_at(transcript: Transcript, place: str) -> Html | None:
    """Why the last mark asked for there was not set."""
    if transcript.refused is None:
        return None
    edit, reason = transcript.refused
    if isinstance(edit, ToggleCache) and edit.place == place:
        return h("span", reason, class_="nbr-refused", role="alert")
    return None


# -- the rows of blocks ----------------------------------------------------------


def block_row(
    transcript: Transcript,
    place: str,
    what: str,
    look: Look,
    *,
    label: str | None = None,
) -> Html | None:
    """The row of a block: its opener, or its buttons; a static page has its mark."""
    named = h("span", label, class_="nbr-where") if label else None
    if not look.live:
        marked = mark_chip(transcript, place)
        return h("div", spaced(named, marked), class_="nbr-marks") if marked else None
    if has_row(transcript, place, look):
        shown = toggles(transcript, place, what, look)
        refused = refusal_at(transcript, place)
        return h(
            "div", spaced(named, shown, refused), class_="nbr-marks nbr-foot nbr-shown"
        )
    # Its place among the buttons is that of the first: who pressed it keeps the focus.
    opener = h(
        "button",
        "Cache mark",
        type="button",
        class_="nbr-button nbr-quiet",
        data_intent="more",
        data_part=f"{MARKS}{place}",
        aria_label=f"cache marks of {what}",
        title=f"in Python: {_line(place, look, '5m')}",
    )
    return h("div", spaced(named, opener), class_="nbr-marks nbr-opener")


def message_rows(
    transcript: Transcript, index: int, message: Any, look: Look, *, began: bool
) -> Iterator[Html | None]:
    """The rows of a message's blocks.

    Args:
        transcript: The run.
        index: Which message of the conversation it is.
        message: The message.
        look: How the run is shown.
        began: Whether the run began with it. The results in a later one have their
            buttons at their calls.
    """
    for number, content in enumerate(content_of(message)):
        if content.get("type") == "tool_result" and not began:
            continue
        kind = words.ellipsis(text_at(content, "type"), 60)
        what = f"the {kind}, block {number + 1} of message {index + 1}"
        place = f"messages[{index}].content[{number}]"
        label = f"message {index + 1}, block {number + 1}: {kind}"
        yield block_row(transcript, place, what, look, label=label)


def beside_row(
    shown: Html | None,
    transcript: Transcript,
    iteration: Iteration,
    number: int,
    look: Look,
) -> Html | None:
    """A block of a reply as it is shown, with the row for its mark.

    Args:
        shown: The block.
        transcript: The run.
        iteration: Whose reply it is of.
        number: Which of its blocks.
        look: How the run is shown.
    """
    index = iteration.request.position
    in_history = iteration.reply is not None and index < len(transcript.messages)
    if shown is None or not in_history:
        return shown
    kind = words.ellipsis(text_at(iteration.blocks[number], "type"), 60)
    what = f"the {kind}, block {number + 1} of reply {iteration.index + 1}"
    place = f"messages[{index}].content[{number}]"
    row = block_row(transcript, place, what, look)
    return h("div", shown, row, class_="nbr-block") if row else shown
