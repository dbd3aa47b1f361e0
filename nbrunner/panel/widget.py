"""The widget: a run's feed at one end, a person's clicks at the other.

It speaks by custom messages only. ipykernel 7.4 loses `save_changes` while a cell
awaits, and a message sent before the JavaScript is loaded is lost on every version,
so a view says hello until it has a snapshot.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget

from nbrunner.errors import NbrunnerError
from nbrunner.panel.feed import Feed
from nbrunner.panel.intents import IntentRefused, ShowAll, Steered, obey, read_intent
from nbrunner.views.page import stylesheet
from nbrunner.views.text import as_text

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

_REFRESH_S = 0.05
"""At most 20 patches a second: smooth to the eye, far from the server's limit."""

_PUSH_AFTER_S = (0.3, 1.0)
"""When to send a snapshot unasked, for kernels that hear no hello while a cell runs."""


class Panel(anywidget.AnyWidget):
    """A live view of a run. Display it; clicks in it steer the run.

    Args:
        run: The run to show.
    """

    _esm = Path(__file__).with_name("panel.js")
    _css = stylesheet()

    def __init__(self, run: Any) -> None:
        super().__init__()
        self._run: Steered = run
        self._feed = Feed(run, self._tell)
        self._greeted = False
        self._hello = threading.Event()
        self._closing = threading.Event()
        self._unsubscribe = run.subscribe(self._feed.note)
        self.on_msg(self._hear)
        # A plain thread has no cell to send from on ipykernel 7.0; a copy of this
        # context has.
        context = contextvars.copy_context()
        refresh = threading.Thread(target=context.run, args=[self._refresh])
        pushes = [
            threading.Timer(delay_s, contextvars.copy_context().run, [self.push])
            for delay_s in _PUSH_AFTER_S
        ]
        for thread in (refresh, *pushes):
            thread.name, thread.daemon = "nbrunner-panel", True
            thread.start()

    def push(self) -> None:
        """Send everything to views whose hello has not come through.

        Kernels that hear nothing while a cell runs would leave them empty.
        """
        if not (self._greeted or self._closing.is_set()):
            self._feed.snapshot()

    def close(self) -> None:
        """Stop following the run and take the views away."""
        if not self._closing.is_set():
            self._closing.set()
            self._feed.changed.set()
            self._unsubscribe()
            self._flush()
        super().close()

    def _hear(self, _widget: Any, message: Any, _buffers: Any) -> None:
        """Take a front-end message; any thread may call this."""
        if message == {"op": "hello"}:
            self._greeted = True
            self._hello.set()
            self._feed.changed.set()
            return
        try:
            intent = read_intent(message)
            if isinstance(intent, ShowAll):
                self._feed.show_all(intent.part)
            else:
                obey(intent, self._run)
        except (IntentRefused, NbrunnerError) as refusal:
            self._feed.refuse(str(refusal))

    def _refresh(self) -> None:
        while not self._closing.is_set():
            self._feed.changed.wait()
            self._closing.wait(_REFRESH_S)
            if not self._closing.is_set():
                self._flush()
                # After it: a hello that comes now has changed something again.
                self._answer()

    def _answer(self) -> None:
        """Answer the hellos that have come.

        A view repeats its own until it has an answer, and of a long run that takes a
        moment to make: those that come meanwhile have this one for theirs.
        """
        if self._hello.is_set():
            self._safely(partial(self._feed.snapshot, answers=True))

    def _tell(self, message: dict[str, Any]) -> None:
        if message.get("answers"):
            # Who asks from now on may not be there yet when this one comes.
            self._hello.clear()
        self.send(message)

    def _flush(self) -> None:
        self._safely(self._feed.flush)

    def _safely(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception:
            # The message lost leaves a gap, at which a view asks for a snapshot.
            logger.exception("the panel could not be refreshed")

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        text = as_text(self._run.transcript, name=self._run.name)
        return {**(data or {}), "text/plain": text}, metadata
