"""An edit that `run.submit` asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.redact import redact

if TYPE_CHECKING:
    from nbrunner.core.edits import Edit
    from nbrunner.run.steering import Steering


class WaitingEdit:
    """An edit on its way to the next request; it can be taken back until it is made."""

    def __init__(self, run: Steering, edit_id: str, edit: Edit) -> None:
        self._run, self.id, self.edit = run, edit_id, edit

    def withdraw(self) -> bool:
        """Take the edit back; False if it is made already, or was refused."""
        return self._run.withdraw(self.id)

    def __repr__(self) -> str:
        return f"<WaitingEdit {self.id}: {redact(repr(self.edit)):.300}>"
