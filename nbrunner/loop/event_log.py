"""What a run does, in Python's logging: the `nbrunner.run` logger.

The SDK's own records say which request went out and what the server answered in
numbers; of a reply they say nothing. These do, one line of each step (INFO), and each
reply whole (DEBUG). `nbrunner.log("debug")` shows both in a notebook.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from nbrunner.core import events
from nbrunner.core.redact import redact

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

logger = logging.getLogger("nbrunner.run")


def log_event(name: str, event: events.Event, transcript: Transcript) -> None:
    """Log an event, if it is a step of an iteration.

    Args:
        name: What the run is called.
        event: What happened.
        transcript: Where the run stands after it.
    """
    if not logger.isEnabledFor(logging.INFO):
        return
    match event:
        case events.IterationStarted():
            iteration = transcript.iterations[event.iteration]
            settings, count = iteration.request.settings, iteration.request.position
            what = f"request to {settings.model}, messages: {count}"
            again = f", attempt {iteration.attempts}" if iteration.attempts > 1 else ""
            _say(name, event.iteration, what + again)
        case events.ReplyFinished():
            usage = transcript.iterations[event.iteration].usage
            why = event.message.get("stop_reason")
            tokens = f"{usage.input_tokens} in, {usage.output_tokens} out"
            _say(name, event.iteration, f"reply, {why}, tokens: {tokens}")
            if logger.isEnabledFor(logging.DEBUG):
                whole = json.dumps(event.message, ensure_ascii=False)
                logger.debug("%s %d: %s", name, event.iteration + 1, redact(whole))
        case events.RequestFailed():
            _say(name, event.iteration, f"failed: {event.failure.message}")
        case events.CallFinished():
            found = transcript.find_call(event.call_id)
            tool = found[1].name if found else "a tool"
            what = f"call {event.call_id} of {tool}: {event.outcome}"
            _say(name, event.iteration, what)


def _say(name: str, iteration: int, what: str) -> None:
    logger.info("%s %d: %s", name, iteration + 1, redact(what))
