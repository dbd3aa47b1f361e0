from __future__ import annotations

from typing import Any

import pytest

from nbrunner.core.schema import schema_of, why_unfit

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "unit": {"enum": ["C", "F"]},
        "where": {"type": "object", "required": ["x"], "properties": {"x": {}}},
    },
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"city": "Paris", "days": 2, "unit": "C"}, None),
        ({}, "`city` is required and is missing."),
        ({"city": 1}, "`city` has to be of type string, and is 1."),
        ({"city": "x", "unit": "K"}, "`unit` has to be one of 'C', 'F', and is 'K'."),
        ({"city": "x", "days": 0}, "`days`: 0 is less than the minimum of 1."),
        ({"city": "x", "days": True}, "`days` has to be of type integer, and is True."),
        ({"city": "x", "where": {}}, "`where.x` is required and is missing."),
        ({"city": "y" * 500, "days": "z" * 500}, None),
    ],
)
def test_an_input_is_judged_by_its_field_and_the_reason(
    given: Any, why: str | None
) -> None:
    said = why_unfit(given, SCHEMA)
    if "days" in given and isinstance(given["days"], str):
        assert said is not None
        assert len(said) < 200
    else:
        assert said == why


def test_a_parameter_that_the_tool_does_not_have_is_named() -> None:
    assert "'place' was unexpected" in (
        why_unfit({"city": "x", "place": 1}, SCHEMA) or ""
    )


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "no such type"},
        {"$ref": "https://a.example/schema.json"},
        {"properties": {"a": {"$ref": "#/nowhere"}}},
    ],
)
def test_a_schema_that_cannot_be_used_judges_nothing_and_is_not_fetched(
    monkeypatch: pytest.MonkeyPatch, schema: Any
) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr("urllib.request.urlopen", fetched.append)
    assert why_unfit({"a": 1}, schema) is None
    assert fetched == []


def test_of_two_tools_of_a_name_the_last_counts() -> None:
    tools = [{"name": "a", "input_schema": 1}, {"name": "a", "input_schema": 2}]
    assert schema_of("a", tools) == 2
    assert schema_of("b", tools) is None
