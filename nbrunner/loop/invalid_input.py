"""An input that failed validation: a sentence for Claude, the details for a person.

The SDK tells Claude no more than "Invalid arguments for function ...", which says
neither which argument nor why (tests/loop/test_sdk_contract.py).
"""

from __future__ import annotations

import traceback
from typing import Any

import pydantic

from nbrunner.loop.tracebacks import signature_line

_LONGEST_SENTENCE = 4_000


def rejected_input(error: BaseException) -> pydantic.ValidationError | None:
    """The validation error of a call whose input never reached the tool's body.

    The SDK turns every ValidationError into the same ValueError, one that the body
    itself raised included; that one has the body's frames in its traceback.
    """
    cause = error.__cause__
    if type(error) is not ValueError or not isinstance(cause, pydantic.ValidationError):
        return None
    if not str(error).startswith("Invalid arguments for function "):
        return None
    modules = [
        frame.f_globals.get("__name__") or ""
        for frame, _ in traceback.walk_tb(cause.__traceback__)
    ]
    in_the_body = not all(m.startswith(("pydantic.", "anthropic.")) for m in modules)
    return None if in_the_body else cause


def validation_sentence(error: pydantic.ValidationError, tool: str) -> str:
    """What Claude reads: each field, what is wrong with it, and what it was."""
    problems = [_field_problem(detail) for detail in error.errors(include_url=False)]
    return f"Invalid input for {tool}: {'; '.join(problems)}."[:_LONGEST_SENTENCE]


def validation_trace(error: pydantic.ValidationError, tool: Any) -> str:
    """What the person reads in place of frames that are all the SDK's."""
    lines = ["ValidationError: the input does not fit the tool's parameters"]
    for detail in error.errors(include_url=False):
        lines += [f"  {_field(detail)}", f"    {detail['msg']}"]
        lines += [f"    got {detail['input']!r}"]
    function = getattr(tool, "func", None)
    if function is not None:
        lines += ["", f"def {signature_line(function, tool.name)}"]
    return "\n".join(lines)


def _field_problem(detail: Any) -> str:
    field, kind = _field(detail), detail["type"]
    if kind == "missing" or kind.startswith("missing_"):
        return f"`{field}` is required and is missing"
    if kind == "unexpected_keyword_argument":
        return f"`{field}` is not one of its parameters"
    message = detail["msg"].removeprefix("Input ")
    return f"`{field}` {message}, got {_seen(detail['input'])}"


def _field(detail: Any) -> str:
    return ".".join(str(part) for part in detail["loc"]) or "input"


def _seen(value: Any) -> str:
    return f'"{value}"'[:200] if isinstance(value, str) else f"{value!r:.200}"
