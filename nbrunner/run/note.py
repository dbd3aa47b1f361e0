"""A message that `run.inject` sent on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.redact import redact

if TYPE_CHECKING:
    from nbrunner.run.steering import Steering


class Note:
    """A message on its way to Claude; it can be taken back until it goes out."""

    def __init__(self, run: Steering, note_id: str, text: str) -> None:
        self._run, self.id, self.text = run, note_id, text

    def withdraw(self) -> bool:
        """Take the message back; False if it has gone out already."""
        return self._run.withdraw(self.id)

    def __repr__(self) -> str:
        return f"<Note {self.id}: {redact(self.text)!r}>"
