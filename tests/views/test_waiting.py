"""The edits that wait for a safe point, as a page shows them."""

from __future__ import annotations

from typing import Any

import pytest

from nbrunner.core.commands import Submit
from nbrunner.core.edits import (
    ChangeTools,
    Compact,
    EditResult,
    SetMessages,
    SetParams,
    SetSystem,
    SetTools,
    ToggleCache,
)
from nbrunner.views.page import panel_content, static_page
from nbrunner.views.text import as_text
from tests.views.page_parser import Page, parsed
from tests.views.runs import finished, use

RUN = finished(use("get_weather", location="Paris"), "Done.").transcript
SECRET = f"sk-ant-api03-{'a' * 40}"


def asking(*edits: Any, status: str = "running") -> Any:
    asked = tuple(Submit(edit=e, edit_id=f"edit_{n}") for n, e in enumerate(edits))
    return RUN.model_copy(update={"asked": asked, "status": status})


def live(*edits: Any) -> Page:
    return parsed(str(panel_content(asking(*edits), name="weather")))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (SetSystem("Be brief."), "system prompt: Be brief."),
        (SetSystem(None), "system prompt: taken off"),
        (SetParams(max_tokens=9, top_k=None), "max_tokens: 9; top_k: taken off"),
        (SetParams(thinking={"type": "adaptive"}), 'thinking: {"type": "adaptive"}'),
        (SetTools([{"name": "a"}, {"type": "b"}]), "tools: a, b"),
        (SetTools([]), "tools: none"),
        (
            ChangeTools(added=({"name": "a"},), removed=("b", "c")),
            "tools: give a; take b, c",
        ),
        (EditResult("toolu_01", "30"), "result of get_weather: 30"),
        (SetMessages([{"role": "user", "content": "?"}]), "conversation: 1 message"),
        (Compact(), "conversation: summarized"),
    ],
)
def test_an_edit_that_waits_says_what_it_changes_and_can_be_withdrawn(
    edit: Any, said: str
) -> None:
    page = live(edit)
    line = "weather.withdraw('edit_0')"
    row = f"waits for the next safe point {said} Withdraw {line}"
    assert row in page.text
    (button,) = [g for _, g in page.elements if g.get("data-edit")]
    assert button["data-intent"] == "withdraw_edit"
    assert button["aria-label"] == f"Withdraw {said}"


def test_a_cache_mark_that_waits_says_so_beside_its_button_only() -> None:
    assert not [g for _, g in live(ToggleCache("tools")).elements if "data-edit" in g]


def test_a_secret_in_an_edit_is_not_shown() -> None:
    edits = (SetSystem(SECRET), SetParams(extra_headers={"x-api-key": "hunter2"}))
    for shown in (panel_content, static_page):
        html = str(shown(asking(*edits), name="weather"))
        assert "aaaa" not in html
        assert "hunter2" not in html
    assert "hunter2" not in as_text(asking(*edits), name="weather")


def test_an_edit_of_a_run_that_is_over_is_on_its_page_without_a_button() -> None:
    transcript = asking(SetParams(max_tokens=9), status="finished")
    page = parsed(static_page(transcript, name="weather"))
    assert "waits for a start max_tokens: 9" in page.text
    assert "button" not in [tag for tag, _ in page.elements]
    assert "(waits for a start) max_tokens: 9" in as_text(transcript, name="weather")
