"""The tools of the next request, each with a box by which Claude has it or not.

A tool that was taken stays in the list: it can be given back.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nbrunner.core.offers import beta_edit, offers_of
from nbrunner.core.tool_changes import NEEDED_BETA
from nbrunner.views.boxes import place_of_refusal
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.look import chip

if TYPE_CHECKING:
    from nbrunner.core.offers import Offer
    from nbrunner.core.transcript import Transcript
    from nbrunner.views.look import Look

_FIXED = "a toolset: those of a run are fixed"
_HOW = (
    "Claude is told of a change in a message, which keeps the prompt cache. The API "
    "wants a beta for that, which the first click sets too:"
)


def offers_fragment(transcript: Transcript, look: Look) -> Html | None:
    """A line that counts the tools; open, one line for each. None without any."""
    offers = offers_of(transcript)
    if not offers:
        return None
    on = sum(offer.is_on for offer in offers)
    return h(
        "details",
        h("summary", f"Choose the tools that Claude has: {on} of {len(offers)}"),
        h(
            "div",
            [_row(offer, look) for offer in offers],
            _beta(look) if beta_edit(transcript) else None,
            h("div", place_of_refusal(), class_="nbr-foot"),
            data_form=True,
        ),
        class_="nbr-way",
        data_key="next.tools",
    )


def _row(offer: Offer, look: Look) -> Html:
    verb = "remove" if offer.is_on else "add"
    box = h(
        "button",
        offer.name,
        type="button",
        role="checkbox",
        class_="nbr-button nbr-check",
        aria_checked="true" if offer.is_on else "false",
        aria_label=f"Claude has {offer.name}",
        data_intent=None if offer.is_fixed else f"{verb}_tool",
        data_tool=None if offer.is_fixed else offer.name,
        disabled=offer.is_fixed,
    )
    if offer.is_fixed:
        return h("div", spaced(box, h("span", _FIXED)), class_="nbr-foot")
    waits = chip("waits for the next safe point", "warn") if offer.waits else None
    line = f"{look.name}.{verb}_tools({json.dumps(offer.name)})"
    return h(
        "div", spaced(box, waits, h("code", line, class_="nbr-py")), class_="nbr-foot"
    )


def _beta(look: Look) -> Html:
    line = f'{look.name}.submit(SetParams(betas=["{NEEDED_BETA}"]))'
    row = spaced(h("span", _HOW), h("code", line, class_="nbr-py"))
    return h("div", row, class_="nbr-foot")
