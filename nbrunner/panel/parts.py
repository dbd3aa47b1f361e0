"""What a view asks for: a long text whole, or a level of JSON; and what holds it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from nbrunner.core.caching import block_address
from nbrunner.views.call import PART_FIELDS, call_fragment, call_key
from nbrunner.views.html import escaped
from nbrunner.views.iteration import (
    SYSTEM_KEY,
    SYSTEM_PART,
    iteration_fragment,
    iteration_key,
    system_fragment,
)
from nbrunner.views.json_level import LEVEL_KEY, NEXT_PAGE
from nbrunner.views.marks import MARKS, holds
from nbrunner.views.next_request import NEXT_KEY, next_fragment

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript
    from nbrunner.views.look import Look

_FIELDS = "|".join(PART_FIELDS)
_CALL_PART = re.compile(rf"it(\d{{1,6}})\.call\.(.+)\.({_FIELDS})", re.DOTALL)
_LEVEL = re.compile(rf"((.+){LEVEL_KEY})(?:{NEXT_PAGE})?", re.DOTALL)
_DETAILS = re.compile(r"<details\b|</details>")
_LISTED_PART = re.compile(r"it(\d{1,6})\.(?:block(\d{1,6})\.all|request\.(\d{1,6}))")


def holder_of(part: str, transcript: Transcript, look: Look) -> dict[str, str] | None:
    """The fragment that holds a part, with its key; None where there is no such part.

    Args:
        part: The part's key, as a view sent it.
        transcript: The run.
        look: How it is shown, with the part among what is asked for.
    """
    if (level := _LEVEL.fullmatch(part)) is not None:
        return _level(level, transcript, look)
    if part == SYSTEM_PART.key and transcript.settings.system:
        return {"key": SYSTEM_KEY, "html": str(system_fragment(transcript, look))}
    if part.startswith(MARKS):
        return _holder_of_marks(part.removeprefix(MARKS), transcript, look)
    if (listed := _LISTED_PART.fullmatch(part)) is not None:
        return _holder_of_listed(listed, transcript, look)
    found = _CALL_PART.fullmatch(part)
    if found is None or int(found[1]) >= len(transcript.iterations):
        return None
    iteration = transcript.iterations[int(found[1])]
    call = iteration.call(found[2])
    if call is None:
        return None
    html = call_fragment(transcript, iteration, call, look)
    return {"key": call_key(iteration, call), "html": str(html)}


def _level(
    level: re.Match[str], transcript: Transcript, look: Look
) -> dict[str, str] | None:
    """A level of a tree with what was asked for in it, and no more of the page.

    What the page offers says which levels there are: it is rendered as it was before.
    """
    part, key, within = level[0], level[1], level[2]
    before = replace(look, whole=look.whole - {part})
    offers = holder_of(within, transcript, before)
    if offers is None or f' data-part="{escaped(part)}"' not in offers["html"]:
        return None
    holder = holder_of(within, transcript, look)
    element = _element(holder["html"], key) if holder else None
    return {"key": key, "html": element} if element else holder


def _element(html: str, key: str) -> str | None:
    """The `details` of a key, cut out of a fragment; None where that is not clear.

    No text is taken for a tag: whatever makes markup of a text escapes it.
    """
    named = f' data-key="{escaped(key)}"'
    # The same value twice in one part: whoever asks gets all that holds them.
    if html.count(named) != 1:
        return None
    start, depth = html.rindex("<details", 0, html.index(named)), 0
    for tag in _DETAILS.finditer(html, start):
        depth += 1 if tag[0] == "<details" else -1
        if not depth:
            return html[start : tag.end()]
    return None


def _holder_of_marks(
    place: str, transcript: Transcript, look: Look
) -> dict[str, str] | None:
    """The fragment that holds the row of a block."""
    address = block_address(place)
    if address is None:
        return None
    if not transcript.iterations and address[0] < len(transcript.messages):
        return {"key": NEXT_KEY, "html": str(next_fragment(transcript, look))}
    for iteration in transcript.iterations:
        if holds(iteration, place):
            return _whole_iteration(iteration.index, transcript, look)
    return None


def _holder_of_listed(
    listed: re.Match[str], transcript: Transcript, look: Look
) -> dict[str, str] | None:
    """The iteration of a block of a reply, or of a message of a request."""
    index = int(listed[1])
    if index >= len(transcript.iterations):
        return None
    iteration = transcript.iterations[index]
    is_block = listed[2] is not None
    there = len(iteration.blocks) if is_block else iteration.request.position
    if int(listed[2] or listed[3]) >= there:
        return None
    return _whole_iteration(index, transcript, look)


def _whole_iteration(index: int, transcript: Transcript, look: Look) -> dict[str, str]:
    html = iteration_fragment(transcript, index, look)
    return {"key": iteration_key(index), "html": str(html)}
