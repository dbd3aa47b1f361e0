"""Whether an input fits the schema that its tool was declared with.

What a person or an approver puts in the place of Claude's input is checked by it
before it counts. Pure: no schema is ever fetched from an address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbrunner.core.blocks import JSON, Block

_LONGEST_SEEN = 80


def schema_of(name: str, tools: Iterable[Block]) -> Any:
    """The input schema that a tool of that name is declared with; None without one."""
    # Of two tools of one name the last runs, as in the SDK.
    named = [tool for tool in tools if tool.get("name") == name]
    return named[-1].get("input_schema") if named else None


def why_unfit(call_input: JSON, schema: Any) -> str | None:
    """Which field of an input is wrong, and why; None if it fits.

    A schema that is broken itself judges nothing: the tool looks at its input too.
    """
    if not isinstance(schema, dict):
        return None
    # Loaded late: only an edited input needs them, and they take a while.
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415
    from jsonschema.exceptions import best_match  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    try:
        Draft202012Validator.check_schema(schema)
        # An empty registry, since the default one loads references over the network.
        validator = Draft202012Validator(schema, registry=Registry())
        error = best_match(validator.iter_errors(call_input))
    except (SchemaError, Unresolvable):
        return None
    return None if error is None else _sentence(error)


def _sentence(error: Any) -> str:
    field = error.json_path.removeprefix("$").removeprefix(".") or "input"
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return f"`{_within(field, missing[0])}` is required and is missing."
    if error.validator == "type":
        wanted = error.validator_value
        kind = wanted if isinstance(wanted, str) else " or ".join(wanted)
        return f"`{field}` has to be of type {kind}, and is {_seen(error.instance)}."
    if error.validator == "enum":
        allowed = ", ".join(map(_seen, error.validator_value))
        return f"`{field}` has to be one of {allowed}, and is {_seen(error.instance)}."
    return f"`{field}`: {error.message[:300]}."


def _within(field: str, name: str) -> str:
    return name if field == "input" else f"{field}.{name}"


def _seen(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SEEN else f"{text[: _LONGEST_SEEN - 1]}…"
