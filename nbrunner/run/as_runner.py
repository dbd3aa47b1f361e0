"""A run as the SDK's tool runner: the user's own loop, in the user's thread."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from nbrunner.cell_output import shown_while_blocking
from nbrunner.core.blocks import json_copy
from nbrunner.core.commands import Retry
from nbrunner.core.compaction import SUMMARIZE
from nbrunner.core.edits import (
    ChangeTools,
    Compact,
    SetMessages,
    SetParams,
    SetSystem,
    SetTools,
)
from nbrunner.core.offers import settings_to_come
from nbrunner.errors import UsageError
from nbrunner.loop._kinds import name_of_tool
from nbrunner.loop._sdk import message_of, plain
from nbrunner.loop.own_loop import OwnLoop
from nbrunner.run.async_items import AsyncItems
from nbrunner.run.given import messages_of
from nbrunner.run.steering import Steering

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from nbrunner.core.blocks import Block, Message
    from nbrunner.core.edits import Edit
    from nbrunner.core.transcript import Transcript
    from nbrunner.loop.driver import Driver

_NEEDED = ("model", "max_tokens", "messages")
_KEPT = ("betas", "user_profile_id", "workspace_id")
"""What the SDK's runner keeps where new parameters leave it out."""


class AsRunner(Steering):
    """A branch that can be iterated over, as the SDK's runner can."""

    def _set_out(self, transcript: Transcript) -> None:
        super()._set_out(transcript)
        self._own: OwnLoop | None = None
        self._items: Callable[[], Generator[Any] | None] = lambda: None
        self._next: Generator[Any] | None = None

    def __iter__(self) -> Generator[Any]:
        """Run the loop here: messages, or with `stream=True` streams, as the SDK.

        After `break` it is gone on with by iterating again. There is one loop: a new
        one takes over from one that is still open.

        Raises:
            UsageError: The run is at work already in a thread of its own, or another.
        """
        self._take_over(self._items())
        self._next = None
        if self._is_closed:
            return _nothing()
        self._check_can_go_on()
        items = self._loop()
        # Not held here: `break` is noticed by nobody holding it any more.
        self._items = weakref.ref(items)
        return items

    def __next__(self) -> Any:
        """The next message, or stream."""
        if self._next is None:
            self._next = iter(self)
        try:
            return next(self._next)
        except BaseException:
            self._next = None
            raise

    def __aiter__(self) -> AsyncItems:
        """Run the loop in a thread, and leave the event loop free: `async for`."""
        return AsyncItems(self)

    def _take_over(self, items: Generator[Any] | None) -> None:
        try:
            if items is not None:
                items.close()
        except ValueError:  # it is at work: in another thread, or below a tool
            raise self._at_work() from None

    def _loop(self) -> Generator[Any]:
        self._is_iterated = True
        try:
            with shown_while_blocking(self):
                yield from self._own_loop().items()
        finally:
            self._is_iterated = False

    def _own_loop(self) -> OwnLoop:
        own = self._own
        if own is None or own.driver.has_left:
            final = own.final if own is not None else None
            streams = self._driving["stream"]
            own = self._own = OwnLoop(self._new_driver(), stream=streams, final=final)
        return own

    def until_done(self) -> Any:
        """Run to the end; returns the final message, as the SDK's object.

        After `break` it goes on. A run that has ended by itself sends nothing more
        unless something was appended.

        Raises:
            UsageError: The run ended before any reply was whole.
        """
        if self.is_running and not self._is_iterated:
            self.wait()
        elif not (self._is_closed or self._is_at_its_end):
            for _ in self:
                pass
        iterations = [i for i in self.transcript.iterations if not i.is_compaction]
        replies = [i.reply for i in iterations if i.reply is not None]
        if not replies:
            raise UsageError(
                f"{self.name} ended before any reply was whole: there is no final "
                "message. The last iteration of its transcript says why."
            )
        final = self._own.final if self._own is not None else None
        is_newest = final is not None and final.id == replies[-1].get("id")
        return final if is_newest else message_of(replies[-1])

    @property
    def _is_at_its_end(self) -> bool:
        """Whether the run ended by itself, and nothing was asked of it since."""
        transcript = self.transcript
        has_in_hand = self._own is not None and self._own.driver.in_hand is not None
        if has_in_hand or transcript.asked or transcript.compacts_next:
            return False
        is_at_its_limit = self.stopped_by == "max_iterations" and not transcript.waiting
        return is_at_its_limit or not transcript.is_due

    def append_messages(self, *messages: Any) -> None:
        """Append to the conversation, behind the reply in hand and its results.

        The reply and the results are kept in any case, and each call runs once; they
        may be handed in too, as on the SDK's page: results that you made or changed
        stand for those of the tools. Without arguments the reply is dropped and asked
        for again.

        Raises:
            UsageError: Something is not a message, or is another assistant message
                than the reply in hand.
        """
        checked = messages_of(messages)
        left = checked if self._own is None else self._own.take(checked)
        for message in left:
            self._inject_message(message)
        if not messages and self.transcript.own_iterations:
            self._ask(Retry(), "code")

    def close(self) -> None:
        """End the run for good, as the SDK's runner does; `stop()` ends it for now.

        In the body of your own loop it ends once the body does, and runs no tool.
        """
        super().close()
        if self._own is not None and not self._is_iterated:
            self._own.driver.close()

    def generate_tool_call_response(self) -> Message | None:
        """The user message with the results of the reply in hand; None without calls.

        The calls run at the first time, and never again. A change that you make to the
        message in place is what goes out.
        """
        return self._own.response() if self._own is not None else None

    def set_messages_params(
        self, params: Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]
    ) -> None:
        """Replace the parameters of the next requests, `messages` included.

        Args:
            params: All parameters, or a function from the present ones to the new.
                `messages` are those before the reply in hand, which is kept.

        Raises:
            UsageError: A needed parameter is missing.
            UnknownParameter: The SDK does not know one. It is a TypeError.
        """
        now = self._params_now()
        given = dict(params(json_copy(now)) if callable(params) else params)
        if missing := [name for name in _NEEDED if name not in given]:
            raise UsageError(
                f"set_messages_params() replaces all parameters, and {missing[0]} is "
                "missing. Change single ones by a function: "
                "run.set_messages_params(lambda params: {**params, ...})."
            )
        messages, system = given.pop("messages"), given.pop("system", None)
        tools = tuple(given.pop("tools", ()))
        edits: list[Edit] = []
        if plain(messages) != now["messages"]:
            edits.append(SetMessages(messages_of(messages)))
        if plain(system) != now.get("system"):
            edits.append(SetSystem(plain(system)))
        if list(tools) != now["tools"]:
            edits.append(SetTools(tools))
        self._edit_now(*edits, *_changed(given, now))

    def defer_tool_call(self, tool_use: Any) -> None:
        """Let a call wait until the reply in hand is whole, with `run_tools_eagerly`.

        Called in the loop's body while the reply streams, up to the event that shows
        that the model has moved on from the call. It runs at the end of the body, or
        in `generate_tool_call_response()`. It does nothing for a call that has run,
        outside the body and without `run_tools_eagerly`, as in the SDK.

        Args:
            tool_use: The `tool_use` block of the call, or its id.
        """
        if self._own is not None and self._own.driver.in_hand is not None:
            self._own.driver.in_hand.hold(tool_use)

    @property
    def deferred_tool_calls(self) -> list[Any]:
        """The calls that `defer_tool_call()` holds, as the SDK's `tool_use` blocks.

        Calls that a person is asked about are among them. In the model's order; a call
        is in the list once its block is whole, and no longer once it has run.
        """
        in_hand = self._own.driver.in_hand if self._own is not None else None
        return in_hand.held if in_hand is not None else []

    def add_tools(self, *tools: Any) -> None:
        """Give Claude more tools, and leave the `tools` parameter and its cache alone.

        They run at once, also for a call in hand. A raw definition is for a tool of
        the server's: nothing runs for it here. A name gives back a tool of the run
        that was removed.

        Raises:
            NotATool: Something is not a tool.
            UnknownTool: The run has no tool of a name.
            UsageError: One is a toolset: those of a run are fixed.
        """
        self._edit_now(ChangeTools(added=tools))

    def remove_tools(self, *tools: Any) -> None:
        """Take tools from Claude, by name or as they are, and leave `tools` alone.

        They stop running at once, also for a call in hand.

        Raises:
            UsageError: One is a toolset: those of a run are fixed.
        """
        self._edit_now(ChangeTools(removed=tuple(map(name_of_tool, tools))))

    def compact_before_next_turn(self, compaction: Block | None = None) -> None:
        """Have the conversation summarized, once the reply in hand is done with.

        The request for the summary is an iteration too, and counts for no
        `max_iterations`. The summary takes the place of the conversation.

        Args:
            compaction: How; the SDK's `{"type": "summarize"}` if None.
        """
        self._edit_now(Compact(compaction=compaction or dict(SUMMARIZE)))

    def _edit_now(self, *edits: Edit) -> None:
        # Checked as a whole before any of it is asked for.
        for edit in [self._checked(edit) for edit in edits]:
            self._submit(edit, "code")
        if self._own is not None and self._is_iterated:
            self._own.driver.listen()

    def _params_now(self) -> dict[str, Any]:
        """The parameters of the next request, with the edits that wait."""
        transcript = self.transcript
        settings = settings_to_come(transcript)
        in_hand = self._own is not None and self._own.driver.in_hand is not None
        end = transcript.sent if in_hand else len(transcript.messages)
        messages = transcript.messages[:end]
        for edit in transcript.asked_edits:
            if isinstance(edit, SetMessages):
                messages = edit.messages
        return {
            "tools": list(settings.tools),
            **settings.fields(),
            "messages": list(messages),
        }

    def _left_driver(self) -> Driver | None:
        own = self._own
        has_reply = own is not None and own.driver.in_hand is not None
        return own.driver if own is not None and has_reply else None


def _changed(given: dict[str, Any], now: dict[str, Any]) -> list[Edit]:
    """The edit from the present parameters to those given, if they differ."""
    own = now.keys() - {"messages", "system", "tools", *_KEPT}
    changed = {k: v for k, v in given.items() if k not in now or v != now[k]}
    gone = dict.fromkeys(own - given.keys())
    return [SetParams({**changed, **gone})] if changed or gone else []


def _nothing() -> Generator[Any]:
    yield from ()
