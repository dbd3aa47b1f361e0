"""The runs beside a run on its page: where they stand, and what differs in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.comparison import compare
from nbrunner.views import words
from nbrunner.views.html import Html, h, spaced
from nbrunner.views.look import chip, label_line, state_tone
from nbrunner.views.parting import parting_fragment, parting_lines
from nbrunner.views.relatives import PARENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.transcript import Iteration, Transcript
    from nbrunner.views.look import Look
    from nbrunner.views.relatives import Relative, Relatives

ORIGIN_KEY, BRANCHES_KEY = "origin", "branches"

_MOST_COMPARED = 10
"""How many of the newest branches a page compares that nobody can ask."""


def origin_words(transcript: Transcript) -> str | None:
    """Where a branch comes from; None for a run of its own."""
    parent = transcript.parent
    if parent is None:
        return None
    return f"fork of {parent.name}, from iteration {parent.at + 1} on"


def origin_fragment(
    transcript: Transcript, relatives: Relatives, look: Look
) -> Html | None:
    """Where a branch comes from, with the way back, and what else comes from there."""
    said, parent = origin_words(transcript), relatives.parent
    if said is None and not look.live:
        return None
    row = None
    if said is not None:
        back = f"Back to {parent.name}" if parent else ""
        row = _row(h("span", said), parent, relatives, look, back)
    return h(
        "div",
        row,
        _parting(transcript, parent, relatives, look) if parent else None,
        _siblings(transcript, relatives, look),
        class_="nbr-origin" if row else None,
        data_key=ORIGIN_KEY if look.live else None,
    )


def _siblings(
    transcript: Transcript, relatives: Relatives, look: Look
) -> list[Html | None]:
    """What else was forked from the parent, to be opened and compared with."""
    parent, siblings = relatives.parent, relatives.siblings
    if not (look.live and parent and siblings):
        return []
    return [
        label_line(f"other branches of {parent.name}"),
        *(_branch(transcript, other, relatives, look) for other in siblings),
    ]


def branches_fragment(
    transcript: Transcript, relatives: Relatives, look: Look
) -> Html | None:
    """What was forked from the run: where each stands, and what differs."""
    branches = relatives.branches
    if not branches and not look.live:
        return None
    return h(
        "div",
        [_branch(transcript, branch, relatives, look) for branch in branches],
        class_="nbr-branches" if branches else None,
        data_key=BRANCHES_KEY if look.live else None,
    )


def _branch(
    transcript: Transcript, branch: Relative, relatives: Relatives, look: Look
) -> Html:
    said = spaced(
        h("span", branch.name, class_="nbr-name"),
        h("span", _from_words(branch.transcript)),
        chip(words.state(branch.transcript), state_tone(branch.transcript)),
        h("span", _count_words(branch.transcript), class_="nbr-num"),
    )
    return h(
        "div",
        _row(said, branch, relatives, look, "Open"),
        _parting(transcript, branch, relatives, look),
    )


def _row(
    said: Html, other: Relative | None, relatives: Relatives, look: Look, open_: str
) -> Html:
    """What is said of a run beside the shown one, with what can be done about it."""
    buttons: list[Html] = []
    if look.live and other is not None:
        is_compared = other.key in relatives.compared
        buttons = [
            _button(open_, "open", other, f"{other.line}.show()"),
            _button("Compare", "compare", other, other.diff, pressed=is_compared),
        ]
    line = h("code", f"{other.line}.show()", class_="nbr-py") if other else None
    return h("div", spaced(said, buttons, line), class_="nbr-foot")


def _button(
    label: str, intent: str, other: Relative, line: str, *, pressed: bool | None = None
) -> Html:
    on = " nbr-on" if pressed else ""
    return h(
        "button",
        label,
        type="button",
        class_=f"nbr-button nbr-quiet{on}",
        data_intent=intent,
        data_branch=other.key,
        data_key=f"{intent}.{other.key}",
        aria_label=label if other.name in label else f"{label} {other.name}",
        aria_pressed=None if pressed is None else str(pressed).lower(),
        title=f"in Python: {line}",
    )


def _parting(
    transcript: Transcript, other: Relative, relatives: Relatives, look: Look
) -> Html | None:
    """What differs: where it was asked for, and on a page that cannot be asked."""
    compared = other.key in relatives.compared
    newest = {branch.key for branch in relatives.branches[-_MOST_COMPARED:]}
    if not (compared if look.live else other.key in {PARENT, *newest}):
        return None
    is_parent = other.key == PARENT
    one, two = transcript, other.transcript
    found = compare(two, one) if is_parent else compare(one, two)
    title = f"what differs from {other.name if is_parent else look.name}"
    return h(
        "details",
        h("summary", title),
        parting_fragment(found),
        h("code", other.diff, class_="nbr-py"),
        class_="nbr-request nbr-parting",
        data_key=f"parting.{other.key}" if look.live else None,
        open=look.live,
    )


def fork_button(iteration: Iteration, look: Look) -> Html | None:
    """The button by which a person goes another way from an iteration on."""
    if not look.live:
        return None
    number = iteration.index + 1
    return h(
        "button",
        "Fork here",
        type="button",
        class_="nbr-button nbr-quiet",
        data_intent="fork",
        data_at=str(iteration.index),
        aria_label=f"Fork here, from iteration {number} on",
        title=f"in Python: {look.name}.fork(at={iteration.index})",
    )


def _from_words(transcript: Transcript) -> str:
    at = transcript.parent.at if transcript.parent else 0
    return f"from iteration {at + 1} on"


def _count_words(transcript: Transcript) -> str:
    return words.count(len(transcript.iterations), "iteration")


def origin_lines(transcript: Transcript, relatives: Relatives) -> Iterator[str]:
    """What differs from the run that a branch comes from, as text."""
    parent = relatives.parent
    if parent is not None:
        yield f"what differs from {parent.name}:"
        found = compare(parent.transcript, transcript)
        yield from (f"    {line}" for line in parting_lines(found))


def branch_lines(transcript: Transcript, relatives: Relatives) -> Iterator[str]:
    """What was forked from the run, and what differs in it, as text."""
    newest = relatives.branches[-_MOST_COMPARED:]
    for branch in relatives.branches:
        facts = [
            f"fork {branch.name}, {_from_words(branch.transcript)}",
            words.state(branch.transcript),
            _count_words(branch.transcript),
        ]
        yield " · ".join(facts)
        if branch in newest:
            found = compare(transcript, branch.transcript)
            yield from (f"    {line}" for line in parting_lines(found))
