"""The row by which a person has the conversation summarized before the next reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.compaction import SUMMARY_BETA, has_compaction_edit
from nbrunner.core.offers import beta_edit, settings_to_come
from nbrunner.views.boxes import place_of_refusal
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.look import chip

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript
    from nbrunner.views.look import Look

_WHAT = "A request of its own asks for it, and the summary takes its place. "
_BETA = f"The click sets the beta {SUMMARY_BETA} too, which the API wants."
_BY_THE_API = "context_management has the API compact it already"


def summary_row(transcript: Transcript, look: Look) -> Html | None:
    """The row; None before anything was said that could be summarized."""
    if not transcript.iterations:
        return None
    is_asked = transcript.is_summary_asked
    is_the_api_s = has_compaction_edit(settings_to_come(transcript).params)
    needs_beta = beta_edit(transcript, SUMMARY_BETA) is not None
    line = f"{look.name}.compact_before_next_turn()"
    if is_asked:
        line = f"{look.name}.submit(Compact(compaction=None))"
    button = h(
        "button",
        "Summarize first",
        type="button",
        class_=f"nbr-button nbr-quiet{' nbr-on' if is_asked else ''}",
        data_intent="keep" if is_asked else "summarize",
        data_key="next.summarize",
        aria_pressed="true" if is_asked else "false",
        aria_label="Summarize the conversation before the next reply",
        disabled=is_the_api_s and not is_asked,
        title=_WHAT + (_BETA if needs_beta else ""),
    )
    why = h("span", _BY_THE_API, class_="nbr-num") if is_the_api_s else None
    row = spaced(
        h("span", "Conversation", class_="nbr-where"),
        button,
        chip("before the next reply", "mark") if is_asked else why,
        h("code", line, class_="nbr-py"),
        place_of_refusal(),
    )
    return h("div", row, class_="nbr-marks nbr-foot", data_form=True)
