"""The user's own `for message in run:`, in their thread, over the driver's phases.

It mirrors the SDK's runner where that one does what its page says, and keeps two
promises that it breaks: a call runs once, and a reply in hand is never lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.core.blocks import content_of, tool_results
from nbrunner.core.given import with_given
from nbrunner.errors import ReplyStopped, UsageError
from nbrunner.loop._sdk import plain
from nbrunner.loop.exits import StopAsked
from nbrunner.loop.watched import WatchedStream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbrunner.core.blocks import Block, Message
    from nbrunner.loop._sdk import Exchange
    from nbrunner.loop.driver import Driver

_OTHER_REPLY = (
    "append_messages() was given an assistant message that is not the reply in hand. "
    "A reply is kept as it came. To change the past, fork the run: "
    "run.fork(at=..., edits=[SetMessages(...)])."
)
_NO_SUCH_CALL = (
    "append_messages() was given a result for {call_id}, which the reply in hand does "
    "not ask for. Its calls are: {calls}."
)
_NOT_ASKED_FOR = (
    "append_messages() was given a result for a call of a reply that ended with "
    "{stop_reason}: that call may be half, and nothing runs for it. Ask again, with "
    "append_messages() or run.retry() and more max_tokens."
)


class OwnLoop:
    """One loop of the user's: it can be left by `break`, and gone on with.

    Attributes:
        driver: What it drives.
        final: The newest whole reply, as the SDK's message.
    """

    def __init__(self, driver: Driver, *, stream: bool, final: Any = None) -> None:
        self.driver = driver
        driver.made_by_code = self._results
        self.final = final
        self._stream = stream
        self._of: Exchange | None = None
        self._response: Message | None = None

    def items(self) -> Iterator[Any]:
        """What the SDK's runner yields: messages, or streams.

        Raises:
            Exception: What the SDK raises; iterating again sends the request again.
        """
        driver = self.driver
        driver.begin()
        try:
            while True:
                self._settle()
                if driver.has_ended():
                    return
                item = driver.send()
                yield self._handed_out(item)
                driver.step_done()
        except StopAsked:
            driver.finish("person")
            if driver.broken_by is not None:
                raise driver.broken_by from None
        except GeneratorExit:
            driver.suspend("break")
            raise
        except Exception:
            driver.suspend("error")
            raise
        except BaseException:
            driver.leave()
            raise

    def _handed_out(self, item: Any) -> Any:
        if self._stream:
            return WatchedStream(item, self.driver)
        self.driver.read()
        if not self.driver.is_compacting:
            self.final = item
        return item

    def _settle(self) -> None:
        """Do with the reply in hand what follows once the loop's body is done."""
        exchange = self.driver.in_hand
        if exchange is None:
            return
        self.driver.read()
        if not self.driver.is_compacting:
            self.final = exchange.reply or self.final
        self.driver.settle()

    def _forget_earlier(self) -> None:
        """Forget results of an earlier reply: a thread may have gone on since."""
        if self._of is not self.driver.in_hand:
            self._of = self.driver.in_hand
            self._response = None

    def response(self) -> Message | None:
        """The user message with the results of the reply in hand; its calls run once.

        The caller may change it in place: it goes out as it is then.

        Raises:
            ReplyStopped: Someone stopped the reply while it was coming.
        """
        self._forget_earlier()
        if self._response is None and self.driver.in_hand is not None:
            self._read_in_body()
            self._response = self.driver.answer()
            if (raised := self.driver.calm_down()) is not None:
                raise raised
        return self._response

    def take(self, messages: Iterable[Any]) -> list[Message]:
        """Take what the user appends; returns what is left to send behind it.

        The reply in hand is kept in any case, and so are its results: those that were
        handed in stand for what the tools would have returned.

        Raises:
            UsageError: One is an assistant message other than the reply in hand, or
                has a result for a call that the reply does not ask for, or that was
                cut off.
            ReplyStopped: Someone stopped that reply while it was coming.
        """
        left: list[Message] = []
        for message in map(plain, messages):
            if message["role"] == "assistant":
                self._check_is_in_hand(message)
            elif self._answers_in_hand(message):
                self._hand_in(message)
            else:
                left.append({"role": message["role"], "content": message["content"]})
        return left

    def _read_in_body(self) -> None:
        """Read what is left of the reply, called by the body of the loop."""
        if self.driver.has_left:
            return
        try:
            self.driver.read()
        except StopAsked:
            # The loop itself ends once its body does.
            raise ReplyStopped from None

    def _check_is_in_hand(self, message: Message) -> None:
        self._read_in_body()
        exchange = self.driver.in_hand
        reply = plain(exchange.reply) if exchange is not None else plain(self.final)
        if reply is None or content_of(message) != reply["content"]:
            raise UsageError(_OTHER_REPLY)

    def _answers_in_hand(self, message: Message) -> bool:
        results = tool_results(message)
        if not results:
            return False
        self._read_in_body()
        exchange = self.driver.in_hand
        if self.driver.has_left:
            raise _no_such_call(results[0], [])
        if exchange is None:
            return False
        self._forget_earlier()
        calls = [b.id for b in exchange.reply.content if b.type == "tool_use"]
        for block in results:
            if block.get("tool_use_id") not in calls:
                raise _no_such_call(block, calls)
        if (stop_reason := exchange.reply.stop_reason) != "tool_use":
            raise UsageError(_NOT_ASKED_FOR.format(stop_reason=stop_reason))
        return True

    def _results(self) -> Message | None:
        """The results to keep; None if the calls are to run."""
        self._forget_earlier()
        return plain(self._response) if self._response is not None else None

    def _hand_in(self, message: Message) -> None:
        self.driver.hand_in(message)
        if self._response is not None:
            # In place: the caller may hold it, and change it once more.
            self._response["content"] = with_given(self._response, message)["content"]


def _no_such_call(result: Block, calls: list[str]) -> UsageError:
    call_id, names = result.get("tool_use_id"), ", ".join(calls) or "none"
    return UsageError(_NO_SUCH_CALL.format(call_id=call_id, calls=names))
