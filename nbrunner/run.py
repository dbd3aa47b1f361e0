"""`Run`: a conversation with tools that can be watched and steered.

The composition root: it joins the loop, the views and the panel for a user, and
holds no state of its own beyond them. What happened is in the transcript.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nbrunner.core.blocks import well_formed
from nbrunner.core.commands import (
    By,
    Command,
    Inject,
    Pause,
    Resume,
    Retry,
    Step,
    Stop,
    Submit,
    Withdraw,
)
from nbrunner.core.defaults import DEFAULT_MAX_TOKENS, DEFAULT_MODEL
from nbrunner.core.events import Asked, CommandRefused
from nbrunner.core.redact import redact
from nbrunner.core.request import Settings
from nbrunner.core.transcript import Transcript
from nbrunner.errors import RunInterrupted, UnknownTool, UsageError, WaitInterrupted
from nbrunner.loop._sdk import (
    checked_client,
    checked_parameters,
    live_client,
    plain,
)
from nbrunner.loop._structured import on_the_wire, parsed
from nbrunner.loop._tools import ToolBox
from nbrunner.loop.controls import NOTHING_FAILED
from nbrunner.loop.driver import Driver
from nbrunner.loop.inbox import Inbox
from nbrunner.loop.interrupts import Interrupts
from nbrunner.loop.ledger import Ledger, Listener
from nbrunner.loop.places import Places
from nbrunner.loop.worker import Worker
from nbrunner.presence import cell_name, is_headless, main_loop
from nbrunner.publisher import caught_displays
from nbrunner.replay import Cassette, connect, play
from nbrunner.replay.client import is_matched_by_order, source_of
from nbrunner.views.page import static_page
from nbrunner.views.text import as_text

if TYPE_CHECKING:
    from nbrunner.core.blocks import Message
    from nbrunner.core.edits import Edit
    from nbrunner.core.usage import Usage
    from nbrunner.panel import Panel

_note_ids = itertools.count(1)


class Note:
    """A message on its way to Claude; it can be taken back until it goes out."""

    def __init__(self, run: Run, note_id: str, text: str) -> None:
        self._run, self.id, self.text = run, note_id, text

    def withdraw(self) -> bool:
        """Take the message back; False if it has gone out already."""
        return self._run.withdraw(self.id)

    def __repr__(self) -> str:
        return f"<Note {self.id}: {redact(self.text)!r}>"


class Run:
    """One conversation branch: settings, history, and whatever is asked of it.

    Nothing is sent before `start()`, `wait()` or `await`. The loop then runs in a
    worker thread, and every method here may be called meanwhile, from any thread.

    Args:
        client: An `anthropic.Anthropic`, or replies to play (a script, a cassette or
            its path, `replay.play(...)`, any httpx2 transport). Without one, a live
            client is made from the environment.
        tools: `@beta_tool` functions, SDK tool objects, raw definitions.
        messages: The conversation so far; a str is one user message.
        model: The model's name.
        max_tokens: The most tokens of one reply.
        system: The system prompt: a str or a list of text blocks.
        max_iterations: How many replies one start asks for at most.
        stream: Whether replies are streamed.
        hold: Stay open at the end, in the thread and in the panel, until someone
            calls `stop()`: a message sent meanwhile takes the run further. Ignored
            in a kernel that nobody sits at (nbclient, papermill).
        hold_on_failure: Wait for `retry()` or `stop()` after a request that failed
            and may succeed when sent again, instead of ending.
        sdk_texts: Send Claude the SDK's own texts for an invalid input, an unknown
            tool and an odd return value, in place of ours.
        parallel_calls: Make the calls of one reply side by side, each in a thread of
            its own, in place of one after the other. The results keep their order.
        main_thread: The names of tools that run on the main thread, because they hold
            something of it: an open sqlite3 connection, a window. It makes their
            calls while a cell awaits the run or waits for it, and between cells.
        name: What the run is called in its panel and in its lines of Python.
        **params: Any other parameter of the SDK's `tool_runner()`.

    Raises:
        UnknownParameter: A parameter that the SDK does not know (a TypeError).
        NotATool: Something in `tools` is not a tool.
        UnknownTool: A name in `main_thread` is none of a tool.
        NotAClient: The client is one for asyncio.
        NoKey: No client was given and the environment holds no key.
    """

    def __init__(  # noqa: PLR0913 - the SDK method's own arguments
        self,
        *,
        client: Any = None,
        tools: Iterable[Any] = (),
        messages: str | Iterable[Any],
        model: str = DEFAULT_MODEL,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        system: Any = None,
        max_iterations: int | None = None,
        stream: bool = True,
        hold: bool = False,
        hold_on_failure: bool = False,
        sdk_texts: bool = False,
        parallel_calls: bool = False,
        main_thread: str | Iterable[str] = (),
        name: str = "run",
        **params: Any,
    ) -> None:
        self.name = name
        self._client = _client_of(client)
        self._output_type = params.get("output_format")
        self._tools = ToolBox(tools)
        self._places = Places(_names_of(main_thread, self._tools.answered))
        settings = Settings(
            model=model,
            max_tokens=max_tokens,
            system=plain(system),
            tools=self._tools.definitions,
            params=plain(on_the_wire(checked_parameters(params))),
        )
        self._ledger = Ledger(
            Transcript(
                settings=settings,
                source=self.source,
                matched_by_order=is_matched_by_order(self._client),
                messages=tuple(_messages_of(messages)),
            )
        )
        self._inbox = Inbox()
        self._worker: Worker | None = None
        self._hold = hold
        self._driving: dict[str, Any] = {
            "stream": stream,
            "max_iterations": max_iterations,
            "hold_on_failure": hold_on_failure,
            "sdk_texts": sdk_texts,
            "parallel_calls": parallel_calls,
        }

    # -- what happened ---------------------------------------------------------

    @property
    def transcript(self) -> Transcript:
        """Everything that happened so far, as one immutable value."""
        return self._ledger.transcript

    @property
    def messages(self) -> list[Message]:
        """The conversation, as a copy that is yours to change."""
        copy: list[Message] = json.loads(json.dumps(self.transcript.messages))
        return copy

    @property
    def text(self) -> str:
        """What Claude said last."""
        return self.transcript.text

    @property
    def parsed_output(self) -> Any:
        """What Claude said last, as the `output_format`; None without one.

        Raises:
            pydantic.ValidationError: The text does not fit it; `run.text` has it.
        """
        if self._output_type is None or not self.text:
            return None
        return parsed(self.text, self._output_type)

    @property
    def usage(self) -> Usage:
        """The tokens of all replies together."""
        return self.transcript.usage

    @property
    def stopped_by(self) -> str | None:
        """Why the run ended (`end_turn`, `max_iterations`, `person`, `error`, ...).

        While it is held open at its end this is known already.
        """
        return self.transcript.stopped_by

    @property
    def source(self) -> Any:  # a Literal here breaks the tab completion of Jedi
        """Whether the replies are `live`, `recorded` or `scripted`."""
        return source_of(self._client)

    @property
    def is_running(self) -> bool:
        """Whether the loop is at work, or waits for a person."""
        worker = self._worker
        has_ended = self.transcript.status == "finished"
        return worker is not None and worker.is_running and not has_ended

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(event, transcript)` for each event; returns unsubscribe.

        It is called in the thread of the event and holds the run up meanwhile, so it
        should note what it needs and return.
        """
        return self._ledger.subscribe(listener)

    # -- running ---------------------------------------------------------------

    def start(self, *, then: Callable[[], object] | None = None) -> Run:
        """Run the loop in a thread of its own, or go on where it ended.

        Args:
            then: Called once when the run has ended, in the thread that ended it.

        Raises:
            UsageError: The run is at work already.
        """
        with self._ledger.lock:
            if self.is_running:
                raise UsageError(
                    f"{self.name} is running already. Wait for it with "
                    f"{self.name}.wait() or `await {self.name}`, or stop it with "
                    f"{self.name}.stop()."
                )
            self._places.follow(main_loop(), is_main=True)
            self._worker = Worker(
                Driver(
                    ledger=self._ledger,
                    inbox=self._inbox,
                    client=self._client,
                    tools=self._tools,
                    source=self.source,
                    frame_name=cell_name,
                    caught_displays=caught_displays,
                    places=self._places,
                    hold=self._hold and not is_headless(),
                    **self._driving,
                )
            )
            self._worker.when_finished(self._places.main_thread.stir)
            if then is not None:
                self._worker.when_finished(then)
            self._worker.start()
        return self

    def wait(self, timeout_s: float | None = None) -> Transcript:
        """Block until the run ends; starts it if nobody did.

        Args:
            timeout_s: How long to wait, in seconds; None is for ever.

        Raises:
            TimeoutError: The time ran out; the run goes on.
            WaitInterrupted: The kernel was interrupted. The first interrupt stops the
                run at the next safe point, the second leaves at once. It is a
                KeyboardInterrupt.
        """
        worker = self._started()
        with self._places.loops.blocked():
            return self._waited(worker, timeout_s)

    def _waited(self, worker: Worker, timeout_s: float | None) -> Transcript:
        meanwhile = self._places.main_thread.serve if _in_main_thread() else None
        interrupts = 0
        ended = False
        while not ended:
            try:
                # In here, since the next interrupt may come while it is obeyed.
                if interrupts:
                    self.stop(now=interrupts > 1)
                ended = worker.wait(timeout_s, meanwhile=meanwhile)
                if not ended:
                    message = f"{self.name} still runs after {timeout_s} s."
                    raise TimeoutError(message)
            except KeyboardInterrupt:
                interrupts += 1
        if interrupts:
            raise WaitInterrupted(self.name)
        return self._outcome(worker)

    def __await__(self) -> Generator[Any, None, Transcript]:
        """Wait for the end and leave the event loop free: clicks arrive meanwhile."""
        return self._joined().__await__()

    async def _joined(self) -> Transcript:
        worker = self._started()
        loop = asyncio.get_running_loop()
        self._places.follow(loop, is_main=_in_main_thread())
        interrupts = 0

        def interrupted() -> None:
            nonlocal interrupts
            interrupts += 1
            self.stop(now=interrupts > 1)

        # From inside the handler itself a lock could be taken that the interrupted
        # code holds half way.
        with Interrupts(lambda: loop.call_soon_threadsafe(interrupted)):
            try:
                await worker.finished()
            except asyncio.CancelledError:
                self.stop()
                raise
        if interrupts:
            raise RunInterrupted(self.name)
        return self._outcome(worker)

    def _started(self) -> Worker:
        follows_up = bool(self.transcript.waiting) and not self.is_running
        if self._worker is None or follows_up:
            self.start()
        assert self._worker is not None  # noqa: S101 - start() made it
        return self._worker

    def _outcome(self, worker: Worker) -> Transcript:
        if worker.error is not None:
            raise worker.error
        return self.transcript

    # -- steering --------------------------------------------------------------

    def inject(self, text: str, *, by: By = "code") -> Note:
        """Send a message with the next request, behind the tool results.

        Raises:
            UsageError: The text is empty, which the API refuses.
        """
        if not text.strip():
            raise UsageError("The message is empty: there is nothing to send.")
        note = Note(self, f"note_{next(_note_ids)}", well_formed(text))
        self._ask(Inject(note_id=note.id, text=note.text), by)
        return note

    def withdraw(self, note_id: str, *, by: By = "code") -> bool:
        """Take back a message; False if it has gone out already."""
        with self._ledger.lock:
            waits = any(note.id == note_id for note in self.transcript.waiting)
            if waits:
                self._ask(Withdraw(note_id=note_id), by)
            return waits

    def submit(self, edit: Edit, *, by: By = "code") -> None:
        """Make an edit to the next request, at the next safe point."""
        self._ask(Submit(edit=edit), by)

    def pause(self, *, by: By = "code") -> None:
        """Halt before the next request."""
        self._ask(Pause(), by)

    def resume(self, *, by: By = "code") -> None:
        """Go on, after a pause or after an end."""
        self._set_going(Resume(), by)

    def step(self, *, by: By = "code") -> None:
        """Do one iteration, then halt."""
        self._set_going(Step(), by)

    def retry(self, *, by: By = "code") -> None:
        """Send the request of a failed iteration again; no tool runs twice."""
        with self._ledger.lock:
            last = self.transcript.last
            if last is None or not last.has_failed:
                refused = CommandRefused(command=Retry(), reason=NOTHING_FAILED)
                self._ledger.write(refused)
                return
            self._set_going(Retry(), by)

    def stop(self, *, now: bool = False, by: By = "code") -> None:
        """End at the next safe point, in a state that can go on.

        A tool that runs is not killed: Python cannot. Its result is awaited, unless
        `now` is true: then the run ends at once, the call is marked as interrupted,
        and its thread is left behind.
        """
        with self._ledger.lock:
            if self._worker is None or not self.is_running:
                return
            self._ask(Stop(), by)
            if now:
                self._worker.leave()

    def _ask(self, command: Command, by: By) -> None:
        # One act: what is asked before a run's end is not left over for the next.
        with self._ledger.lock:
            self._ledger.write(Asked(command=command, by=by))
            self._inbox.put(command, by)

    def _set_going(self, command: Command, by: By) -> None:
        with self._ledger.lock:
            self._ask(command, by)
            if not self.is_running:
                self.start()

    # -- showing ---------------------------------------------------------------

    def show(self) -> Panel:
        """A live panel on this run, to look at and to steer it by."""
        from nbrunner.panel import Panel  # noqa: PLC0415 - loads anywidget

        return Panel(self)

    def to_html(self) -> str:
        """The transcript as static HTML, redacted: no script, no widget."""
        return static_page(self.transcript, name=self.name)

    def to_text(self) -> str:
        """The transcript as plain text, redacted."""
        return as_text(self.transcript, name=self.name)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.to_text()}

    def __repr__(self) -> str:
        count = len(self.transcript.iterations)
        state = self.stopped_by or self.transcript.status
        return f"<Run {self.name}: {count} iterations, {state}>"


def _client_of(given: Any) -> Any:
    """The SDK client for what was given as one."""
    if given is None:
        return live_client()
    if isinstance(given, Cassette | str | os.PathLike):
        given = play(given)
    return checked_client(given) if hasattr(given, "beta") else connect(given)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _names_of(given: str | Iterable[str], tools: set[str]) -> frozenset[str]:
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in tools:
            raise UnknownTool("main_thread", name, tools)
    return frozenset(names)


def _messages_of(given: str | Iterable[Any]) -> list[Message]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if isinstance(given, Mapping):
        raise UsageError("messages is one message; give a list: messages=[{...}].")
    messages: list[Message] = [plain(message) for message in given]
    for place, message in enumerate(messages):
        if not (isinstance(message, dict) and {"role", "content"} <= message.keys()):
            raise UsageError(
                f"messages[{place}] is {type(message).__name__} "
                f"{redact(str(message)):.200}: a message is a dict with role and "
                'content, {"role": "user", "content": "..."}.'
            )
    return messages
