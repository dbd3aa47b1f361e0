"""The next request: its settings, and its cache marks outside the iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.views import words
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.marks import (
    MOST_MESSAGES,
    message_rows,
    refusal_at,
    toggles,
)
from nbrunner.views.offers import offers_fragment
from nbrunner.views.request_form import request_form
from nbrunner.views.summary_row import summary_row

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript
    from nbrunner.views.look import Look

NEXT_KEY = "next"


_CHOSEN = {"request": "The API marks the last block that it can."}


def next_fragment(transcript: Transcript, look: Look) -> Html:
    """A line on the next request; open, its settings and marks outside the iterations.

    The marks are those of the system prompt, the tools and the request as a whole;
    before the first request also those of the messages that it will carry.
    """
    settings = transcript.settings
    places = [("request", "the whole request", "Whole request")]
    # In the order in which the API reads them, which is the order that marks need.
    if settings.system:
        places.insert(0, ("system", "the system prompt", "System prompt"))
    if settings.tools:
        named = words.count(len(settings.tools), "tool")
        places.insert(0, ("tools", "the tools", named[:1].upper() + named[1:]))
    refused = [refusal_at(transcript, place) for place, _, _ in places]
    return h(
        "details",
        h("summary", f"next request · {look.marks}"),
        [
            h(
                "div",
                spaced(
                    h("span", label, class_="nbr-where", title=_CHOSEN.get(place)),
                    toggles(transcript, place, what, look, counted=False),
                    why,
                ),
                class_="nbr-marks nbr-foot",
            )
            for (place, what, label), why in zip(places, refused, strict=True)
        ],
        _first_messages(transcript, look),
        summary_row(transcript, look),
        offers_fragment(transcript, look),
        request_form(transcript, look),
        class_="nbr-request nbr-next",
        data_key=NEXT_KEY,
        open=any(refused),
    )


def _first_messages(transcript: Transcript, look: Look) -> list[Html | None]:
    """The rows of what the first request will carry; later ones are in iterations."""
    if transcript.iterations:
        return []
    start = max(0, len(transcript.messages) - MOST_MESSAGES)
    return [
        row
        for index, message in enumerate(transcript.messages[start:], start)
        for row in message_rows(transcript, index, message, look, began=True)
    ]
