from __future__ import annotations

import pytest

from nbrunner.core.redact import REDACTED, redact, redact_json


@pytest.mark.parametrize(
    "text",
    [
        '{"authorization_token": "abc123def456"}',
        "Authorization: Basic dXNlcjpwYXNzd29yZA==",
        "x-gateway-token=0123456789",
        "DB_PASSWORD=correct-horse",
        "https://user:secretword@example.org/path",
    ],
)
def test_what_a_name_calls_secret_goes(text: str) -> None:
    assert REDACTED in redact(text)
    for secret in ("abc123", "dXNl", "012345", "correct", "secretword"):
        assert secret not in redact(text)


@pytest.mark.parametrize(
    "text",
    ["max_tokens=102400", "input_tokens: 1234567", "a basic understanding", "tokens"],
)
def test_counts_and_prose_stay(text: str) -> None:
    assert redact(text) == text


def test_a_value_under_a_secret_key_goes_whatever_its_shape() -> None:
    value = {"password": "a", "api_key": "b", "max_tokens": 5, "city": "Paris"}
    assert redact_json({"input": [value]}) == {
        "input": [
            {
                "password": REDACTED,
                "api_key": REDACTED,
                "max_tokens": 5,
                "city": "Paris",
            }
        ]
    }


def test_one_long_word_is_searched_in_one_pass() -> None:
    # Quadratic search took minutes here; a test that hangs is red too.
    assert redact("secret" * 60_000) == "secret" * 60_000
    assert redact("a-" * 200_000) == "a-" * 200_000
