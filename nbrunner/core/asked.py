"""What was asked of a run and waits for a safe point, as events change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core import commands

if TYPE_CHECKING:
    from nbrunner.core.edits import Edit
    from nbrunner.core.transcript import Transcript


_PACE = (commands.Pause, commands.Resume, commands.Step)


def asked_too(
    transcript: Transcript, command: commands.Command
) -> tuple[commands.Command, ...]:
    """What waits, with one more command: of pause, go on and step the last counts."""
    if not isinstance(command, _PACE):
        return (*transcript.asked, command)
    others = tuple(c for c in transcript.asked if not isinstance(c, _PACE))
    goes_on_anyway = isinstance(command, commands.Resume) and (
        transcript.status == "running"
    )
    return others if goes_on_anyway else (*others, command)


def still_asked(transcript: Transcript) -> tuple[commands.Command, ...]:
    """What still waits once the loop has halted or gone on: edits only."""
    return tuple(c for c in transcript.asked if isinstance(c, commands.Submit))


def asked_without_edit(
    transcript: Transcript, edit: Edit
) -> tuple[commands.Command, ...]:
    """What waits once an edit was made, or refused."""
    made = (
        c for c in transcript.asked if isinstance(c, commands.Submit) and c.edit == edit
    )
    # Of two that are equal the older one is made first.
    return asked_without(transcript.asked, next(made, commands.Submit(edit=edit)))


def asked_without(
    asked: tuple[commands.Command, ...], command: commands.Command
) -> tuple[commands.Command, ...]:
    """What waits once a command was obeyed, or refused."""
    if command not in asked:
        return asked
    place = asked.index(command)
    return (*asked[:place], *asked[place + 1 :])
