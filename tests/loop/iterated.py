"""A run over a wire that a test iterates over, and what its tools saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner import tool_runner
from nbrunner.replay import use
from tests.loop.steering import assert_the_api_takes_all
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

ADD = use("add", a=1, b=2)
MORE = use("add", a=3, b=4)
FAIL = use("fail", how="plainly")
BRIEF = {"role": "user", "content": "Be brief."}

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


class Ran:
    """A run over a wire, and the calls that its tools saw."""

    def __init__(self, *replies: Any, stream: bool = False, **params: Any) -> None:
        self.calls: list[Any] = []
        self.wire = Wire(*replies, doors=params.pop("doors", None))
        given = {"messages": [{"role": "user", "content": "1 + 2?"}], **params}
        tools = [*counted_tools(self.calls), *given.pop("tools", ())]
        self.run = tool_runner(
            self.wire.client,
            model="claude-opus-5",
            max_tokens=100,
            tools=tools,
            stream=stream,
            **given,
        )

    @property
    def bodies(self) -> list[dict[str, Any]]:
        assert_the_api_takes_all(self.wire)
        return self.wire.bodies

    def sent(self, request: int = -1) -> list[Any]:
        messages: list[Any] = self.bodies[request]["messages"]
        return messages

    def texts(self) -> Iterator[str]:
        """The text of each message of a loop, read to the end where it streams."""
        for item in self.run:
            yield message_of(item).content[-1].to_dict().get("text", "call")


def message_of(item: Any) -> Any:
    return item.get_final_message() if hasattr(item, "text_stream") else item


def result(call_id: str, content: Any = "by hand", **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {"role": "user", "content": [{**block, **fields}]}
