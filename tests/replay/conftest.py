"""A conversation about the weather, and the real SDK to hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from anthropic import beta_tool

from nbrunner import replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from anthropic import Anthropic


@pytest.fixture
def weather() -> replay.Cassette:
    return replay.script(
        [replay.say("Let me look."), replay.use("get_weather", location="Paris")],
        "It is 20 degrees.",
    )


@pytest.fixture
def converse() -> Callable[..., dict[str, Any]]:
    """The SDK's own runner, until done; the final message as JSON."""

    @beta_tool
    def get_weather(location: str) -> str:
        """Tell the weather somewhere."""
        return f"20 degrees in {location}"

    def run(
        client: Anthropic, question: str = "How warm is Paris?", **params: Any
    ) -> dict[str, Any]:
        runner = client.beta.messages.tool_runner(
            **{
                "model": "claude-opus-5",
                "max_tokens": 100,
                "thread": False,
                "tools": [get_weather],
                "messages": [{"role": "user", "content": question}],
                **params,
            }
        )
        return runner.until_done().to_dict()

    return run


@pytest.fixture
def ask() -> Callable[..., Any]:
    """One request without tools, whole or streamed; the message."""

    def once(
        client: Anthropic, question: str = "Hello?", *, stream: bool = False
    ) -> Any:
        params: Any = {
            "model": "claude-opus-5",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": question}],
        }
        if not stream:
            return client.beta.messages.create(**params)
        with client.beta.messages.stream(**params) as opened:
            return opened.get_final_message()

    return once
