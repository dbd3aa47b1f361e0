"""The gate of a toolset: each call of a member goes through a gate of its own.

A toolset's public `confirm=` belongs to whoever made it, and tells neither a result
nor an error; its public contract (`BetaRunnableToolset`) lets another stand before it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import BetaRunnableToolset
from anthropic.tools import ToolsetUsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ToolsetGate(BetaRunnableToolset):
    """A toolset as the runner sees it: the same definition, each call gated.

    Args:
        toolset: The toolset; one for asyncio too.
        gated: Makes the gated call of a tool.
    """

    def __init__(self, toolset: Any, gated: Callable[[Member], Any]) -> None:
        self.toolset_name = toolset.toolset_name  # type: ignore[misc]
        self._toolset, self._gated = toolset, gated

    def to_dict(self) -> Any:
        return self._toolset.to_dict()

    def call(self, context: Any, name: str, input: Mapping[str, object]) -> Any:  # noqa: A002 - the SDK names it so
        """Call a member.

        Raises:
            ToolsetUsageError: The toolset is closed, say; it ends the run.
            ToolError: What Claude reads of a failure.
        """
        kind = Member
        if inspect.iscoroutinefunction(self._toolset.call):
            kind = AwaitedMember
        member = kind(self._toolset, context, name)
        try:
            return self._gated(member)(input)
        finally:
            if member.misuse is not None:
                raise member.misuse


class Member:
    """One member of a toolset, as a tool with a name.

    Attributes:
        misuse: An error of the program, which Claude is not told.
    """

    def __init__(self, toolset: Any, context: Any, name: str) -> None:
        self.name = name
        self.family: str = toolset.toolset_name
        self.misuse: ToolsetUsageError | None = None
        self._toolset, self._context = toolset, context

    def to_dict(self) -> Any:
        return {"name": self.name}

    def call(self, call_input: Any) -> Any:
        """Call the member."""
        try:
            return self._toolset.call(self._context, self.name, call_input)
        except ToolsetUsageError as misuse:
            self.misuse = misuse
            raise


class AwaitedMember(Member):
    """One member of a toolset for asyncio."""

    async def call(self, call_input: Any) -> Any:
        """Call the member."""
        try:
            return await self._toolset.call(self._context, self.name, call_input)
        except ToolsetUsageError as misuse:
            self.misuse = misuse
            raise
