"""What a run was given, read and checked: a client, messages, tools, parameters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nbrunner.core.redact import redact
from nbrunner.errors import UnknownTool, UsageError
from nbrunner.loop._sdk import checked_client, live_client, plain
from nbrunner.replay import Cassette, connect, play

if TYPE_CHECKING:
    from nbrunner.core.blocks import Message


def client_of(given: Any) -> Any:
    """The SDK client for what was given as one."""
    if given is None:
        return live_client()
    if isinstance(given, Cassette | str | os.PathLike):
        given = play(given)
    return checked_client(given) if hasattr(given, "beta") else connect(given)


def messages_of(given: str | Iterable[Any]) -> list[Message]:
    """The messages of a conversation; a str is one user message.

    Raises:
        UsageError: Something among them is not a message.
    """
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


def checked_eager(eager: bool, *, stream: bool) -> bool:  # noqa: FBT001 - as it is given
    """Whether calls run while their reply streams.

    Raises:
        UsageError: The reply does not stream.
    """
    if eager and not stream:
        raise UsageError(
            "run_tools_eagerly=True runs tools while the reply streams, and stream is "
            "False. Give stream=True too, or leave run_tools_eagerly out."
        )
    return eager


def tool_names_of(given: str | Iterable[str], runnable: set[str]) -> frozenset[str]:
    """The names of tools that run on the main thread; a str is one name.

    Raises:
        UnknownTool: One is the name of no tool that runs here.
    """
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in runnable:
            raise UnknownTool("main_thread", name, runnable)
    return frozenset(names)
