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
from nbrunner.panel.branches import Branching, Following, beside, forked
from nbrunner.panel.feed import Feed
from nbrunner.panel.intents import (
    ForkHere,
    Intent,
    SeeBranch,
    ShowAll,
    obey,
    read_intent,
)
from nbrunner.panel.pages import Greeting, Pages, read_greeting
from nbrunner.panel.refresh import Refresher
from nbrunner.panel.steered import IntentRefused
from nbrunner.views.page import stylesheet
from nbrunner.views.relatives import relatives_of
from nbrunner.views.text import as_text

if TYPE_CHECKING:
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

    Attributes:
        forked: The runs that were forked by clicks in it, oldest first.
    """

    _esm = "\n".join(
        Path(__file__).with_name(name).read_text("utf-8")
        for name in ("morph.js", "panel.js")
    )
    _css = stylesheet()

    def __init__(
        self, run: Any, *, stands_in: bool = False, blocks: bool = False
    ) -> None:
        super().__init__()
        self.forked: list[Any] = []
        self._hello = threading.Event()
        self._feed = Feed(run, self._tell, blocks=blocks)
        self._pages = Pages()
        self._stands_in, self._is_retired, self._is_displayed = stands_in, False, False
        self._following = Following(run, self._note, self._stir)
        self._refresher = Refresher(
            changed=self._feed.changed,
            flush=self._flush,
            push=self.push,
            is_heard=lambda: self._pages.has_greeted,
            is_at_work=self._is_at_work,
            rested=self._rest,
        )
        self._following.begin()
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
            self._following.end()
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
            self._obey(read_intent(message))
        except (IntentRefused, NbrunnerError) as refusal:
            self._feed.refuse(str(refusal))

    def _obey(self, intent: Intent) -> None:
        """What is asked of the panel is done here; the rest is asked of the run."""
        match intent:
            case ShowAll():
                self._feed.show_all(intent.part)
            case ForkHere():
                fork = forked(self._run, intent.at)
                self.forked.append(fork)
                self._turn_to(fork)
            case SeeBranch(intent="open"):
                self._turn_to(beside(self._run, intent.branch))
            case SeeBranch():
                beside(self._run, intent.branch)
                self._feed.compare(intent.branch)
                self._refresher.wake()
            case _:
                obey(intent, self._run)

    @property
    def _run(self) -> Branching:
        return self._following.run

    def _turn_to(self, run: Branching) -> None:
        """Show another run in the place of this one."""
        self._run.panels.discard(self)
        self._feed.turn_to(run, lambda: self._following.turn_to(run))
        run.panels.add(self)

    def _greet(self, greeting: Greeting) -> None:
        self._pages.take(greeting)
        if greeting.op == "bye":
            self._rest()
            return
        self._begin_following()
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
        self._following.catch_up()
        self._feed.flush()
        if self._hello.is_set():
            self._feed.snapshot(answers=True)

    def _tell(self, message: dict[str, Any]) -> None:
        if message.get("answers"):
            # Who asks from now on may not be there yet when this one comes.
            self._hello.clear()
        self.send(message)

    # -- following the run, while anyone looks at it or it is at work

    def _begin_following(self) -> None:
        self._following.begin()
        if self._refresher.is_closed:
            self._following.end()

    def _rest(self) -> None:
        """Stop following a run that is over, where nobody looks at it any longer."""
        self._following.end(
            if_true=lambda: self._pages.have_left and not self._is_at_work()
        )

    def _stir(self) -> None:
        """Something is new in a run beside the one that is shown."""
        self._feed.changed.set()
        self._refresher.wake()

    def _note(self, event: Event, transcript: Transcript) -> None:
        self._feed.note(event, transcript)
        self._refresher.wake()

    def _is_at_work(self) -> bool:
        return self._run.transcript.status not in ("ready", "finished")

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._is_displayed = True
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        run = self._run
        text = as_text(run.transcript, name=run.name, relatives=relatives_of(run))
        return {**(data or {}), "text/plain": text}, metadata
