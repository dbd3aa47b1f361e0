"""Parameters that are chosen in the form of the next request, not written as JSON.

`tool_choice`, `thinking` and the effort each have a field of their own, as long as what
they hold is of the kind that a field can show; the box of the other parameters holds
the rest. Which of these a model takes, the API says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nbrunner.views.fields import at, text_at
from nbrunner.views.form import NotAnInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CONFIG, EFFORT = "output_config", "effort"
CHOICE, THINKING, BUDGET = "tool_choice", "thinking", "budget"

_LEAST_BUDGET = 1_024
"""By the SDK's own words on `budget_tokens`."""

_MOST_DIGITS = 9
_NOT_SET = ("", "(not set)")
_TOOL = "tool "
_CHOICES = (
    _NOT_SET,
    ("auto", "auto: a tool or none, as Claude likes"),
    ("any", "any: one of the tools"),
    ("none", "none: no tool"),
)
_THINKING = (
    _NOT_SET,
    ("adaptive", "adaptive: as much as Claude likes"),
    ("enabled", "a budget of tokens"),
    ("between_tools", "between tools"),
    ("disabled", "off"),
)
_EFFORTS = (_NOT_SET, *((it, it) for it in ("low", "medium", "high", "xhigh", "max")))


class Choice(NamedTuple):
    """A field whose value is one of some.

    Attributes:
        options: Each value with its words.
        shown: The value that it has now.
    """

    options: tuple[tuple[str, str], ...]
    shown: str


def choices_of(params: Mapping[str, Any], tools: Iterable[str]) -> dict[str, Choice]:
    """The fields with their choices, by name.

    Args:
        params: The parameters of the request.
        tools: The names of the tools that it offers.
    """
    named = tuple((f"{_TOOL}{name}", f"the tool {name}") for name in tools)
    options = {THINKING: _THINKING, EFFORT: _EFFORTS, CHOICE: (*_CHOICES, *named)}
    found = {}
    for name, shown in _held(params).items():
        known = options[name]
        is_known = shown in dict(known)
        more = () if is_known else ((shown, shown.removeprefix(_TOOL)),)
        found[name] = Choice((*known, *more), shown)
    return found


def budget_of(params: Mapping[str, Any]) -> str:
    """The budget for thinking, as its box shows it."""
    budget = at(params, THINKING, "budget_tokens")
    return "" if budget is None else str(budget)


def rest_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without what has a field of its own."""
    held = _held(params)
    rest = {name: value for name, value in params.items() if name not in held}
    if EFFORT in held and isinstance(config := rest.pop(CONFIG, None), dict):
        rest |= _config(config, "")
    return rest


def with_choices(
    params: Mapping[str, Any], rest: Mapping[str, Any], changed: Mapping[str, str]
) -> dict[str, Any]:
    """All parameters, of the rest and of what the fields hold.

    Args:
        params: The parameters as they are.
        rest: The others, as a person left them.
        changed: The texts of those fields that were changed.

    Raises:
        NotAnInput: A field holds what it cannot.
    """
    held, wanted = _held(params), dict(rest)
    for name, shown in held.items():
        chosen = changed.get(name, shown)
        if name == EFFORT:
            if at(rest, CONFIG, EFFORT) is not None:
                message = "`effort` is no parameter here: it has a field of its own."
                raise NotAnInput(message)
            config = wanted.pop(CONFIG, None)
            wanted |= _config(config, chosen)
        elif name == CHOICE and chosen != shown:
            wanted |= _choice(params.get(CHOICE), chosen)
        elif name == THINKING and (chosen != shown or BUDGET in changed):
            budget = changed.get(BUDGET, budget_of(params))
            wanted |= _thinking(params.get(THINKING), chosen, budget)
        elif params.get(name) is not None:
            wanted[name] = params[name]
    return wanted


def _held(params: Mapping[str, Any]) -> dict[str, str]:
    """What the fields show of the parameters; of what none can show, nothing."""
    kind, name = text_at(params, CHOICE, "type"), text_at(params, CHOICE, "name")
    held = {}
    thinks = text_at(params, THINKING, "type")
    if params.get(THINKING) is None or thinks in dict(_THINKING):
        held[THINKING] = thinks
    config = params.get(CONFIG)
    effort = at(config, EFFORT)
    if isinstance(config, dict | None) and isinstance(effort, str | None):
        held[EFFORT] = effort or ""
    if params.get(CHOICE) is None or (kind and kind in dict(_CHOICES)):
        held[CHOICE] = kind
    elif kind == "tool" and name:
        held[CHOICE] = f"{_TOOL}{name}"
    return held


def _config(config: Any, effort: str) -> dict[str, Any]:
    others = {k: v for k, v in (config or {}).items() if k != EFFORT}
    if effort:
        _check(EFFORT, effort, _EFFORTS, config)
        others = {**others, EFFORT: effort}
    return {CONFIG: others} if others else {}


def _choice(have: Any, chosen: str) -> dict[str, Any]:
    if not chosen:
        return {}
    others = {k: v for k, v in (have or {}).items() if k not in ("type", "name")}
    if chosen.startswith(_TOOL):
        name = chosen.removeprefix(_TOOL)
        return {CHOICE: {**others, "type": "tool", "name": name}}
    _check(CHOICE, chosen, _CHOICES)
    if chosen == "none":  # what is said of calls side by side goes with calls alone
        others = {}
    return {CHOICE: {**others, "type": chosen}}


def _thinking(have: Any, chosen: str, budget: str) -> dict[str, Any]:
    _check(THINKING, chosen, _THINKING)
    if chosen == "enabled":
        others = {k: v for k, v in (have or {}).items() if k != "type"}
        return {THINKING: {**others, "type": chosen, "budget_tokens": _budget(budget)}}
    if budget.strip() and budget != str(at(have, "budget_tokens")):
        message = "A budget goes with `thinking` set to a budget of tokens."
        raise NotAnInput(message)
    if chosen == "adaptive":
        dropped = ("type", "budget_tokens")
        others = {k: v for k, v in (have or {}).items() if k not in dropped}
        return {THINKING: {**others, "type": chosen}}
    return {THINKING: {"type": chosen}} if chosen else {}


def _budget(text: str) -> int:
    digits = text.strip()
    is_one = digits.isdecimal() and len(digits) <= _MOST_DIGITS
    if not is_one or (budget := int(digits)) < _LEAST_BUDGET:
        message = (
            f"The budget for thinking has to be a whole number from {_LEAST_BUDGET:,} "
            f"on, and is {text!r:.80}."
        )
        raise NotAnInput(message)
    return budget


def _check(
    name: str, chosen: str, options: Iterable[tuple[str, str]], have: Any = None
) -> None:
    if chosen not in dict(options) and chosen != at(have, name):
        message = f"`{name}` has no choice {chosen!r:.80}."
        raise NotAnInput(message)
