"""The runs beside a run: what it was forked from, what else was, and into what.

A run's own transcript knows its branches by name only; where they stand is looked up
in the runs themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbrunner.core.transcript import Transcript

PARENT = "parent"
"""What a click calls the run that the shown one was forked from."""

SIBLING = "sibling."
"""What a click calls another fork of that run, with its place behind it."""


class Related(Protocol):
    """A run, as far as the runs beside it are told: `nbrunner.Run`."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def transcript(self) -> Transcript: ...  # noqa: D102
    @property
    def parent(self) -> Related | None: ...  # noqa: D102
    @property
    def branches(self) -> Sequence[Related]: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relative:
    """A run beside the one that is shown.

    Attributes:
        name: What it is called.
        transcript: What happened in it.
        key: What a click calls it: its place among the branches, `PARENT`, or
            `SIBLING` and its place among the parent's.
        line: How Python reaches it.
        diff: The line of Python that compares it with the one shown.
    """

    name: str
    transcript: Transcript
    key: str
    line: str
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Relatives:
    """The runs beside the one that is shown.

    Attributes:
        parent: What it was forked from.
        siblings: What else was forked from that one, oldest first.
        branches: What was forked from it, oldest first.
        compared: The keys of those that a person asked to see compared.
    """

    parent: Relative | None = None
    siblings: tuple[Relative, ...] = ()
    branches: tuple[Relative, ...] = ()
    compared: frozenset[str] = frozenset()


ALONE = Relatives()


def relatives_of(run: Related, compared: frozenset[str] = frozenset()) -> Relatives:
    """The runs beside a run, as they stand now.

    Args:
        run: The run that is shown.
        compared: The keys of those to compare it with, in a live view.
    """
    name = run.name
    branches = [
        Relative(
            name=branch.name,
            transcript=branch.transcript,
            key=str(place),
            line=f"{name}.branches[{place}]",
            diff=f"{name}.diff({name}.branches[{place}])",
        )
        for place, branch in enumerate(run.branches)
    ]
    return Relatives(
        parent=_parent_of(run),
        siblings=tuple(_siblings_of(run)),
        branches=tuple(branches),
        compared=compared,
    )


def _parent_of(run: Related) -> Relative | None:
    parent = run.parent
    if parent is None:
        return None
    return Relative(
        name=parent.name,
        transcript=parent.transcript,
        key=PARENT,
        line=parent.name,
        diff=f"{parent.name}.diff({_line_of(run, parent)})",
    )


def _siblings_of(run: Related) -> Iterator[Relative]:
    parent = run.parent
    if parent is None:
        return
    own = _line_of(run, parent)
    for place, branch in enumerate(parent.branches):
        if branch is not run:
            line = f"{parent.name}.branches[{place}]"
            yield Relative(
                name=branch.name,
                transcript=branch.transcript,
                key=f"{SIBLING}{place}",
                line=line,
                diff=f"{own}.diff({line})",
            )


def _line_of(run: Related, parent: Related) -> str:
    """How Python reaches a branch."""
    # By identity: a run in the making is not among them yet.
    place = next((n for n, it in enumerate(parent.branches) if it is run), None)
    return run.name if place is None else f"{parent.name}.branches[{place}]"
