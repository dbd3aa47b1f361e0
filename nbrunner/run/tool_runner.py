"""`tool_runner(client, ...)`: the SDK method's own arguments, and a `Run` for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterable


def tool_runner(  # noqa: PLR0913 - the SDK method's own arguments
    client: Any,
    *,
    model: str,
    max_tokens: int,
    tools: Iterable[Any],
    messages: str | Iterable[Any],
    stream: bool = False,
    name: str | None = None,
    **params: Any,
) -> Run:
    """What `client.beta.messages.tool_runner(...)` is, as a run that can be seen.

    The one line to change in a loop over the SDK's runner. Its arguments and its
    defaults are the SDK method's; the reference page of the tool runner says what is
    different.

    Args:
        client: An `anthropic.Anthropic`, or replies to play.
        model: The model's name.
        max_tokens: The most tokens of one reply.
        tools: `@beta_tool` functions, SDK tool objects, raw definitions.
        messages: The conversation so far; a str is one user message.
        stream: Whether the loop yields streams instead of messages.
        name: What the run is called; the variable that holds it if None.
        **params: Any other parameter of the SDK's `tool_runner()`, and of `Run`.

    Returns:
        A run to iterate over; nothing is sent before that.

    Raises:
        UnknownParameter: A parameter that the SDK does not know (a TypeError).
        NotATool: Something in `tools` is not a tool.
        NotAClient: The client is one for asyncio.
    """
    return Run(
        client=client,
        model=model,
        max_tokens=max_tokens,
        tools=tools,
        messages=messages,
        stream=stream,
        name=name,
        **params,
    )
