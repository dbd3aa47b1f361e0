"""The widget: a run's feed at one end, a person's clicks at the other.

It speaks by custom messages only. ipykernel 7.4 loses `save_changes` while a cell
awaits, and a message sent before the JavaScript is loaded is lost on every version,
so a view says hello until it has a snapshot.
"""

from __future__ import annotations

import contextvars
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget

from nbrunner.errors import NbrunnerError
from nbrunner.panel.feed import Feed
from nbrunner.panel.intents import IntentRefused, ShowAll, Steered, obey, read_intent
from nbrunner.panel.pages import Greeting, Pages, read_greeting
from nbrunner.panel.refresh import Refresher
from nbrunner.views.page import stylesheet
from nbrunner.views.text import as_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.core.events import Event
    from nbrunner.core.transcript import Transcript

_LINGER_S = 60.0
"""How long a retired panel waits for a page that was loaded anew in mid-run."""


class Panel(anywidget.AnyWidget):
    """A live view of a run. Display it; clicks in it steer the run.

    Args:
        run: The run to show.
        stands_in: Whether the run's cell puts a static page in its place later.
        blocks: Whether the cell blocks the kernel meanwhile.
    """

    _esm = Path(__file__).with_name("panel.js")
    _css = stylesheet()

    def __init__(
        self, run: Any, *, stands_in: bool = False, blocks: bool = False
    ) -> None:
        super().__init__()
        self._run: Steered = run
        self._hello = threading.Event()
        self._subscribe: Callable[[Any], Callable[[], None]] = run.subscribe
        self._feed = Feed(run, self._tell, blocks=blocks)
        self._pages = Pages()
        self._stands_in, self._is_retired, self._is_displayed = stands_in, False, False
        self._following = threading.Lock()
        self._unsubscribe: Callable[[], None] | None = None
        self._refresher = Refresher(
            changed=self._feed.changed,
            flush=self._flush,
            push=self.push,
            is_heard=lambda: self._pages.has_greeted,
            is_at_work=self._is_at_work,
            rested=self._rest,
        )
        self._follow()
        self.on_msg(self._hear)
        self._refresher.start()

    @property
    def is_open(self) -> bool:
        """Whether someone may be looking at it, as far as the kernel knows."""
        is_over = self._is_retired or self._refresher.is_closed
        return self._is_displayed and not is_over and not self._pages.have_left

    def push(self) -> None:
        """Send everything to views whose hello has not come through.

        Kernels that hear nothing while a cell runs would leave them empty.
        """
        if not (self._pages.has_greeted or self._refresher.is_closed):
            self._feed.snapshot()

    def close(self) -> None:
        """Stop following the run and take the views away."""
        if self._refresher.close():
            with self._following:
                self._unfollow()
            self._refresher.flush()
        super().close()

    def retire(self) -> None:
        """Leave the cell to its static page, and live on for who will not get that.

        A page that was loaded anew in mid-run does not: there the panel stays, and
        says so. Where the kernel hears nothing while a cell runs, that page is heard
        only now, so the panel waits for it a while.
        """
        self._refresher.flush()
        self._is_retired = True
        if not self._pages.has_strangers:
            context = contextvars.copy_context()
            timer = threading.Timer(_LINGER_S, context.run, [self._close_unless_needed])
            timer.name, timer.daemon = "nbrunner-panel", True
            timer.start()

    def _close_unless_needed(self) -> None:
        if not self._pages.has_strangers:
            self.close()

    def _hear(self, _widget: Any, message: Any, _buffers: Any) -> None:
        """Take a front-end message; any thread may call this."""
        if (greeting := read_greeting(message)) is not None:
            self._greet(greeting)
            return
        if self._is_retired and not self._pages.has_strangers:
            # A click in the cell that waited for its end: nobody sees what it did.
            return
        try:
            intent = read_intent(message)
            if isinstance(intent, ShowAll):
                self._feed.show_all(intent.part)
            else:
                obey(intent, self._run)
        except (IntentRefused, NbrunnerError) as refusal:
            self._feed.refuse(str(refusal))

    def _greet(self, greeting: Greeting) -> None:
        self._pages.take(greeting)
        if greeting.op == "bye":
            self._rest()
            return
        self._follow()
        if self._stands_in:
            self._feed.home = self._pages.home
        self._hello.set()
        self._feed.changed.set()
        self._refresher.wake()

    def _flush(self) -> None:
        """Tell what is new, and answer the hellos that have come.

        A view repeats its own until it has an answer, and of a long run that takes a
        moment to make: those that come meanwhile have this one for theirs.
        """
        self._feed.flush()
        if self._hello.is_set():
            self._feed.snapshot(answers=True)

    def _tell(self, message: dict[str, Any]) -> None:
        if message.get("answers"):
            # Who asks from now on may not be there yet when this one comes.
            self._hello.clear()
        self.send(message)

    # -- following the run, while anyone looks at it or it is at work

    def _follow(self) -> None:
        with self._following:
            if self._unsubscribe is None and not self._refresher.is_closed:
                self._unsubscribe = self._subscribe(self._note)

    def _unfollow(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _rest(self) -> None:
        """Stop following a run that is over, where nobody looks at it any longer."""
        with self._following:
            if self._pages.have_left and not self._is_at_work():
                self._unfollow()

    def _note(self, event: Event, transcript: Transcript) -> None:
        self._feed.note(event, transcript)
        self._refresher.wake()

    def _is_at_work(self) -> bool:
        return self._run.transcript.status not in ("ready", "finished")

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._is_displayed = True
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        text = as_text(self._run.transcript, name=self._run.name)
        return {**(data or {}), "text/plain": text}, metadata
