"""The form for the settings of the next request, read back."""

from __future__ import annotations

from typing import Any

import pytest

from nbrunner.core.edits import SetParams, SetSystem
from nbrunner.core.redact import REDACTED
from nbrunner.core.request import Settings
from nbrunner.views.form import LONGEST_SHOWN, NotAnInput
from nbrunner.views.page import panel_content
from nbrunner.views.request_form import read_request
from tests.views.page_parser import parsed
from tests.views.runs import run_of

THINKING = {"thinking": {"type": "adaptive"}, "tool_choice": {"type": "any"}}
ELSEWHERE = ("model", "max_tokens", "system", "tools", "messages")
SECRET = f"sk-ant-api03-{'a' * 40}"


def settings(**given: Any) -> Settings:
    fields = {"model": "claude-a", "max_tokens": 9, "system": "Be brief.", **given}
    return Settings(**fields)


@pytest.mark.parametrize(
    ("filled", "edits"),
    [
        ({"model": " claude-b "}, [SetParams(model="claude-b")]),
        ({"max_tokens": "10"}, [SetParams(max_tokens=10)]),
        ({"system": "Be\r\nlong."}, [SetSystem("Be\nlong.")]),
        ({"system": ""}, [SetSystem(None)]),
        (
            {"whole": '{"thinking": {"type": "adaptive"}}'},
            [SetParams(tool_choice=None)],
        ),
        ({"whole": ""}, [SetParams(thinking=None, tool_choice=None)]),
        (
            {"max_tokens": "10", "system": "Be long."},
            [SetParams(max_tokens=10), SetSystem("Be long.")],
        ),
    ],
)
def test_each_field_that_was_changed_becomes_an_edit(
    filled: dict[str, str], edits: list[Any]
) -> None:
    assert read_request(settings(params=THINKING), filled) == edits


@pytest.mark.parametrize(
    ("filled", "said"),
    [
        ({"model": "claude-a", "max_tokens": "9"}, "Nothing is changed"),
        ({"other": "x"}, "Nothing is changed"),
        ({"model": " "}, "`model` is empty"),
        ({"max_tokens": "-1"}, "whole number above 0"),
        ({"max_tokens": "0"}, "whole number above 0"),
        ({"max_tokens": "1.5"}, "whole number above 0"),
        ({"whole": "{"}, "no JSON"),
        ({"whole": "[1]"}, "JSON object"),
        ({"max_tokens": "9" * 5_000}, "at most 9 digits"),
        ({"whole": "[" * 100_000}, "no JSON"),
        ({"whole": '{"temperature": NaN}'}, "no JSON"),
        ({"whole": '{"temperature": 1e999}'}, "no JSON"),
        *(({"whole": f'{{"{name}": 7}}'}, f"`{name}` is no") for name in ELSEWHERE),
        ({"system": f"Use {REDACTED} too."}, "a secret"),
    ],
)
def test_what_cannot_be_is_refused_with_the_field_and_the_reason(
    filled: dict[str, str], said: str
) -> None:
    with pytest.raises(NotAnInput, match=said):
        read_request(settings(system=f"Use {SECRET}."), filled)


def test_a_system_prompt_that_is_no_short_text_has_no_box() -> None:
    long = "x" * (LONGEST_SHOWN + 1)
    for system in (long, [{"type": "text", "text": "Be brief."}]):
        page = parsed(str(panel_content(run_of(system=system).transcript, name="run")))
        boxes = [given.get("data-field") for _, given in page.elements]
        assert "system" not in boxes
        assert "max_tokens" in boxes
