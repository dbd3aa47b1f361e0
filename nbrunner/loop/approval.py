"""Approvers: who says whether a call may run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeAlias

from nbrunner.core.approval import ProposedCall, Ruling
from nbrunner.errors import NotAnApprover, NotARule

Approver: TypeAlias = Callable[[ProposedCall], Ruling]


def approve_all(call: ProposedCall) -> Ruling:
    """Let every call run, as the SDK does."""
    return call.approve()


def reject_all(call: ProposedCall) -> Ruling:
    """Let no call run."""
    return call.reject()


def ask(call: ProposedCall) -> Ruling:
    """Ask a person about every call.

    Where nobody can be asked (nbclient, papermill) the call is rejected, and says so.
    """
    return call.ask()


class _Rule(NamedTuple):
    glob: str
    fits: Callable[[Any], Any] | None
    approver: Approver


def by_tool(*rules: Any) -> Approver:
    """An approver that goes by the tool's name, and by the input.

        by_tool({"get_*": approve_all, "delete_*": reject_all})
        by_tool(("pay", lambda input: input["euros"] < 10, approve_all), ("pay", ask))

    Args:
        *rules: Mappings of a glob on the name to an approver, and tuples of a glob,
            a predicate on the input (it may be left out) and an approver. The first
            rule that fits counts; a call that none fits is asked about.

    Raises:
        NotARule: Something given is no such rule.
    """
    checked = [rule for given in rules for rule in _rules_of(given)]
    if not checked:
        raise NotARule.missing()

    def by_rule(call: ProposedCall) -> Ruling:
        for glob, fits, approver in checked:
            if fnmatchcase(call.name, glob) and (fits is None or fits(call.input)):
                return approver(call)
        return call.ask()

    return by_rule


def _rules_of(given: Any) -> Iterator[_Rule]:
    if isinstance(given, Mapping):
        for glob, approver in given.items():
            yield _rule(glob, None, approver)
    elif isinstance(given, list):
        for rule in given:
            yield from _rules_of(rule)
    elif isinstance(given, tuple) and len(given) in (2, 3):
        glob, *fits, approver = given
        yield _rule(glob, fits[0] if fits else None, approver)
    else:
        raise NotARule.shape(given)


def _rule(glob: Any, fits: Any, approver: Any) -> _Rule:
    if not isinstance(glob, str):
        raise NotARule.glob(glob)
    if fits is not None and not callable(fits):
        raise NotARule.predicate(glob, fits)
    if not callable(approver) or isinstance(approver, type):
        raise NotARule.approver(glob, approver)
    return _Rule(glob, fits, approver)


def checked_approver(approver: Any) -> Approver:
    """The approver, if it is one.

    Raises:
        NotAnApprover: It is a word, or nothing that can be asked.
    """
    if not callable(approver) or isinstance(approver, type):
        raise NotAnApprover(approver)
    if approver is by_tool:
        raise NotARule.missing()
    return approver  # type: ignore[no-any-return]


def checked_ruling(ruling: Any) -> Ruling:
    """What an approver said, if it is something.

    Raises:
        TypeError: It is nothing that a call's methods return.
    """
    if not isinstance(ruling, Ruling):
        message = f"it returned {ruling!r:.80}, not call.approve() or call.reject()"
        raise TypeError(message)
    return ruling
