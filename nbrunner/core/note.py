"""A message from a person that waits to go out."""

from __future__ import annotations

from nbrunner.core.blocks import Message, Value


class Note(Value):
    """A person's message on its way into the conversation.

    Attributes:
        text: What it says, for those who look at the queue.
        message: The whole message, where one was given instead of a text. It goes out
            as it is, and does not join the results.
    """

    id: str
    text: str
    message: Message | None = None
