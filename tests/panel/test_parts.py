"""Long texts are cut, and shown whole to who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.panel.intents import IntentRefused
from nbrunner.views.look import WHOLE_CHARACTERS
from nbrunner.views.page import panel_content
from tests.panel.mini_dom import Node, tree
from tests.panel.stage import Stage
from tests.views.runs import finished, use

if TYPE_CHECKING:
    from nbrunner.core.transcript import ToolCall, Transcript

LONG = finished(use("look", what="a megabyte"), "Much.", system="Be brief. " * 2_000)
CALL = LONG.transcript.iterations[0].tool_calls[0]
RESULT = f"it0.call.{CALL.id}.result"


def asking(node: Node) -> list[str | None]:
    """The parts that the buttons in it ask for."""
    buttons = (n for n in node.walk() if n.attributes.get("data-intent") == "more")
    return [button.attributes["data-part"] for button in buttons]


def with_call(**changes: Any) -> Transcript:
    first, *rest = LONG.transcript.iterations
    call: ToolCall = CALL.model_copy(update=changes)
    first = first.model_copy(update={"tool_calls": (call,)})
    return LONG.transcript.model_copy(update={"iterations": (first, *rest)})


def test_a_long_text_offers_all_of_it_and_says_how_python_gets_it() -> None:
    page = Stage(LONG.transcript).view.root
    assert asking(page) == ["system.text", RESULT]
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
    assert asking(stage.view.root) == ["system.text"]


def test_the_system_prompt_is_shown_whole_too() -> None:
    stage = Stage(LONG.transcript)
    stage.feed.show_all("system.text")
    assert "Be brief. " * 2_000 in stage.view.root.text
    assert asking(stage.view.root) == [RESULT]


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
    ],
)
def test_a_part_that_is_not_there_is_refused(part: str) -> None:
    stage = Stage(LONG.transcript)
    before = len(stage.sent)
    with pytest.raises(IntentRefused, match="no longer part of the run"):
        stage.feed.show_all(part)
    assert len(stage.sent) == before
