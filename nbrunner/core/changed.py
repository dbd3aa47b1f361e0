"""Copies of a transcript with something changed in them.

`model_copy` skips validation on purpose: every part is a value already, and a long run
folds often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.core.history import survey

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript


def changed(transcript: Transcript, **changes: Any) -> Transcript:
    """The transcript with other fields."""
    return transcript.model_copy(update=changes)


def with_messages(
    transcript: Transcript, messages: tuple[Any, ...], **changes: Any
) -> Transcript:
    """The transcript with another conversation, and what is known of it."""
    known = survey(messages, transcript.known)
    return changed(transcript, messages=messages, known=known, **changes)


def with_iteration(transcript: Transcript, index: int, **changes: Any) -> Transcript:
    """The transcript with one of its iterations changed."""
    iterations = list(transcript.iterations)
    iterations[index] = iterations[index].model_copy(update=changes)
    return changed(transcript, iterations=tuple(iterations))
