"""Long texts that a view asks for whole: which fragment holds one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbrunner.views.call import PART_FIELDS, call_fragment, call_key
from nbrunner.views.iteration import SYSTEM_KEY, SYSTEM_PART, system_fragment

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript
    from nbrunner.views.look import Look

_FIELDS = "|".join(PART_FIELDS)
_CALL_PART = re.compile(rf"it(\d{{1,6}})\.call\.(.+)\.({_FIELDS})", re.DOTALL)


def holder_of(part: str, transcript: Transcript, look: Look) -> dict[str, str] | None:
    """The fragment that holds a part, with its key; None where there is no such part.

    Args:
        part: The part's key, as a view sent it.
        transcript: The run.
        look: How it is shown.
    """
    if part == SYSTEM_PART.key and transcript.settings.system:
        return {"key": SYSTEM_KEY, "html": str(system_fragment(transcript, look))}
    found = _CALL_PART.fullmatch(part)
    if found is None or int(found[1]) >= len(transcript.iterations):
        return None
    iteration = transcript.iterations[int(found[1])]
    call = iteration.call(found[2])
    if call is None:
        return None
    html = call_fragment(transcript, iteration, call, look)
    return {"key": call_key(iteration, call), "html": str(html)}
