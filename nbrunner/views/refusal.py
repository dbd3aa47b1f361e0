"""A reply that Claude declined to give: who, why as far as the API says, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.views import words
from nbrunner.views.fields import at, text_at
from nbrunner.views.html import Html, h

if TYPE_CHECKING:
    from nbrunner.core.transcript import Iteration

ADVICE = (
    "Reword what was asked and begin a new run: a request that goes on from here "
    "carries this reply too."
)


def refusal_words(iteration: Iteration) -> str | None:
    """That Claude declined, and why; None where it did not."""
    if iteration.stop_reason != "refusal":
        return None
    details = at(iteration.reply, "stop_details")
    category = words.ellipsis(text_at(details, "category"), 60)
    said = f"Claude declined to answer{f' ({category})' if category else ''}."
    return f"{said} {words.cut_inline(text_at(details, 'explanation'))}".strip()


def refusal_fragment(iteration: Iteration) -> Html | None:
    """The same below the blocks of the reply."""
    said = refusal_words(iteration)
    if said is None:
        return None
    return h(
        "div",
        h("div", said, class_="nbr-what"),
        h("div", ADVICE, class_="nbr-advice"),
        class_="nbr-failure",
    )
