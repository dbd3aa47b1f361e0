"""The form for the settings of the next request, read back."""

from __future__ import annotations

from typing import Any

import pytest

from nbrunner.core.edits import SetParams, SetSystem
from nbrunner.core.redact import REDACTED
from nbrunner.core.request import Settings
from nbrunner.core.tool_changes import removal_of
from nbrunner.views.form import LONGEST_SHOWN, NotAnInput
from nbrunner.views.page import panel_content
from nbrunner.views.request_form import read_request
from tests.views.page_parser import Page, parsed
from tests.views.runs import run_of

OTHERS = {"top_k": 5, "metadata": {"user_id": "ada"}}
CHOSEN = {
    "thinking": {"type": "enabled", "budget_tokens": 2_000, "display": "omitted"},
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "output_config": {"effort": "low", "format": {"type": "json_schema"}},
}
ELSEWHERE = (
    *("model", "max_tokens", "system", "tools", "messages"),
    *("thinking", "tool_choice", "effort"),
)
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
            {"whole": '{"metadata": {"user_id": "ada"}}'},
            [SetParams(top_k=None)],
        ),
        ({"whole": ""}, [SetParams(top_k=None, metadata=None)]),
        ({"thinking": "adaptive"}, [SetParams(thinking={"type": "adaptive"})]),
        ({"effort": "max"}, [SetParams(output_config={"effort": "max"})]),
        ({"tool_choice": "any"}, [SetParams(tool_choice={"type": "any"})]),
        (
            {"tool_choice": "tool get_weather"},
            [SetParams(tool_choice={"type": "tool", "name": "get_weather"})],
        ),
        (
            {"thinking": "enabled", "budget": " 1024 ", "whole": "{}"},
            [
                SetParams(
                    top_k=None,
                    metadata=None,
                    thinking={"type": "enabled", "budget_tokens": 1024},
                )
            ],
        ),
        (
            {"max_tokens": "10", "system": "Be long."},
            [SetParams(max_tokens=10), SetSystem("Be long.")],
        ),
    ],
)
def test_each_field_that_was_changed_becomes_an_edit(
    filled: dict[str, str], edits: list[Any]
) -> None:
    assert read_request(settings(params=OTHERS), filled) == edits


@pytest.mark.parametrize(
    ("filled", "changed"),
    [
        ({"thinking": ""}, {"thinking": None}),
        ({"thinking": "disabled"}, {"thinking": {"type": "disabled"}}),
        (
            {"thinking": "adaptive"},
            {"thinking": {"type": "adaptive", "display": "omitted"}},
        ),
        (
            {"budget": "3000"},
            {"thinking": {**CHOSEN["thinking"], "budget_tokens": 3_000}},
        ),
        ({"tool_choice": ""}, {"tool_choice": None}),
        ({"tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
        (
            {"tool_choice": "auto"},
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        ),
        ({"effort": ""}, {"output_config": {"format": {"type": "json_schema"}}}),
        (
            {"effort": "high"},
            {"output_config": {**CHOSEN["output_config"], "effort": "high"}},
        ),
        ({"whole": "{}"}, {"output_config": {"effort": "low"}}),
    ],
)
def test_what_is_chosen_changes_that_and_keeps_what_stands_beside_it(
    filled: dict[str, str], changed: dict[str, Any]
) -> None:
    (edit,) = read_request(settings(params=CHOSEN), filled)
    assert isinstance(edit, SetParams)
    assert edit.params == changed


@pytest.mark.parametrize(
    "params",
    [
        {"thinking": {"type": "of tomorrow"}},
        {"tool_choice": "auto"},
        {"tool_choice": {"type": "of tomorrow"}},
        {"output_config": {"effort": 7}},
        {"output_config": ["low"]},
    ],
)
def test_what_no_field_can_show_stays_in_the_box_of_the_others(
    params: dict[str, Any],
) -> None:
    (name,) = params
    field = "effort" if name == "output_config" else name
    page = parsed(str(panel_content(run_of().transcript, name="run")))
    assert field in fields_of(page)
    transcript = run_of().transcript
    odd = transcript.settings.model_copy(update={"params": params})
    page = parsed(
        str(panel_content(transcript.model_copy(update={"settings": odd}), name="run"))
    )
    assert field not in fields_of(page)
    assert f'"{name}":' in page.text
    with pytest.raises(NotAnInput, match="Nothing is changed"):
        read_request(settings(params=params), {field: "adaptive"})
    (edit,) = read_request(settings(params=params), {"whole": "{}"})
    assert edit == SetParams({name: None})


def test_a_choice_is_offered_among_the_tools_that_claude_has() -> None:
    transcript = run_of().transcript
    gone = {"tool_changes": (removal_of("look"),)}
    chosen = {"tool_choice": {"type": "tool", "name": "look"}}
    with_choice = transcript.settings.model_copy(update={"params": chosen})
    for changes, more in (({}, ["look"]), (gone, [])):
        page = panel_content(transcript.model_copy(update=changes), name="run")
        assert tools_in(parsed(str(page))) == ["get_weather", "get_temperature", *more]
    kept = transcript.model_copy(update={**gone, "settings": with_choice})
    page = parsed(str(panel_content(kept, name="run")))
    assert tools_in(page)[-1] == "look"
    assert [g["value"] for _, g in page.elements if "selected" in g] == [
        *("", ""),
        "tool look",
    ]


def fields_of(page: Page) -> list[str | None]:
    return [given["data-field"] for _, given in page.elements if "data-field" in given]


def tools_in(page: Page) -> list[str]:
    values = [str(g.get("value")) for tag, g in page.elements if tag == "option"]
    return [it.removeprefix("tool ") for it in values if it.startswith("tool ")]


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
        ({"whole": '{"output_config": {"effort": "low"}}'}, "`effort` is no"),
        ({"thinking": "enabled"}, "whole number from 1,024 on, and is ''"),
        ({"thinking": "enabled", "budget": "1023"}, "whole number from 1,024 on"),
        ({"thinking": "enabled", "budget": "9" * 10}, "whole number from 1,024 on"),
        ({"thinking": "adaptive", "budget": "2000"}, "A budget goes with"),
        ({"thinking": "much"}, "`thinking` has no choice 'much'"),
        ({"effort": "huge"}, "`effort` has no choice 'huge'"),
        ({"tool_choice": "tools"}, "`tool_choice` has no choice 'tools'"),
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
