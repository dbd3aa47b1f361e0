"""How a run is shown, and the small pieces that all fragments are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbrunner.views import words
from nbrunner.views.html import Html, h, spaced

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

WHOLE_CHARACTERS = 2_000_000
"""How much "Show all" shows; for what is longer the line of Python stands there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a run is shown.

    Attributes:
        name: What the run is called in lines of Python.
        live: Whether controls are shown; a static page has none.
        whole: The parts that a person asked to see whole.
        marks: How many cache marks the next request sets, in words. Counted once for
            all the calls that say it: counting goes through the whole conversation.
        scale: How many tokens a full bar of context stands for.
    """

    name: str
    live: bool
    whole: frozenset[str] = frozenset()
    marks: str = ""
    scale: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A text of the run that may be too long to be shown at once.

    Attributes:
        key: How the panel asks for all of it.
        line: How Python does, behind the run's name.
    """

    key: str
    line: str


def is_lasting(transcript: Transcript, look: Look) -> bool:
    """Whether the page has to read the same whenever it is made again."""
    return transcript.source != "live" and not look.live


def chip(text: str, tone: str = "") -> Html:
    """A small label; colour only where it tells something."""
    return h("span", text, class_=f"nbr-chip nbr-{tone}" if tone else "nbr-chip")


_TONES = {
    "ready": "",
    "running": "run",
    "asking": "warn",
    "paused": "warn",
    "failed": "err",
}


def state_tone(transcript: Transcript) -> str:
    """The colour of where a run stands, as a chip's tone."""
    tone = _TONES.get(transcript.status)
    if tone is None:
        good = transcript.stopped_by in ("end_turn", "stop_sequence")
        tone = "ok" if good else "err" if transcript.stopped_by == "error" else "warn"
    return tone


def clock() -> Html:
    """A place where the front end counts the seconds since it first saw it."""
    return h(
        "span",
        class_="nbr-clock nbr-num",
        data_own=True,
        data_clock=True,
        aria_hidden="true",
    )


def label_line(text: str | None) -> Html | None:
    """The small line above a thing that says what it is."""
    return h("div", text, class_="nbr-lab") if text else None


def block(
    text: str,
    *,
    label: str | None = None,
    look: Look | None = None,
    part: Part | None = None,
) -> Html:
    """A text as it is, cut where it is long, with its whole size told.

    Args:
        text: What to show.
        label: What it is.
        look: How the run is shown, where the rest can be asked for.
        part: Which part of the run it is, for who asks.
    """
    is_whole = look is not None and part is not None and part.key in look.whole
    limit = WHOLE_CHARACTERS if is_whole else words.SHOWN_CHARACTERS
    shown, left_out = words.cut(text, limit)
    rest = None
    if left_out and look and part and look.live:
        button = None if is_whole else show_all(text, part)
        line = h("code", f"{look.name}.{part.line}", class_="nbr-py")
        rest = h("div", spaced(h("span", left_out), button, line), class_="nbr-rest")
    elif left_out:
        rest = label_line(left_out)
    # What scrolls has to be reached by the keyboard too.
    text_fragment = h("pre", shown, tabindex="0" if _scrolls(shown) else None)
    return h("div", label_line(label), text_fragment, rest)


def _scrolls(text: str) -> bool:
    """Whether a text may be taller than its place, which shows some 20 lines."""
    return text.count("\n") >= _TALL_LINES or len(text) > _TALL_CHARACTERS


_TALL_LINES = 15
_TALL_CHARACTERS = 600


def show_all(text: str, part: Part) -> Html:
    """The button that asks for all of a text."""
    return h(
        "button",
        f"Show all ({words.size(text)})",
        type="button",
        class_="nbr-button",
        data_intent="more",
        data_part=part.key,
    )
