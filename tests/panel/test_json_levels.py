"""Levels of a large JSON value are fetched one by one as they are opened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.core.redact import REDACTED
from nbrunner.panel.intents import IntentRefused
from nbrunner.views.page import panel_content, static_page
from tests.panel.mini_dom import Node, tree
from tests.panel.stage import Stage
from tests.views.runs import finished, use

if TYPE_CHECKING:
    from nbrunner.core.transcript import Transcript

ASKED = {"format": {"type": "json_schema", "schema": {}}}
RUN = finished(use("look", what="long json"), "So.", output_config=ASKED)
CALL = RUN.transcript.iterations[0].tool_calls[0]
ROWS = [{"row": n, "tags": [f"tag {n}.{m}" for m in range(60)]} for n in range(300)]
VALUE = {"rows": ROWS, "note": "so " * 400, "few": {"deep": [1, 2]}}


def with_call(**changes: Any) -> Transcript:
    first, *rest = RUN.transcript.iterations
    call = CALL.model_copy(update={"result": "fine", **changes})
    first = first.model_copy(update={"tool_calls": (call,)})
    return RUN.transcript.model_copy(update={"iterations": (first, *rest)})


def with_block(block: dict[str, Any]) -> Transcript:
    first, last = RUN.transcript.iterations
    last = last.model_copy(
        update={"blocks": (block,), "reply": {**(last.reply or {}), "content": [block]}}
    )
    return RUN.transcript.model_copy(update={"iterations": (first, last)})


def offered(stage: Stage) -> list[str]:
    """The levels and pages of levels that the page offers to fetch."""
    parts = (node.attributes.get("data-part") or "" for node in stage.view.root.walk())
    return [part for part in parts if "#" in part]


def level(stage: Stage, named: str) -> Node:
    """The level whose line begins so."""
    (found,) = (
        node
        for node in stage.view.root.walk()
        if node.tag == "details"
        and "#" in (node.attributes.get("data-key") or "")
        and isinstance(line := node.children[0], Node)
        and line.text.startswith(named)
    )
    return found


def key_of(stage: Stage, named: str) -> str:
    return level(stage, named).attributes["data-key"] or ""


def turn_all_pages(stage: Stage) -> None:
    while parts := [part for part in offered(stage) if "+" in part]:
        stage.feed.show_all(parts[0])


def opened(stage: Stage, named: str) -> Node:
    stage.feed.show_all(key_of(stage, named))
    return level(stage, named)


def test_a_level_says_its_size_and_is_fetched_alone_when_it_is_opened() -> None:
    stage = Stage(with_call(input=VALUE))
    row = level(stage, "7 ")
    assert row.text == "7 2 keysfetching …"
    assert "tag 7." not in stage.view.root.text
    row = opened(stage, "7 ")
    (change,) = stage.sent[-1]["changes"]
    assert change["key"] == row.attributes["data-key"]
    assert len(change["html"]) < 5_000
    assert "tags 60 items" in row.text
    assert "tag 7.39" in row.text
    assert "tag 7.40" not in row.text
    assert "tag 8." not in stage.view.root.text
    assert row.attributes["data-key"] not in offered(stage)


def test_what_is_small_is_there_without_asking() -> None:
    stage = Stage(with_call(input=VALUE))
    few = level(stage, "few ")
    assert "deep 2 items" in few.text
    assert "1: 2" in few.text
    assert few.attributes["data-key"] not in offered(stage)


def test_what_is_wide_is_fetched_page_by_page() -> None:
    stage = Stage(with_call(input=VALUE))
    rows = level(stage, "rows ")
    assert rows.children[0].text == "rows 300 items"  # type: ignore[union-attr]
    for shown, more, label in (
        (40, "260 more", "Show the next 200"),
        (240, "60 more", "Show the next 60"),
    ):
        assert len(rows.children) == shown + 2
        assert rows.text.endswith(f"… {more} of 300 items {label}")
        (button,) = (node for node in rows.walk() if node.tag == "button")
        assert button.attributes["aria-label"] == f"{label} of rows"
        stage.feed.show_all(button.attributes["data-part"] or "")
        rows = level(stage, "rows ")
    assert len(rows.children) == 301
    assert "more" not in rows.text


def test_a_long_text_in_it_is_fetched_whole() -> None:
    text = "first line\n" + "so " * 400 + "the end"
    stage = Stage(with_call(input={**VALUE, "note": text}))
    note = level(stage, 'note: "first line')
    assert note.text.endswith(" 1.2 kBfetching …")
    note = opened(stage, 'note: "first line')
    (shown,) = (node for node in note.walk() if node.tag == "pre")
    assert shown.text == text
    assert shown.attributes["tabindex"] == "0"


# In pieces, so that no scanner takes this file for a leak.
KEY = "AK" + "IA" + "Q7" * 8


@pytest.mark.parametrize(
    ("name", "text"), [("password", "hunter-2 " * 60), ("note", "so " * 120 + KEY)]
)
def test_no_secret_is_fetched(name: str, text: str) -> None:
    stage = Stage(with_call(input={name: text, "fill": ["so " * 90] * 20}))
    while parts := offered(stage):
        stage.feed.show_all(parts[0])
    page = stage.view.root.text
    assert "hunter" not in page
    assert KEY[:8] not in page
    assert REDACTED in page


PLACES = {
    "an input": with_call(input=VALUE),
    "an input that was changed": with_call(input={}, executed_input=VALUE),
    "a result in one line of JSON": with_call(result=json.dumps(VALUE)),
    "a result before its edit": with_call(returned=json.dumps(VALUE), is_edited=True),
    "a block that nobody knows in a result": with_call(
        result=[{"type": "text", "text": "x"}, {"type": "new", "data": VALUE}]
    ),
    "a block that nobody knows in a reply": with_block({"type": "new", "data": VALUE}),
    "the input of a server tool": with_block(
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "x", "input": VALUE}
    ),
    "structured output": with_block({"type": "text", "text": json.dumps(VALUE)}),
}


@pytest.mark.parametrize("place", PLACES)
def test_everything_in_it_can_be_reached_from_every_place(place: str) -> None:
    stage = Stage(PLACES[place])
    turn_all_pages(stage)
    opened(stage, "299 ")
    turn_all_pages(stage)
    opened(stage, 'note: "so')
    page = stage.view.root.text
    assert all(f"tag 299.{n}" in page for n in range(60))
    assert "so " * 399 in page


def test_a_value_of_any_shape_is_shown_to_its_last_leaf() -> None:
    value: Any = {f"leaf {n}": n for n in range(300)}
    for n in range(15):
        value = {"wide": [n] * 50, "more": value, "x": "y" * 400}
    stage = Stage(with_call(input=value))
    while parts := offered(stage):
        stage.feed.show_all(parts[0])
    page = stage.view.root.text
    assert all(f"leaf {n}: {n}" in page for n in range(300))


def test_deeper_than_anyone_reads_nothing_is_offered() -> None:
    value: Any = "leaf " * 1_000
    for n in range(100):
        value = {f"level {n}": value}
    stage = Stage(with_call(input=value))
    while parts := offered(stage):
        stage.feed.show_all(parts[0])
    assert "… 1 more of 1 key" in stage.view.root.text


def test_what_is_opened_stays_so_for_later_views_and_later_changes() -> None:
    stage = Stage(with_call(input=VALUE))
    row = key_of(stage, "7 ")
    page = f"{key_of(stage, 'rows ')}+1"
    for part in (row, page):
        stage.feed.show_all(part)
    stage.feed.snapshot()
    whole = frozenset([row, page])
    truth = panel_content(stage.transcript, name="run", whole=whole)
    assert stage.view.root == tree(truth)
    assert "tag 7.0" in stage.view.root.text


def test_the_same_value_twice_in_one_part_is_opened_in_both() -> None:
    block = {"type": "new", "data": VALUE}
    stage = Stage(with_call(result=[block, block]))
    parts = [part for part in offered(stage) if "+" not in part]
    stage.feed.show_all(parts[0])
    assert offered(stage).count(parts[0]) == 0


def test_a_level_that_was_asked_for_twice_is_sent_twice() -> None:
    stage = Stage(with_call(input=VALUE))
    part = key_of(stage, "7 ")
    stage.feed.show_all(part)
    stage.feed.show_all(part)
    first, second = (message["changes"] for message in stage.sent[-2:])
    assert first == second


INPUT = f"it0.call.{CALL.id}.input"
DIGEST = "#0123456789ab"


@pytest.mark.parametrize(
    "forged",
    [
        "{root}",
        "{root}.0",
        "{root}.2",
        "{root}.0.7.9",
        "{root}.0.7.x",
        "{root}.0.-1",
        "{root}.0.299",
        "{root}.0+2",
        "{root}.0+0",
        "{root}.0.7+1",
        "{root}.0.7\n",
        "{root}.0.7#0123456789ab",
        f"{INPUT}{DIGEST}.0.7",
        f"it0.call.toolu_99.input{DIGEST}.0.7",
        f"it9.block0.all{DIGEST}.1",
        f"{DIGEST}.1",
        f"system.text{DIGEST}",
    ],
)
def test_a_level_that_the_page_does_not_offer_is_refused(forged: str) -> None:
    stage = Stage(with_call(input=VALUE))
    root = key_of(stage, "7 ").removesuffix(".0.7")
    before = len(stage.sent)
    with pytest.raises(IntentRefused, match="no longer part of the run"):
        stage.feed.show_all(forged.replace("{root}", root))
    assert len(stage.sent) == before


def test_a_level_of_a_result_before_its_edit_is_refused() -> None:
    stage = Stage(with_call(result=json.dumps(VALUE)))
    part = key_of(stage, "7 ")
    stage.transcript = with_call(result=json.dumps({**VALUE, "rows": ROWS[1:]}))
    with pytest.raises(IntentRefused):
        stage.feed.show_all(part)


def test_a_level_of_what_is_shown_whole_is_refused() -> None:
    stage = Stage(with_call(input=VALUE))
    part = key_of(stage, "7 ")
    stage.feed.show_all(INPUT)
    with pytest.raises(IntentRefused):
        stage.feed.show_all(part)


@pytest.mark.parametrize("place", PLACES)
def test_without_a_script_a_tree_offers_nothing(place: str) -> None:
    page = tree(static_page(PLACES[place], name="run"))
    assert [n for n in page.walk() if "data-part" in n.attributes] == []
