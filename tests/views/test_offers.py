"""The list of tools of the next request, as a person reads it."""

from __future__ import annotations

from typing import Any

from nbrunner.core.commands import Submit
from nbrunner.core.edits import ChangeTools
from nbrunner.core.tool_changes import NEEDED_BETA, removal_of
from nbrunner.views.page import panel_content, static_page
from nbrunner.views.text import as_text
from tests.views.page_parser import Page, parsed
from tests.views.runs import run_of

BROWSER = {"type": "browser_toolset_20260801"}
RUN = run_of().transcript


def live(**changes: Any) -> Page:
    return parsed(str(panel_content(RUN.model_copy(update=changes), name="weather")))


def boxes(page: Page) -> list[tuple[str | None, ...]]:
    wanted = ("data-tool", "data-intent", "aria-checked")
    return [
        tuple(given.get(name) for name in wanted)
        for _, given in page.elements
        if given.get("role") == "checkbox"
    ]


def test_each_tool_has_a_box_and_its_line_of_python() -> None:
    page = live(tool_changes=(removal_of("look"),))
    assert "Choose the tools that Claude has: 2 of 3" in page.text
    assert boxes(page) == [
        ("get_weather", "remove_tool", "true"),
        ("get_temperature", "remove_tool", "true"),
        ("look", "add_tool", "false"),
    ]
    assert 'weather.remove_tools("get_weather")' in page.text
    assert 'weather.add_tools("look")' in page.text


def test_a_box_says_that_its_change_waits() -> None:
    asked = (Submit(edit=ChangeTools(removed=("look",))),)
    page = live(asked=asked)
    assert boxes(page)[2] == ("look", "add_tool", "false")
    assert "look waits for the next safe point" in page.text


def test_a_toolset_is_shown_and_cannot_be_pressed() -> None:
    settings = RUN.settings.model_copy(update={"tools": (BROWSER,)})
    page = live(settings=settings)
    assert boxes(page) == [(None, None, "true")]
    assert "browser_toolset_20260801 a toolset: those of a run are fixed" in page.text


def test_the_beta_that_the_api_wants_is_named_until_it_is_set() -> None:
    line = f'weather.submit(SetParams(betas=["{NEEDED_BETA}"]))'
    assert line in live().text
    settings = RUN.settings.model_copy(update={"params": {"betas": [NEEDED_BETA]}})
    assert line not in live(settings=settings).text


def test_a_run_without_tools_and_a_static_page_have_no_list() -> None:
    settings = RUN.settings.model_copy(update={"tools": ()})
    assert "Choose the tools" not in live(settings=settings).text
    assert "Choose the tools" not in static_page(RUN, name="weather")


def test_what_a_run_began_with_is_shown_without_what_claude_is_told_of_tools() -> None:
    run = run_of("Hi.")
    run.remove_tools("look")
    run.inject("Be brief.")
    run.wait()
    text = as_text(run.transcript, name="run")
    assert "user: How warm is Paris?" in text
    assert "tool_removal" not in text
    page = parsed(static_page(run.transcript, name="run"))
    before, _, after = page.text.partition("request 1")
    assert "tool_removal" not in before
    assert "How warm is Paris?" in before
    assert "tool_removal" in after


def test_a_hostile_name_is_a_text_and_nothing_else() -> None:
    name = '"><script>alert(1)</script>'
    settings = RUN.settings.model_copy(update={"tools": ({"name": name},)})
    page = live(settings=settings)
    assert boxes(page) == [(name, "remove_tool", "true")]
    assert all(tag != "script" for tag, _ in page.elements)
