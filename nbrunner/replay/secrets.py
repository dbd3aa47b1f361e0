"""What may not get into a cassette file, and how it is kept out.

Redacting event by event is not enough: a model streams a key in pieces, none of
which looks like one. So what a stream says is also looked at as a whole.
"""

from __future__ import annotations

import re

from nbrunner.core.redact import redact, redact_json
from nbrunner.replay import wire
from nbrunner.replay.episode import Episode, Event, StoredResponse

_KEY = re.compile(r"sk-ant-[\w-]{8,}")

_SAYING = ("text", "thinking", "partial_json")


def redacted(episode: Episode) -> Episode:
    """The episode with every recognised secret replaced."""
    response = episode.response
    if response.events is not None and _is_told(_said(response)):
        response = _streamed_anew(response)
    return Episode(
        request=redact_json(episode.request),
        response=StoredResponse.model_validate(redact_json(response.model_dump())),
    )


def holds_key(text: str, episodes: tuple[Episode, ...]) -> bool:
    """Whether an API key stands in the text, or in what the episodes' streams say."""
    told = (text, *(_said(episode.response) for episode in episodes))
    return any(_KEY.search(part) for part in told)


def _said(response: StoredResponse) -> str:
    """All that the deltas of a stream say, in one piece."""
    deltas = [data.get("delta", {}) for _, data in response.stream]
    return "".join(d[field] for d in deltas for field in _SAYING if field in d)


def _is_told(text: str) -> bool:
    return redact(text) != text


def _streamed_anew(response: StoredResponse) -> StoredResponse:
    """The same reply without its secrets, in other pieces at even distances.

    Of a reply that broke off only the opening is kept: its last piece may be half
    a secret, which nothing can recognise.
    """
    events = response.events or ()
    if response.message is None:
        return response.model_copy(update={"events": events[:1]})
    told = list(wire.events_of(redact_json(response.message)))
    first_s, last_s = events[0].at_s, events[-1].at_s
    step_s = (last_s - first_s) / (len(told) - 1)
    anew = tuple(
        Event(round(first_s + index * step_s, 3), *event)
        for index, event in enumerate(told)
    )
    return response.model_copy(update={"events": anew})
