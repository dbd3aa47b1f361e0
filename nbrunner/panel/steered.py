"""What the panel steers: a run, which it only asks; and how it says no."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from nbrunner.core.commands import By
    from nbrunner.core.edits import Edit
    from nbrunner.core.transcript import Transcript


class Steered(Protocol):
    """A run, as far as the panel steers it: what `nbrunner.Run` documents."""

    name: str

    @property
    def transcript(self) -> Transcript: ...  # noqa: D102
    def inject(self, text: str, *, by: By) -> object: ...  # noqa: D102
    def withdraw(self, waiting_id: str, *, by: By) -> bool: ...  # noqa: D102
    def submit(self, edit: Edit, *, by: By) -> object: ...  # noqa: D102
    def pause(self, *, by: By) -> None: ...  # noqa: D102
    def resume(self, *, by: By) -> None: ...  # noqa: D102
    def step(self, *, by: By) -> None: ...  # noqa: D102
    def retry(self, *, attempt: str | None = None, by: By) -> None: ...  # noqa: D102
    def stop(self, *, now: bool = False, by: By) -> None: ...  # noqa: D102
    def approve(self, call_id: str, **how: Any) -> None: ...  # noqa: D102
    def reject(self, call_id: str, reason: str, **how: Any) -> None: ...  # noqa: D102
    def answer(self, call_id: str, result: Any, **how: Any) -> None: ...  # noqa: D102


class IntentRefused(Exception):
    """A front-end message that is not obeyed; its text is shown where it came from."""
