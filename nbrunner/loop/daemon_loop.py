"""An event loop of nbrunner's own, for coroutine tools that have no other.

One for the process: what a tool keeps between its calls (a client with its pool of
connections) belongs to the loop it was made on, and outlives the run.
"""

from __future__ import annotations

import asyncio
import threading

_starting = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def daemon_loop() -> asyncio.AbstractEventLoop:
    """The loop, which runs in a daemon thread from its first use on."""
    with _starting:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(
                target=loop.run_forever, name="nbrunner-loop", daemon=True
            ).start()
            _loops.append(loop)
        return _loops[0]
