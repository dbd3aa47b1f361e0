"""Approvers: who says whether a call may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbrunner.core.approval import ProposedCall, Ruling


def approve_all(call: ProposedCall) -> Ruling:
    """Let every call run, as the SDK does."""
    return call.approve()


def reject_all(call: ProposedCall) -> Ruling:
    """Let no call run."""
    return call.reject()


def ask(call: ProposedCall) -> Ruling:
    """Ask a person about every call."""
    return call.ask()
