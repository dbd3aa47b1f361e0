"""Runs whose replies say what the prompt cache did, folded from events."""

from __future__ import annotations

from typing import Any

from nbrunner.core.caching import Mark
from nbrunner.core.events import IterationStarted, ReplyFinished, ResultsFinished
from nbrunner.core.fold import fold
from nbrunner.core.request import Settings
from nbrunner.core.transcript import Transcript
from tests.core.values import reply, result, text, use

TOOLS = ({"name": "add", "input_schema": {}}, {"name": "sub", "input_schema": {}})
SETTINGS = Settings(model="claude-opus-5", max_tokens=9, system="Be kind.", tools=TOOLS)


class Story:
    """A conversation that grows by a call and its result with every reply.

    Attributes:
        transcript: Where it stands.
    """

    def __init__(self, *marks: str | Mark, **settings: Any) -> None:
        self.transcript = Transcript(
            settings=SETTINGS.model_copy(update=settings),
            messages=({"role": "user", "content": "How much is it?"},),
        )
        self.marked(*marks)

    def marked(self, *marks: str | Mark) -> Story:
        placed = tuple(Mark(m) if isinstance(m, str) else m for m in marks)
        return self._with(marks=placed)

    def set(self, **settings: Any) -> Story:
        old = self.transcript.settings
        return self._with(settings=old.model_copy(update=settings))

    def rewritten(self, index: int, message: dict[str, Any]) -> Story:
        messages = list(self.transcript.messages)
        messages[index] = message
        return self._with(messages=tuple(messages))

    def _with(self, **changes: Any) -> Story:
        self.transcript = self.transcript.model_copy(update=changes)
        return self

    def asks(self) -> Story:
        """Send the next request, whose reply is awaited."""
        number = len(self.transcript.iterations)
        sent = self.transcript.next_request().fitted()
        started = IterationStarted(
            iteration=number, marks=tuple(m.path for m in sent.marks)
        )
        self.transcript = fold(self.transcript, started)
        return self

    def replies(
        self, *, read: int = 0, wrote: int = 0, fresh: int = 40, **more: Any
    ) -> Story:
        """Send the next request and answer it; the reply says what the cache did."""
        number = len(self.transcript.iterations)
        self.asks()
        said = reply(text(), use(f"t{number}"))
        counted = {
            "input_tokens": fresh,
            "output_tokens": 7,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": wrote,
            **more.pop("usage", {}),
        }
        message = {**said, "usage": counted, **more.pop("fields", {})}
        content = more.pop("content", f"{number} euro")
        answered = {"role": "user", "content": [result(f"t{number}", content)]}
        for event in (
            ReplyFinished(iteration=number, message=message, elapsed_s=0.5),
            ResultsFinished(iteration=number, message=answered),
        ):
            self.transcript = fold(self.transcript, event)
        return self
