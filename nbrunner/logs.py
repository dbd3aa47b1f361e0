"""`nbrunner.log`: the SDK's own logging, switched on and off at any time.

The SDK reads the variable `ANTHROPIC_LOG` when it is imported, which in a notebook is
long over by the time one wants to see what goes on.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import Literal

from nbrunner.core.redact import REDACTED, redact
from nbrunner.errors import UsageError

LOGGERS = ("anthropic", "httpx2", "nbrunner.run")
"""The loggers that are shown: the SDK's, its HTTP library's, and that of the runs."""

_LEVELS = {"info": logging.INFO, "debug": logging.DEBUG}
_NAME = "nbrunner.log"
_COOKIE = re.compile(r"""(?i)(['"](?:set-)?cookie['"]\s*[:,]\s*)(['"]).*?\2""")


def log(level: Literal["info", "debug", "off"]) -> None:
    """Show in the cell what the SDK and the runs log, from now on.

    Meanwhile these loggers write here and nowhere else: another handler would show
    each line again, and its keys. Failed tools are not among them: `nbrunner.tools`
    logs those, with the stack, to whatever handlers the program has.

    Args:
        level: `info` is a line for each request, reply, call and retry. `debug` adds
            each request and reply whole. `off` puts everything back as it was.

    Raises:
        UsageError: The level is none of these.
    """
    if level != "off" and level not in _LEVELS:
        raise UsageError(
            f"nbrunner.log({level!r}): there is no such level. Use 'info', 'debug' or "
            "'off'."
        )
    for name in LOGGERS:
        logger = logging.getLogger(name)
        _take_off(logger)
        if level != "off":
            logger.addHandler(_Shown(logger))
            logger.setLevel(_LEVELS[level])
            logger.propagate = False


def _take_off(logger: logging.Logger) -> None:
    """Put a logger back as it was before, if it is shown."""
    for handler in list(logger.handlers):
        # By name: after a reload of this module the class is another.
        if handler.name == _NAME:
            handler.before.restore(logger)  # type: ignore[attr-defined]
            logger.removeHandler(handler)


class _Before:
    """How a logger was set."""

    def __init__(self, logger: logging.Logger) -> None:
        self._level, self._propagate = logger.level, logger.propagate

    def restore(self, logger: logging.Logger) -> None:
        logger.setLevel(self._level)
        logger.propagate = self._propagate


class _Shown(logging.Handler):
    """Writes records to the cell at work, and no key with them."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__()
        self.name = _NAME
        self.before = _Before(logger)
        form = "[%(asctime)s - %(name)s - %(levelname)s] %(message)s"
        self.setFormatter(_Redacted(form, datefmt="%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            # Asked for each time: a kernel, and a test, puts another in its place.
            sys.stderr.write(f"{self.format(record)}\n")
        except Exception:  # noqa: BLE001 - logging's own way with what it cannot write
            self.handleError(record)


class _Redacted(logging.Formatter):
    """Formats records, stacks included, and takes the secrets out."""

    def format(self, record: logging.LogRecord) -> str:
        text = redact(super().format(record))
        return _COOKIE.sub(rf"\1\2{REDACTED}\2", text)
