"""A branch: what a run is made of, and what happened in it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from nbrunner.core.blocks import json_copy
from nbrunner.core.defaults import DEFAULT_MAX_TOKENS, DEFAULT_MODEL
from nbrunner.core.request import Settings
from nbrunner.core.transcript import Transcript
from nbrunner.core.ungated import ungated_in
from nbrunner.errors import Ungated
from nbrunner.loop._sdk import checked_parameters, plain
from nbrunner.loop._structured import on_the_wire, parsed
from nbrunner.loop._tools import ToolBox
from nbrunner.loop.approval import approve_all, checked_approver
from nbrunner.loop.event_log import log_event
from nbrunner.loop.failed_calls import FailedCalls
from nbrunner.loop.inbox import Inbox
from nbrunner.loop.ledger import Ledger, Listener
from nbrunner.loop.places import Places
from nbrunner.presence import variable_of
from nbrunner.replay.client import is_matched_by_order, source_of
from nbrunner.run.given import checked_eager, client_of, messages_of, tool_names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbrunner.core.blocks import Message
    from nbrunner.core.events import Event
    from nbrunner.core.usage import Usage
    from nbrunner.loop.approval import Approver
    from nbrunner.panel import Panel
    from nbrunner.run.run import Run


class Branch:
    """What a run is made of; `nbrunner.Run` documents the arguments."""

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
        approver: Approver = approve_all,
        allow_ungated: bool = False,
        hold: bool = False,
        hold_on_failure: bool = False,
        break_on_error: bool = False,
        break_on_repeats: bool = False,
        sdk_texts: bool = False,
        parallel_calls: bool = False,
        run_tools_eagerly: bool = False,
        main_thread: str | Iterable[str] = (),
        name: str | None = None,
        **params: Any,
    ) -> None:
        self._name, self._called = name, "run"
        self._set_client(client)
        self._tools = ToolBox(tools)
        definitions = self._tools.definitions
        runnable = self._tools.answered_in(definitions)
        self._on_main_thread = tool_names_of(main_thread, runnable)
        self._output_type = params.get("output_format")
        settings = Settings(
            model=model,
            max_tokens=max_tokens,
            system=plain(system),
            tools=definitions,
            params=plain(on_the_wire(checked_parameters(params))),
        )
        is_gated = checked_approver(approver) is not approve_all
        self._refuses_ungated = is_gated and not allow_ungated
        self._check_gates(settings)
        self._hold = hold
        self._break_on_error = break_on_error
        self._break_on_repeats = break_on_repeats
        self._driving: dict[str, Any] = {
            "stream": stream,
            "max_iterations": max_iterations,
            "approver": approver if is_gated else None,
            "hold_on_failure": hold_on_failure,
            "sdk_texts": sdk_texts,
            "parallel_calls": parallel_calls,
            "eager": checked_eager(run_tools_eagerly, stream=stream),
        }
        self._set_out(
            Transcript(
                settings=settings,
                source=self.source,
                matched_by_order=is_matched_by_order(self._client),
                is_gated=is_gated,
                messages=tuple(messages_of(messages)),
            )
        )

    def _set_client(self, client: Any) -> None:
        self._given_client, self._client = client, client_of(client)

    def is_answered_by(self, client: Any) -> bool:
        """Whether these are the client or the replies that the run was given."""
        return client is not None and client is self._given_client

    def _set_out(self, transcript: Transcript) -> None:
        """Begin from there, with nothing at work yet."""
        self.panels: weakref.WeakSet[Panel] = weakref.WeakSet()
        self.parent: Run | None = None
        self.branches: list[Run] = []
        self._ledger = Ledger(transcript)
        self._ledger.subscribe(self._log)
        self._inbox = Inbox()
        self._failed_calls = FailedCalls()
        self._places = Places(self._on_main_thread)

    def _check_gates(self, settings: Settings) -> None:
        ungated = ungated_in(settings) if self._refuses_ungated else ()
        if ungated:
            raise Ungated(ungated)

    @property
    def name(self) -> str:
        """What the run is called in its panel and in its lines of Python.

        The name that it was given, or the notebook's variable that holds it.
        """
        if self._name is None:
            self._name = variable_of(self)
        return self._name or self._called

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def has_name(self) -> bool:
        """Whether it was given a name, or the notebook holds it or what it is of."""
        if self._name is not None or variable_of(self) is not None:
            return True
        # A fork goes by the line that reaches it from the run it was made of.
        return self.parent is not None and self.parent.has_name

    def _log(self, event: Event, transcript: Transcript) -> None:
        log_event(self._name or self._called, event, transcript)

    # -- what happened ---------------------------------------------------------

    @property
    def transcript(self) -> Transcript:
        """Everything that happened so far, as one immutable value."""
        return self._ledger.transcript

    @property
    def messages(self) -> list[Message]:
        """The conversation, as a copy that is yours to change."""
        copy: list[Message] = json_copy(self.transcript.messages)
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

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(event, transcript)` for each event; returns unsubscribe.

        It is called in the thread of the event and holds the run up meanwhile, so it
        should note what it needs and return.
        """
        return self._ledger.subscribe(listener)
