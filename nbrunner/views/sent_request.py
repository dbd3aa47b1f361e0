"""The request of an iteration: what went out, in a line, and all of it below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.core.caching import MAX_MARKS
from nbrunner.core.offers import offered_in
from nbrunner.views import words
from nbrunner.views.html import Html, h
from nbrunner.views.images import without_bytes
from nbrunner.views.look import Look, Part, block, is_lasting
from nbrunner.views.marks import first_new, message_rows
from nbrunner.views.request_changes import changes_of

if TYPE_CHECKING:
    from nbrunner.core.transcript import Iteration, Transcript


def request_fragment(transcript: Transcript, iteration: Iteration, look: Look) -> Html:
    """What went out, in a line, with the settings one click away."""
    request = iteration.request
    marks = len(iteration.marks)
    facts = [
        f"request {iteration.index + 1}",
        words.sends(iteration),
        words.count(request.position, "message"),
        words.count(len(offered_in(request)), "tool"),
        f"{marks} of {MAX_MARKS} cache marks" if marks else None,
        *changes_of(transcript, iteration),
    ]
    start = first_new(iteration)
    settings = request.head()
    if is_lasting(transcript, look):
        settings = words.without_ids(settings)
    return h(
        "details",
        h("summary", " · ".join(fact for fact in facts if fact)),
        [block(f"cache mark left out at {place}") for place in iteration.dropped_marks],
        _settings(transcript, iteration, settings),
        block("\n".join(iteration.marks), label="cache marks sent") if marks else None,
        h("div", f"{words.count(start, 'earlier message')}", class_="nbr-lab")
        if start and not iteration.index
        else None,
        [
            _new_message(transcript, iteration, index, look)
            for index in range(start, request.position)
        ],
        class_="nbr-request",
        data_key=f"it{iteration.index}.request" if look.live else None,
    )


def _settings(
    transcript: Transcript, iteration: Iteration, settings: dict[str, Any]
) -> Html:
    """The settings, where they are not those of the request before."""
    before = transcript.iterations[: iteration.index][-1:]
    is_same = before and before[0].request.settings == iteration.request.settings
    if is_same and not iteration.is_compaction:
        return h("div", "settings as before", class_="nbr-lab")
    return block(words.pretty(settings), label="settings")


def _new_message(
    transcript: Transcript, iteration: Iteration, index: int, look: Look
) -> list[Html | None]:
    """A message that this request was the first to carry, with its cache marks."""
    message = iteration.request.messages[index]
    shown = words.without_ids(message) if is_lasting(transcript, look) else message
    return [
        block(
            words.pretty(without_bytes(shown)),
            label=f"new: {message['role']} message",
            look=look,
            part=request_part(iteration, index),
        ),
        *message_rows(transcript, index, message, look, began=iteration.index == 0),
    ]


def request_part(iteration: Iteration, index: int) -> Part:
    """A message of a request, as the panel and as Python ask for all of it."""
    return Part(
        key=f"it{iteration.index}.request.{index}",
        line=f"transcript.iterations[{iteration.index}].request.messages[{index}]",
    )
