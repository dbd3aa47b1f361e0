"""What an approver cannot be, and what none can be asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.errors.base import UsageError, close_matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class NotAnApprover(UsageError):
    """Something given as the approver is not one."""

    def __init__(self, seen: object) -> None:
        super().__init__(
            f"approver is {_what(seen)}. Pass approve_all, reject_all, ask or "
            "by_tool({...}) (from nbrunner import ask), or a function of your own that "
            "takes the call: lambda call: call.reject('not today')."
        )


class NotARule(UsageError):
    """Something given to `by_tool` is no rule."""

    @classmethod
    def missing(cls) -> NotARule:
        """No rule at all."""
        return cls(
            "by_tool needs rules: by_tool({'get_*': approve_all, '*': ask}). "
            "To ask about every call, pass ask itself."
        )

    @classmethod
    def shape(cls, seen: object) -> NotARule:
        """Neither a mapping nor a tuple of the right length."""
        return cls(
            f"by_tool was given {_what(seen)}. A rule is a mapping of names to "
            "approvers, {'get_*': approve_all}, or a tuple: ('pay', ask) or "
            "('pay', lambda input: input['euros'] < 10, approve_all)."
        )

    @classmethod
    def glob(cls, seen: object) -> NotARule:
        """The name is no text."""
        return cls(
            f"by_tool: the name of a tool is {_what(seen)}. It has to be a str, in "
            "which * stands for anything: 'delete_*'."
        )

    @classmethod
    def predicate(cls, glob: str, seen: object) -> NotARule:
        """What is to look at the input cannot be called."""
        return cls(
            f"by_tool: the second part of the rule for {glob!r} is {_what(seen)}. It "
            "has to be a function of the input: lambda input: input['euros'] < 10."
        )

    @classmethod
    def approver(cls, glob: str, seen: object) -> NotARule:
        """What is to decide is no approver."""
        return cls(
            f"by_tool: {glob!r} is given to {_what(seen)}. It has to be approve_all, "
            "reject_all, ask, or a function that takes the call."
        )


class Ungated(UsageError):
    """Tools that run without asking, in a run whose approver is to be asked."""

    def __init__(self, names: Sequence[str]) -> None:
        verb = "runs" if len(names) == 1 else "run"
        super().__init__(
            f"{', '.join(names)} {verb} without asking the approver: the API or an MCP "
            "server does it. Leave it out, or accept that with allow_ungated=True (in "
            "a cell: --params names a dict that holds it)."
        )


def _what(seen: object) -> str:
    return f"of type {type(seen).__name__}: {seen!r:.80}"


class UnknownApprover(UsageError):
    """What `--approve` names is no approver."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        near = close_matches(name, known)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(
            f"--approve {name}: it takes all, ask, none, or a variable that holds an "
            f"approver.{hint} Rules per tool go into a variable: "
            "rules = by_tool({'get_*': approve_all, '*': ask}), then --approve rules."
        )
