from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbrunner.core.redact import _SHAPES, REDACTED, redact, redact_json

SECRETS = [
    "sk-ant-api03-abc_DEF-123",
    "sk-proj-abcdefghij0123456789",
    "AKIAABCDEFGHIJKLMNOP",
    "ghp_abcdefghijklmnopqrst0123",
    "github_pat_abcdefghijklmnopqrst0123",
    "xoxb-1234567890-abc",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "hf_abcdefghijklmnopqrstuvwx",
    "eyJhbGciOiJI.eyJzdWIiOiIx.abc-def",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_the_shapes_of_common_keys_are_known(secret: str) -> None:
    assert redact(f"the key {secret}, said I") == f"the key {REDACTED}, said I"


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("Authorization: Bearer abc.def-12345", "Authorization: Bearer [redacted]"),
        ("password=hunter22", "password=[redacted]"),
        ('{"api_key": "abcdef123"}', '{"api_key": "[redacted]"}'),
        ("DB_PASSWORD: s3cr3t-s3cr3t", "DB_PASSWORD: [redacted]"),
        ("my auth-token = 'abcdefgh'", "my auth-token = '[redacted]'"),
    ],
)
def test_what_is_named_a_secret_is_one(told: str, shown: str) -> None:
    assert redact(told) == shown


@pytest.mark.parametrize("told", ["", "the secret of Paris", "password: no", "sk-8"])
def test_plain_prose_stays(told: str) -> None:
    assert redact(told) == told


def test_nothing_is_nothing() -> None:
    assert redact(None) is None


@given(st.text(), st.sampled_from(SECRETS), st.text())
def test_no_secret_is_left_wherever_it_stands(
    before: str, secret: str, after: str
) -> None:
    assert secret not in redact(f"{before} {secret} {after}")


@given(st.text() | st.sampled_from([f"key={s}" for s in SECRETS]))
def test_redacting_twice_is_redacting_once(told: str) -> None:
    assert redact(redact(told)) == redact(told)


PIECES = [
    *SECRETS,
    *(
        "password",
        "pa\u017f\u017fwd",
        "API_KEY",
        "author\u0131zation",
        "\u212aey",
        "Token",
    ),
    *("Bearer ", "BEARER ", "https://me:", "@", " = ", ": ", '"', "hunter22", " "),
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8)).map("".join))
def test_looking_for_the_signs_first_misses_nothing(told: str) -> None:
    by_all = told
    for shape in _SHAPES:
        by_all = shape.pattern.sub(shape.instead, by_all)
    assert redact(told) == by_all


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(SECRETS),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(values)
def test_a_json_value_is_redacted_in_every_text_of_it_and_not_changed(
    value: Any,
) -> None:
    before = json.dumps(value)
    clean = json.dumps(redact_json(value), ensure_ascii=False)
    assert not [secret for secret in SECRETS if secret in clean]
    assert json.dumps(value) == before


def test_names_and_values_are_both_looked_at() -> None:
    assert redact_json({SECRETS[0]: (SECRETS[1], 1, None)}) == {
        REDACTED: [REDACTED, 1, None]
    }
