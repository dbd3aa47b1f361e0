"""Long texts are cut, and shown whole to who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.panel.steered import IntentRefused
from nbrunner.views.look import WHOLE_CHARACTERS
from nbrunner.views.page import panel_content
from tests.panel.mini_dom import Node, tree
from tests.panel.stage import Stage
from tests.views.runs import finished, use

if TYPE_CHECKING:
    from nbrunner.core.tool_call import ToolCall
    from nbrunner.core.transcript import Transcript

LONG = finished(use("look", what="a megabyte"), "Much.", system="Be brief. " * 2_000)
CALL = LONG.transcript.iterations[0].tool_calls[0]
RESULT = f"it0.call.{CALL.id}.result"
MESSAGE = "it1.request.2"


def asking(node: Node) -> list[str]:
    """The parts that the buttons in it ask for."""
    buttons = (n for n in node.walk() if n.attributes.get("data-intent") == "more")
    parts = [button.attributes["data-part"] or "" for button in buttons]
    return [part for part in parts if not part.startswith("marks.")]


def with_call(**changes: Any) -> Transcript:
    first, *rest = LONG.transcript.iterations
    call: ToolCall = CALL.model_copy(update=changes)
    first = first.model_copy(update={"tool_calls": (call,)})
    return LONG.transcript.model_copy(update={"iterations": (first, *rest)})


def test_a_long_text_offers_all_of_it_and_says_how_python_gets_it() -> None:
    page = Stage(LONG.transcript).view.root
    assert asking(page) == ["system.text", RESULT, MESSAGE]
    assert "Show all (1.1 MB)" in page.text
    assert f'run.transcript.find_call("{CALL.id}")[1].result' in page.text
    assert "run.transcript.settings.system" in page.text


def test_the_line_of_python_gives_the_text() -> None:
    line = f'run.transcript.find_call("{CALL.id}")[1].result'
    assert eval(line, {"run": LONG}) == "20 degrees, " * 90_000  # noqa: S307 - ours


def test_who_asks_gets_all_of_one_part_in_one_patch() -> None:
    stage = Stage(LONG.transcript)
    stage.feed.show_all(RESULT)
    (change,) = stage.sent[-1]["changes"]
    assert change["key"] == f"it0.call.{CALL.id}"
    assert "20 degrees, " * 90_000 in stage.view.root.text
    assert asking(stage.view.root) == ["system.text", MESSAGE]


def test_the_system_prompt_is_shown_whole_too() -> None:
    stage = Stage(LONG.transcript)
    stage.feed.show_all("system.text")
    assert "Be brief. " * 2_000 in stage.view.root.text
    assert asking(stage.view.root) == [RESULT, MESSAGE]


def test_what_is_shown_whole_stays_so_for_later_views_and_later_changes() -> None:
    stage = Stage(LONG.transcript)
    stage.feed.show_all(RESULT)
    whole = frozenset([RESULT])
    stage.feed.snapshot()
    truth = tree(panel_content(LONG.transcript, name="run", whole=whole))
    assert stage.view.root == truth


@pytest.mark.parametrize("field", ["input", "executed_input", "stdout", "traceback"])
def test_every_long_field_of_a_call_can_be_asked_for(field: str) -> None:
    text = "so " * 5_000
    is_json = field in ("input", "executed_input")
    changes: dict[str, Any] = {field: {"text": text} if is_json else text}
    stage = Stage(with_call(status="error", **{"traceback": "x", **changes}))
    part = f"it0.call.{CALL.id}.{field}"
    assert part in asking(stage.view.root)
    assert text.strip() not in stage.view.root.text
    stage.feed.show_all(part)
    assert text.strip() in stage.view.root.text
    assert part not in asking(stage.view.root)


def test_even_all_of_it_has_an_end() -> None:
    stage = Stage(with_call(stdout="x" * (WHOLE_CHARACTERS + 5)))
    stage.feed.show_all(f"it0.call.{CALL.id}.stdout")
    assert "5 more characters, 2.0 MB in all" in stage.view.root.text


DOCUMENT = {
    "type": "document",
    "title": "Almanac",
    "source": {"type": "text", "media_type": "text/plain", "data": "rain " * 5_000},
}
FETCH = {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_fetch"}
FETCHED = {
    "type": "web_fetch_tool_result",
    "tool_use_id": "srvtoolu_01",
    "content": {
        "type": "web_fetch_result",
        "url": "https://a.example/",
        "content": DOCUMENT,
    },
}
PRINTED = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_02",
    "content": {
        "type": "code_execution_result",
        "return_code": 0,
        "stdout": "out " * 5_000,
        "stderr": "err " * 5_000,
    },
}
SERVED = finished(
    [{**FETCH, "input": {"url": "https://a.example/"}}, FETCHED, PRINTED, DOCUMENT]
)


@pytest.mark.parametrize(
    ("number", "texts"),
    [(1, ["rain "]), (2, ["out ", "err "]), (3, ["rain "])],
    ids=["a fetched page", "a program's prints", "a document"],
)
def test_a_long_block_of_a_reply_is_shown_whole_to_who_asks(
    number: int, texts: list[str]
) -> None:
    stage = Stage(SERVED.transcript)
    part, line = f"it0.block{number}.all", f"transcript.iterations[0].blocks[{number}]"
    assert asking(stage.view.root).count(part) == len(texts)
    assert f"run.{line}" in stage.view.root.text
    assert eval(f"run.{line}", {"run": SERVED})["type"]  # noqa: S307 - ours
    cut = stage.view.root.text
    stage.feed.show_all(part)
    for text in texts:
        assert cut.count(text * 4_999) < stage.view.root.text.count(text * 4_999)
    assert part not in asking(stage.view.root)


def test_a_long_message_of_a_request_is_shown_whole_to_who_asks() -> None:
    run = finished("Yes.", messages="Is this long? " + "so " * 5_000)
    stage = Stage(run.transcript)
    line = "run.transcript.iterations[0].request.messages[0]"
    assert asking(stage.view.root) == ["it0.request.0"]
    assert line in stage.view.root.text
    assert eval(line, {"run": run})["content"].endswith("so ")  # noqa: S307 - ours
    stage.feed.show_all("it0.request.0")
    assert "so " * 4_999 in stage.view.root.text
    assert asking(stage.view.root) == []


def test_without_a_script_a_long_block_reads_as_far_as_it_is_shown() -> None:
    page = SERVED.to_html()
    assert page.count("more characters, 25.0 kB in all") == 2
    assert page.count("more characters, 20.0 kB in all") == 2
    assert "Show all" not in page


@pytest.mark.parametrize(
    "part",
    [
        "",
        "it0",
        "it9.call.toolu_01.result",
        "it0.call.toolu_99.result",
        f"it0.call.{CALL.id}",
        f"it0.call.{CALL.id}.__class__",
        f"it0.call.{CALL.id}.result\n",
        "it99999999999.call.x.result",
        "it0.block9.all",
        "it9.block0.all",
        "it0.request.1",
        "it0.request.-1",
        "it0.blockx.all",
        "marks.",
        "marks.system",
        "marks.messages[9].content[0]",
    ],
)
def test_a_part_that_is_not_there_is_refused(part: str) -> None:
    stage = Stage(LONG.transcript)
    before = len(stage.sent)
    with pytest.raises(IntentRefused, match="no longer part of the run"):
        stage.feed.show_all(part)
    assert len(stage.sent) == before
