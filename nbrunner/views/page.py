"""A whole run as HTML: the live panel's content, and the static page.

Both are made of the same fragments. The static page needs no kernel, no script and
no widget; without its stylesheet (GitHub takes it out) it reads as plain nested
details.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from nbrunner.core.commands import Decision
from nbrunner.core.edits import ToggleCache
from nbrunner.views import words
from nbrunner.views.branches import branches_fragment, origin_fragment
from nbrunner.views.context import scale_of
from nbrunner.views.html import Child, Html, h, join, spaced
from nbrunner.views.iteration import (
    iteration_fragment,
    opening_fragment,
)
from nbrunner.views.look import Look, chip, state_tone
from nbrunner.views.marks import says_itself
from nbrunner.views.next_request import next_fragment
from nbrunner.views.notices import notices_fragment
from nbrunner.views.relatives import ALONE, Relatives
from nbrunner.views.verdict import ungated_words
from nbrunner.views.waiting import edits_fragment, waiting_fragment

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

NO_FORMULAS = "mathjax_ignore tex2jax_ignore"
"""The classes by which MathJax leaves `$5` and `\\(x\\)` alone."""


def static_page(
    transcript: Transcript, *, name: str, relatives: Relatives = ALONE
) -> str:
    """The transcript as a static HTML fragment for a notebook's output.

    Args:
        transcript: What to show.
        name: What the run is called.
        relatives: The runs beside it.
    """
    look = Look(name=name, live=False, scale=scale_of(transcript))
    root = _root(transcript, look, relatives)
    return str(join([Html(f"<style>{stylesheet()}</style>"), root]))


def panel_content(
    transcript: Transcript,
    *,
    name: str,
    whole: frozenset[str] = frozenset(),
    blocks: bool = False,
    relatives: Relatives = ALONE,
) -> Html:
    """The content of the live panel.

    Args:
        transcript: What to show.
        name: What the run is called.
        whole: The parts that a person asked to see whole.
        blocks: Whether the panel's cell blocks the kernel while it runs.
        relatives: The runs beside it.
    """
    look = Look(
        name=name,
        live=True,
        whole=whole,
        marks=words.marks_words(transcript),
        scale=scale_of(transcript),
    )
    return _root(transcript, look, relatives, notices_fragment(name, blocks=blocks))


@cache
def stylesheet() -> str:
    """The one stylesheet, by Jupyter's variables with fallbacks."""
    return resources.files("nbrunner.views").joinpath("style.css").read_text("utf-8")


def _root(
    transcript: Transcript, look: Look, relatives: Relatives, notices: Child = None
) -> Html:
    return h(
        "section",
        bar_fragment(transcript, look),
        notices,
        origin_fragment(transcript, relatives, look),
        _anew(look) if transcript.parent is None else None,
        opening_fragment(transcript, look),
        h(
            "div",
            [
                iteration_fragment(transcript, index, look)
                for index in range(len(transcript.iterations))
            ],
            data_key="iterations" if look.live else None,
        ),
        branches_fragment(transcript, relatives, look),
        next_fragment(transcript, look) if look.live else None,
        edits_fragment(transcript, look),
        waiting_fragment(transcript, look),
        send_fragment(transcript, look) if look.live else None,
        class_=f"nbr {'nbr-live' if look.live else 'nbr-static'} {NO_FORMULAS}",
        aria_label=f"tool run {look.name}",
        data_lm_suppress_shortcuts="true" if look.live else None,
    )


def _anew(look: Look) -> Html:
    """That no cell goes on with another by itself, as a chat would, and what does."""
    goes_on = h("code", f"%%toolrun --continue {look.name}", class_="nbr-py")
    said = spaced(h("span", "starts anew; to go on with it:"), goes_on)
    return h("div", said, class_="nbr-anew")


def bar_fragment(transcript: Transcript, look: Look) -> Html:
    """The top line: name, state, source, model, tokens, controls."""
    facts = [transcript.settings.model, words.usage_words(transcript.usage)]
    return h(
        "div",
        spaced(
            h("span", look.name, class_="nbr-name"),
            _status(transcript, look),
            chip(words.source(transcript), "src"),
            h("span", class_="nbr-grow"),
            h("span", " · ".join(f for f in facts if f), class_="nbr-num"),
            _controls(transcript, look) if look.live else None,
            _ungated(transcript),
            _refusal(transcript) if look.live else None,
        ),
        class_="nbr-bar",
        role="group" if look.live else None,
        aria_label="controls of the run" if look.live else None,
        data_key="bar" if look.live else None,
    )


def _ungated(transcript: Transcript) -> Html | None:
    said = ungated_words(transcript)
    return h("span", said, class_="nbr-ungated") if said else None


def _status(transcript: Transcript, look: Look) -> Html:
    tone = state_tone(transcript)
    return h(
        "span",
        h("span", class_="nbr-dot") if transcript.status == "running" else None,
        words.state(transcript),
        class_=f"nbr-chip nbr-{tone}" if tone else "nbr-chip",
        role="status" if look.live else None,
    )


def _controls(transcript: Transcript, look: Look) -> list[Html]:
    """The buttons that do something where the run stands."""
    asked = {command.kind for command in transcript.asked}
    main = "resume" if transcript.status == "paused" else None
    match transcript.status:
        case "running" | "asking" if "stop" in asked:
            names = [("Stop now", "stop_now")]
        case "running" | "asking" if words.will_pause(transcript):
            names = [("Go on", "resume"), ("Stop", "stop")]
        case "running" | "asking":
            names = [("Pause", "pause"), ("Stop", "stop")]
        case "paused":
            names = [("Go on", "resume"), ("Step", "step"), ("Stop", "stop")]
        case "failed":
            names = [("Stop", "stop")]
        case "held" if transcript.stopped_by == "max_iterations":
            names = [("Go on", "resume"), ("Finish", "stop")]
        case "held":
            names = [("Finish", "stop")]
        case _ if transcript.stopped_by == "person":
            names = [("Go on", "resume")]
        case _:
            names = []
    return [
        _button(label, intent, look, main=intent == main) for label, intent in names
    ]


_PLACES = {"pause": "go", "resume": "go", "stop_now": "stop"}
"""Which buttons take the place of which: who has the focus keeps it."""

_LINES = {"stop_now": "stop(now=True)"}


def _button(label: str, intent: str, look: Look, *, main: bool) -> Html:
    line = f"{look.name}.{_LINES.get(intent, f'{intent}()')}"
    return h(
        "button",
        label,
        type="button",
        class_="nbr-button nbr-main" if main else "nbr-button",
        data_intent=intent,
        data_key=f"bar.{_PLACES.get(intent, intent)}",
        title=f"in Python: {line}",
    )


def _refusal(transcript: Transcript) -> Html | None:
    """Why the last thing asked was not done, unless its own row says so."""
    if transcript.refused is None:
        return None
    asked, reason = transcript.refused
    if isinstance(asked, ToggleCache) and says_itself(transcript, asked.place):
        return None
    last = transcript.last
    if isinstance(asked, Decision) and last and last.call(asked.call_id):
        return None
    return h("span", reason, class_="nbr-refused", role="alert")


def send_fragment(transcript: Transcript, look: Look) -> Html:
    """The box for a message to Claude, while the run can still take one."""
    over = transcript.status == "finished"
    when = "it goes out with the next request"
    if transcript.status == "held":
        when = "the run goes on with it"
    return h(
        "div",
        h(
            "textarea",
            rows="1",
            class_="nbr-text",
            aria_label="message to Claude",
            placeholder=f"Send a message; {when}",
        ),
        h(
            "button",
            "Send",
            type="button",
            class_="nbr-button",
            data_intent="send",
            title=f'in Python: {look.name}.inject("...")',
        ),
        h(
            "div",
            spaced(
                h("span", "Ctrl+Enter sends"),
                h("code", f'{look.name}.inject("…")', class_="nbr-py"),
            ),
            class_="nbr-hint",
        ),
        class_="nbr-send",
        data_key="send",
        hidden=over,
    )
