"""Runs that ended before they were done."""

from __future__ import annotations

from nbrunner.errors.base import NbrunnerError


class ReplyStopped(NbrunnerError):
    """A reply that was stopped while it was coming has no final message."""

    def __init__(self) -> None:
        super().__init__(
            "This reply was stopped while it was coming, so there is no final message. "
            "Iterating over the run again sends the same request again."
        )


class RunFailed(NbrunnerError):
    """A run ended because a request brought no whole reply."""

    def __init__(self, iteration: int, message: str, advice: str) -> None:
        seen = message if message.endswith((".", "!", "?")) else f"{message}."
        super().__init__(f"Iteration {iteration + 1} failed: {seen} {advice}")

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence; the panel has the rest."""
        return [f"{type(self).__name__}: {self}"]


class RunInterrupted(NbrunnerError):
    """The kernel was interrupted while a cell awaited its run.

    No KeyboardInterrupt: one that leaves an asyncio task (each run of a `gather` is
    in one) ends the event loop, and the kernel with it.
    """

    def __init__(self, name: str) -> None:
        super().__init__(_interrupted(name))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence; the frames are all ours."""
        return [f"{type(self).__name__}: {self}"]


class WaitInterrupted(KeyboardInterrupt):
    """The kernel was interrupted while a cell waited for its run."""

    def __init__(self, name: str) -> None:
        super().__init__(_interrupted(name))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence; the frames are all ours."""
        return [f"{type(self).__name__}: {self}"]


def _interrupted(name: str) -> str:
    return (
        "The run was stopped; its conversation is valid and can go on: "
        f"{name}.start() continues it."
    )
