"""Structured output: a type that replies are to fit, as the field it is on the wire.

A transcript is JSON and holds no Python type. The SDK parses each reply by the type and
drops one that does not fit; here the reply is kept, and parsed when someone asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic
from anthropic import transform_schema

from nbrunner.errors import UnknownParameter


def on_the_wire(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, with `output_format` as the field that the SDK sends for it.

    Raises:
        UnknownParameter: It is no type, or `output_config` has a format of its own.
    """
    rest = dict(params)
    output_type = rest.pop("output_format", None)
    if output_type is None:
        return rest
    config = rest.get("output_config") or {}
    if isinstance(output_type, Mapping):
        raise UnknownParameter("output_format", (), _TYPE_ONLY)
    if config.get("format") is not None:
        raise UnknownParameter("output_format", (), _ONE_ONLY)
    schema = transform_schema(pydantic.TypeAdapter(output_type).json_schema())
    wanted = {"type": "json_schema", "schema": schema}
    return {**rest, "output_config": {**config, "format": wanted}}


def parsed(text: str, output_type: Any) -> Any:
    """What a reply's text holds.

    Raises:
        pydantic.ValidationError: It does not fit the type.
    """
    return pydantic.TypeAdapter(output_type).validate_json(text)


_TYPE_ONLY = (
    "output_format is a schema, and the SDK takes a type there: a pydantic model, say. "
    'Give a schema as output_config={"format": {"type": "json_schema", "schema": ...}}.'
)
_ONE_ONLY = (
    "output_format and output_config both say what the replies are to fit. Give one."
)
