"""How full the context is, and what the API cleared out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.views import words
from nbrunner.views.fields import at, text_at
from nbrunner.views.html import Html, h

if TYPE_CHECKING:
    from nbrunner.core.transcript import Iteration, Transcript

_STEPS = (1, 2, 5)
_CLEARED = {
    "cleared_tool_uses": "tool use",
    "cleared_thinking_turns": "turn of thinking",
}


_LEAST = 10_000
"""What a full bar stands for at least: a short run is to look short."""


def scale_of(transcript: Transcript) -> int:
    """What a full bar stands for, in tokens: a round number above all of a run.

    The window of the model would be the better measure, but is not known for most. A
    round number changes seldom while a run grows, and with it all bars.
    """
    most = max((_context_tokens(it) for it in transcript.iterations), default=0)
    scale = _LEAST
    while scale < most:
        for step in _STEPS:
            if scale * step >= most:
                return scale * step
        scale *= 10
    return scale


def _context_tokens(iteration: Iteration) -> int:
    return iteration.usage.context_tokens if iteration.reply else 0


def context_bar(iteration: Iteration, scale: int) -> Html | None:
    """The context after a reply as a bar; None where no tokens were counted."""
    tokens = _context_tokens(iteration)
    if not tokens:
        return None
    said = f"context {words.tokens(tokens)} tokens"
    return h(
        "meter",
        class_="nbr-context",
        min="0",
        max=str(scale),
        value=str(tokens),
        aria_label=said,
        title=f"{said} after this reply; a full bar is {words.tokens(scale)}",
    )


def applied_edit_fragments(iteration: Iteration) -> list[Html]:
    """What the API cleared of the context before Claude read it, one line each."""
    return [
        h("div", applied_edit_words(edit), class_="nbr-remark nbr-cleared")
        for edit in iteration.applied_edits
    ]


def applied_edit_words(edit: Any) -> str:
    """One edit that the API applied to the context, in words."""
    cleared = [
        words.count(at(edit, name), thing)
        for name, thing in _CLEARED.items()
        if isinstance(at(edit, name), int)
    ]
    tokens = at(edit, "cleared_input_tokens")
    weight = f" ({words.tokens(tokens)} tokens)" if isinstance(tokens, int) else ""
    kind = words.ellipsis(text_at(edit, "type") or "an edit", 60)
    if not cleared:
        return f"The API edited the context{weight}: {kind}"
    return f"The API cleared {', '.join(cleared)}{weight} from the context: {kind}"
