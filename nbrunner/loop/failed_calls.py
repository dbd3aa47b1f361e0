"""The errors of a run's tools: logged as they come, and kept for the debugger.

A transcript is JSON and holds a traceback as text. A debugger needs the frames
themselves, with the values that were in them, so the gate reports each error here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from nbrunner.core.redact import redact
from nbrunner.loop.tracebacks import tool_frames

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.transcript import Iteration

# Named for those who configure it: a module's path is ours to change. The package's
# NullHandler keeps Python from printing it where nobody configured logging: a
# notebook has the traceback in the panel already.
logger = logging.getLogger("nbrunner.tools")


class _Redacted(logging.Filter):
    """Takes the keys out of the stack's text, which a cell's output may keep."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info:
            # Formatters take this text where it is there; the error itself stays at
            # hand in `exc_info`, for handlers that look into it.
            stack = logging.Formatter().formatException(record.exc_info)
            record.exc_text = redact(stack)
        return True


logger.addFilter(_Redacted())

KEPT = 5
"""How many errors a run keeps."""


class FailedCalls:
    """The newest errors that a run's tools raised, each by the id of its call.

    An error keeps alive the frames it passed through and every value in them, a
    large data frame of a tool included. Only the newest `KEPT` are kept, for as long
    as the run itself.
    """

    def __init__(self) -> None:
        self._errors: dict[str, BaseException] = {}

    def note(self, call_id: str, error: BaseException) -> None:
        """Keep what a tool raised, if there is a frame of the tool to look at.

        The frames above the tool are cut off the error: they are the SDK's and ours.
        """
        frames = tool_frames(error)
        if frames is None:  # its input was refused, say: the tool never ran
            return
        error.with_traceback(frames)
        kept = {key: it for key, it in self._errors.items() if key != call_id}
        kept[call_id] = error
        # One assignment: others read it from their threads.
        self._errors = dict([*kept.items()][-KEPT:])

    def __iter__(self) -> Iterator[str]:
        return iter(self._errors)

    def error(self, call_id: str | None = None) -> BaseException | None:
        """What the tool of a call raised; of the newest failed call without an id."""
        errors = self._errors
        if call_id is None:
            return next(reversed(errors.values()), None)
        return errors.get(call_id)


def log_failure(
    tool: str, call_id: str, error: BaseException, *, is_answer: bool
) -> None:
    """Log a failed call with its stack, as the SDK does for its own runner.

    Args:
        tool: The tool's name.
        call_id: The id of its call.
        error: What it raised.
        is_answer: Whether the tool meant to answer so, by the SDK's `ToolError`: the
            SDK logs nothing then, and this is no error of the program.
    """
    level = logging.INFO if is_answer else logging.ERROR
    logger.log(level, "tool %s failed in call %s", tool, call_id, exc_info=error)


def failure_words(iteration: Iteration) -> str | None:
    """Which calls of a reply failed, in a few words; None where none did.

    A call that was interrupted did not fail.
    """
    failed = [
        call.name
        for call in iteration.tool_calls
        if call.is_error and call.status != "interrupted"
    ]
    names = list(dict.fromkeys(failed))
    return f"{' and '.join(names)} failed" if names else None
