"""A run as the SDK's tool runner: the user's own loop, in the user's thread."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbrunner.cell_output import shown_while_blocking
from nbrunner.core.edits import SetMessages, SetParams, SetSystem, SetTools
from nbrunner.errors import UsageError
from nbrunner.loop._sdk import message_of, plain
from nbrunner.loop.own_loop import OwnLoop
from nbrunner.run.given import messages_of
from nbrunner.run.steering import Steering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nbrunner.core.blocks import Message
    from nbrunner.core.transcript import Transcript
    from nbrunner.loop.driver import Driver

_NEEDED = ("model", "max_tokens", "messages")


class AsRunner(Steering):
    """A branch that can be iterated over, as the SDK's runner can."""

    def _set_out(self, transcript: Transcript) -> None:
        super()._set_out(transcript)
        self._own: OwnLoop | None = None
        self._next: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        """Run the loop here: messages, or with `stream=True` streams, as the SDK.

        After `break` it is gone on with by iterating again.

        Raises:
            UsageError: The run is at work already, or closed.
        """
        if self._next is not None:
            kept, self._next = self._next, None
            kept.close()  # type: ignore[attr-defined]
        if self._is_closed:
            return iter(())
        self._check_can_go_on()
        return self._items()

    def __next__(self) -> Any:
        """The next message, or stream."""
        if self._next is None:
            self._next = iter(self)
        return next(self._next)

    def _items(self) -> Iterator[Any]:
        own = self._own
        if own is None or own.driver.has_left:
            streams = self._driving["stream"]
            own = self._own = OwnLoop(self._new_driver(), stream=streams)
        self._is_iterated = True
        try:
            with shown_while_blocking(self):
                yield from own.items()
        finally:
            self._is_iterated = False

    def until_done(self) -> Any:
        """Run to the end; returns the final message, as the SDK's object.

        Raises:
            UsageError: The run ended before any reply was whole.
        """
        if self.is_running and not self._is_iterated:
            self.wait()
        elif not self._is_closed:
            # The one in hand too: the loop that was left by `break` is gone on with.
            for _ in self:
                pass
        replies = [i.reply for i in self.transcript.iterations if i.reply is not None]
        if self._own is not None and self._own.final is not None:
            return self._own.final
        if not replies:
            raise UsageError(
                f"{self.name} ended before any reply was whole: there is no final "
                "message. The last iteration of its transcript says why."
            )
        return message_of(replies[-1])

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
        if not messages:
            self.retry()
            return
        checked = messages_of(messages)
        left = checked if self._own is None else self._own.take(checked)
        for message in left:
            self._inject_message(message)

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
        tools = given.pop("tools", ())
        if plain(messages) != now["messages"]:
            self.submit(SetMessages(messages_of(messages)))
        if plain(system) != now.get("system"):
            self.submit(SetSystem(plain(system)))
        if any(not isinstance(t, dict) for t in tools) or list(tools) != now["tools"]:
            self.submit(SetTools(tools))
        self._set_params(given, now)
        if self._own is not None and self._is_iterated:
            self._own.driver.listen()

    def _set_params(self, given: dict[str, Any], now: dict[str, Any]) -> None:
        own = now.keys() - {"messages", "system", "tools"}
        changed = {k: v for k, v in given.items() if k not in now or v != now[k]}
        gone = dict.fromkeys(own - given.keys())
        if changed or gone:
            self.submit(SetParams({**changed, **gone}))

    def _params_now(self) -> dict[str, Any]:
        transcript = self.transcript
        settings = transcript.settings
        in_hand = self._own is not None and self._own.driver.in_hand is not None
        end = transcript.sent if in_hand else len(transcript.messages)
        return {
            "tools": list(settings.tools),
            **settings.fields(),
            "messages": list(transcript.messages[:end]),
        }

    def _left_driver(self) -> Driver | None:
        own = self._own
        return own.driver if own is not None and not own.driver.has_left else None


def json_copy(value: Any) -> Any:
    """A copy of a JSON value that is its reader's to change."""
    return json.loads(json.dumps(value))
