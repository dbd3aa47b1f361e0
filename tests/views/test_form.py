"""An input as a form: what is shown of it, and what is read back."""

from __future__ import annotations

from typing import Any

import pytest

from nbrunner.core.redact import REDACTED
from nbrunner.views.form import WHOLE, NotAnInput, fields_of, read_form, shown_json

SCHEMA = {
    "properties": {
        "city": {"type": "string", "description": "Where."},
        "days": {"type": "integer"},
        "share": {"type": "number"},
        "alert": {"type": "boolean"},
        "unit": {"enum": ["C", "F", 1]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["city", "days"],
}
PROPOSED = {"city": "Paris", "days": 2, "share": 0.5, "alert": True, "unit": "C"}


def shown(proposed: Any = PROPOSED, schema: Any = SCHEMA) -> dict[str, str]:
    """What a page sends of a form that nobody touched."""
    fields = fields_of(schema, proposed)
    return {str(number): field.shown for number, field in enumerate(fields)}


def read(proposed: Any = PROPOSED, schema: Any = SCHEMA, **filled: str) -> Any:
    """What is read once the fields of those names hold those texts."""
    form = shown(proposed, schema)
    names = list(schema["properties"])
    form |= {str(names.index(name)): text for name, text in filled.items()}
    return read_form(schema, proposed, form)


def test_a_form_that_nobody_touched_keeps_the_input_to_the_letter() -> None:
    odd = {"city": "a\r\nb\x00\ud83d", "days": "three", "unit": "K", "note": None}
    for proposed in (PROPOSED, odd, {}, {"limit": None}):
        kept = read(proposed)
        expected = dict(proposed)
        # A text that has to be there is one, if an empty one.
        expected.setdefault("city", "")
        assert kept == expected


@pytest.mark.parametrize(
    ("filled", "changed"),
    [
        ({"city": "Oslo"}, {"city": "Oslo"}),
        ({"city": ""}, {"city": ""}),
        ({"city": " two\r\nlines "}, {"city": " two\nlines "}),
        ({"days": " 3 "}, {"days": 3}),
        ({"days": "-1"}, {"days": -1}),
        ({"share": "1e-3"}, {"share": 0.001}),
        ({"share": "2"}, {"share": 2}),
        ({"alert": "false"}, {"alert": False}),
        ({"unit": '"F"'}, {"unit": "F"}),
        ({"unit": "1"}, {"unit": 1}),
        ({"note": "careful"}, {"note": "careful"}),
        ({"limit": "7"}, {"limit": 7}),
    ],
)
def test_a_field_becomes_a_value_of_its_kind(
    filled: dict[str, str], changed: dict[str, Any]
) -> None:
    assert read(**filled) == {**PROPOSED, **changed}


@pytest.mark.parametrize("name", ["share", "alert", "unit"])
def test_what_is_emptied_is_left_out(name: str) -> None:
    left = {key: value for key, value in PROPOSED.items() if key != name}
    assert read(**{name: ""}) == left


@pytest.mark.parametrize(
    ("filled", "why"),
    [
        ({"days": "two"}, "`days` has to be a whole number, and is 'two'."),
        ({"days": "2.5"}, "`days` has to be a whole number, and is '2.5'."),
        ({"days": "true"}, "`days` has to be a whole number, and is 'true'."),
        ({"share": "NaN"}, "`share` has to be a number, and is 'NaN'."),
        ({"share": "[1]"}, "`share` has to be a number, and is '[1]'."),
        ({"unit": '"K"'}, "`unit` has no choice '\"K\"'."),
        ({"alert": "maybe"}, "`alert` has no choice 'maybe'."),
    ],
)
def test_what_makes_no_value_is_refused_with_its_field(
    filled: dict[str, str], why: str
) -> None:
    with pytest.raises(NotAnInput) as caught:
        read(**filled)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("schema", "proposed"),
    [
        (None, {}),
        ({"properties": {"a": {"type": "object"}}}, {"a": {}}),
        ({"properties": {"a": {"type": "array"}}}, {}),
        ({"properties": {"a": {"type": "string"}}}, {"a": ["not", "flat"]}),
        ({"properties": {"a": {"type": "string"}}}, {"b": "no such parameter"}),
        ({"properties": {"a": {"$ref": "#/x"}}}, {}),
        ({"properties": {"a": {"enum": [[1]]}}}, {}),
        ({"properties": {"a": {"anyOf": [{"type": "string"}, {}]}}}, {}),
        ({"properties": {str(n): {"type": "string"} for n in range(21)}}, {}),
        ({"properties": {"a": {"type": "string"}}}, "no object"),
    ],
)
def test_an_input_that_is_not_flat_is_edited_as_json(
    schema: Any, proposed: Any
) -> None:
    assert fields_of(schema, proposed) == ()
    assert read_form(schema, proposed, {WHOLE: '{"a": [1, null]}'}) == {"a": [1, None]}
    untouched = shown_json(proposed)
    assert untouched is not None
    assert read_form(schema, proposed, {WHOLE: untouched}) == proposed


def test_what_is_no_json_is_refused_with_the_place() -> None:
    with pytest.raises(NotAnInput, match=r"That is no JSON: .* line 1 column 2"):
        read_form(None, {}, {WHOLE: "{a: 1}"})


def test_an_input_too_long_for_a_page_is_not_offered_for_editing() -> None:
    assert shown_json({"a": "x" * 30_000}) is None


def test_a_secret_is_not_shown_and_is_kept_unless_it_is_written_anew() -> None:
    schema = {"properties": {"api_key": {"type": "string"}, "user": {"type": "string"}}}
    proposed = {"api_key": "correct horse", "user": "ada"}
    assert shown(proposed, schema)["0"] == REDACTED
    assert read(proposed, schema, user="eve")["api_key"] == "correct horse"
    assert read(proposed, schema, api_key="new")["api_key"] == "new"
    with pytest.raises(NotAnInput, match="`api_key` holds a secret"):
        read(proposed, schema, api_key=f"{REDACTED}!")
    whole = shown_json({"deep": [proposed]})
    assert whole is not None
    assert "horse" not in whole
    with pytest.raises(NotAnInput, match="The input holds a secret"):
        read_form(None, {"deep": [proposed]}, {WHOLE: whole.replace("ada", "eve")})
