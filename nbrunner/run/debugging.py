"""Looking into an error: what a tool raised, and the debugger in its frame."""

from __future__ import annotations

from nbrunner.debugger import open_at
from nbrunner.errors import NothingToDebug
from nbrunner.presence import current_shell, is_headless
from nbrunner.run.as_runner import AsRunner


class Debugging(AsRunner):
    """A run whose failed calls can be looked into."""

    def exception(self, call_id: str | None = None) -> BaseException | None:
        """What the tool of a call raised, with its traceback from the tool down.

        The newest few are kept as long as the run is, and with them the values that
        were in the tools' frames.

        Args:
            call_id: The id of the call; without one it is the newest that failed.
        """
        return self._failed_calls.error(call_id)

    def debug(self, call_id: str | None = None) -> None:
        """Open the debugger in the frame in which a tool failed.

        It asks its questions in the cell, as `%debug` does, which opens the same
        frame after a `%%toolrun` cell.

        Args:
            call_id: The id of the call; without one it is the newest that failed.

        Raises:
            NothingToDebug: No error of such a call is at hand, or nobody is here to
                answer the debugger. It is a UsageError.
        """
        error = self.exception(call_id)
        if error is None:
            at_hand = list(self._failed_calls)
            raise NothingToDebug.no_error(self.name, call_id, at_hand)
        if is_headless():
            raise NothingToDebug.nobody_there(self.name)
        open_at(error, current_shell())
