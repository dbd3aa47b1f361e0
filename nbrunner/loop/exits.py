"""Ways out of the loop that no `except Exception` of a tool or the SDK may catch."""

from __future__ import annotations


class StopAsked(BaseException):
    """Someone asked the run to stop."""


class Left(BaseException):
    """Nobody waits for this driver any more; what it still does is not told."""


class Moved(BaseException):
    """A call had not begun on an event loop when the loop was blocked, or closed."""


class NotBegun(BaseException):
    """The run stopped while a call waited for its turn elsewhere; it never began."""
