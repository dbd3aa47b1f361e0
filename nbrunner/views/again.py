"""A reply that is asked for again: the button, and the replies that were dropped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nbrunner.core.blocks import text_of
from nbrunner.views import words
from nbrunner.views.html import Html, h
from nbrunner.views.reply import broken_block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.transcript import DroppedReply, Iteration, Transcript
    from nbrunner.views.look import Look


def again_button(
    transcript: Transcript, iteration: Iteration, look: Look
) -> Html | None:
    """The button that drops the newest reply and asks for another."""
    has_come = iteration.reply is not None or iteration.blocks
    own = transcript.own_iterations
    if not look.live or not has_come or not own or iteration is not own[-1]:
        return None
    return h(
        "button",
        "Ask again",
        type="button",
        class_="nbr-button nbr-quiet",
        data_intent="retry",
        data_attempt=iteration.attempt,
        aria_label=f"Ask again, and drop reply {iteration.index + 1}",
        title=f"in Python: {look.name}.retry()",
    )


def dropped_fragments(iteration: Iteration, look: Look) -> list[Html]:
    """The replies that someone dropped: there to be read, and not sent on."""
    key = f"it{iteration.index}.dropped"
    return [
        h(
            "details",
            h("summary", _words(dropped)),
            [broken_block(block) for block in dropped.reply.get("content") or ()],
            class_="nbr-partial nbr-dropped",
            data_key=f"{key}{number}" if look.live else None,
        )
        for number, dropped in enumerate(iteration.dropped)
    ]


def dropped_lines(iteration: Iteration) -> Iterator[str]:
    """The same as text, a line each."""
    for dropped in iteration.dropped:
        said = words.cut_inline(text_of(dropped.reply.get("content") or []))
        yield f"({_words(dropped)}) {said}".rstrip()


def _words(dropped: DroppedReply) -> str:
    # Calls that were rejected, or never begun, have their results as well.
    ran = [c.name for c in dropped.tool_calls if c.has_begun]
    said = "dropped reply, not sent on"
    if not ran:
        return said
    named = [
        name if times == 1 else f"{name} ({times} times)"
        for name, times in Counter(ran).items()
    ]
    results = "its result is" if len(ran) == 1 else "their results are"
    return f"{said}; {', '.join(named)} ran, and {results} dropped"
