"""Token counts, as the API reports them."""

from __future__ import annotations

from typing import Any

from nbrunner.core.blocks import Value


class Usage(Value):
    """Tokens of one reply, or the sum over several.

    The API counts exclusively: `input_tokens` leaves out what was written to or
    read from the cache, so the whole prompt is `prompt_tokens`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    @classmethod
    def of(cls, reported: dict[str, Any] | None) -> Usage:
        """The counts of a reply's `usage`; what is absent or null counts as 0."""
        reported = reported or {}
        return cls(**{name: reported.get(name) or 0 for name in cls.model_fields})

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            **{n: getattr(self, n) + getattr(other, n) for n in Usage.model_fields}
        )

    @property
    def prompt_tokens(self) -> int:
        """All tokens of the prompt: fresh, written to the cache, read from it."""
        return (
            self.input_tokens
            + self.cache_creation_input_tokens
            + self.cache_read_input_tokens
        )

    @property
    def context_tokens(self) -> int:
        """How far the context is filled after the reply: the prompt and the reply."""
        return self.prompt_tokens + self.output_tokens
