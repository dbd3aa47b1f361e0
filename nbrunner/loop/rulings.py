"""What the approver says of a reply's calls, before their gates ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.core.approval import NOBODY_THERE, ProposedCall, Ruling
from nbrunner.core.blocks import json_copy
from nbrunner.core.commands import Approve
from nbrunner.loop.approval import checked_ruling
from nbrunner.loop.decisions import Decisions, why_not

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbrunner.core.blocks import Block
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Iteration
    from nbrunner.loop._tools import ToolBox
    from nbrunner.loop.approval import Approver
    from nbrunner.loop.ledger import Pen


class Rulings:
    """Has the approver rule on each call that a tool would run.

    Args:
        approver: Who rules; None lets every call run and tells of nothing.
        someone_answers: Whether a person can be asked.
        decisions: Where the rulings wait for the gates.
        pen: Where the run stands.
        tools: What can run.
    """

    def __init__(
        self,
        approver: Approver | None,
        someone_answers: Callable[[], bool],
        decisions: Decisions,
        pen: Pen,
        tools: ToolBox,
    ) -> None:
        self._approver, self._someone_answers = approver, someone_answers
        self._decisions, self._pen, self._tools = decisions, pen, tools

    def made_on(self, iteration: Iteration, offered: Sequence[Block]) -> bool:
        """Rule on the calls of a reply; False if the run is to stop before them.

        Args:
            iteration: Whose calls.
            offered: The definitions of the tools that Claude can call now.
        """
        if self._approver is None:
            return True
        for call in self._to_rule_on(iteration, offered):
            if call.name in self._pen.transcript.trusted:
                approve = Approve(call_id=call.id)
                self._decisions.make(iteration, approve, "trust")
                continue
            ruling = self._ruling(self._approver, call)
            if ruling.says == "stop":
                return False
            self._decisions.rule(iteration, call, ruling)
        return True

    def _to_rule_on(
        self, iteration: Iteration, offered: Sequence[Block]
    ) -> list[ToolCall]:
        """The calls that a tool would run, and that nobody has ruled on yet."""
        runnable = self._tools.names_in(offered)
        answered = self._tools.answered_in(offered)
        members = {
            block["id"]
            for block in iteration.blocks
            if block.get("type") == "tool_use" and block.get("toolset_name") in answered
        }
        return [
            call
            for call in iteration.tool_calls
            if (call.name in runnable or call.id in members)
            and call.status == "proposed"
            and self._decisions.of(call.id) is None
        ]

    def _ruling(self, approver: Approver, call: ToolCall) -> Ruling:
        proposed = ProposedCall(id=call.id, name=call.name, input=json_copy(call.input))
        try:
            ruling = checked_ruling(approver(proposed))
        except Exception as error:  # noqa: BLE001 - told to Claude and to the person
            return proposed.reject(f"The approver failed: {error!r}.")
        if ruling.says == "ask" and not self._someone_answers():
            return proposed.reject(NOBODY_THERE)
        if ruling.says == "modify":
            change = Approve(call_id=call.id, input=ruling.input, is_modified=True)
            unfit = why_not(change, self._pen.transcript)
            return proposed.reject(f"The approver failed: {unfit}") if unfit else ruling
        return ruling
