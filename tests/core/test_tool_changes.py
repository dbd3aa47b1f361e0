from __future__ import annotations

from typing import Any

from nbrunner.core.history import survey
from nbrunner.core.tool_changes import addition_of, offered, removal_of

ADD: dict[str, Any] = {"name": "add", "input_schema": {"type": "object"}}
GIVE: dict[str, Any] = {"name": "give", "input_schema": {"type": "object"}}
RAW: dict[str, Any] = {"type": "browser_toolset_20260801"}


def told(*changes: Any) -> Any:
    return {"role": "system", "content": list(changes)}


def names(*messages: Any, pending: Any = ()) -> list[Any]:
    tools = offered([ADD, RAW], survey(messages), pending)
    return [tool.get("name", tool.get("type")) for tool in tools]


def test_changes_are_folded_in_the_order_in_which_they_were_told() -> None:
    assert names(told(removal_of("add")), told(addition_of(GIVE))) == [
        "browser_toolset_20260801",
        "give",
    ]
    assert names(told(addition_of(GIVE)), pending=[removal_of("give")]) == [
        "add",
        "browser_toolset_20260801",
    ]


def test_a_tool_added_under_a_name_that_is_taken_takes_its_place() -> None:
    other = {**ADD, "description": "Another."}
    assert offered([ADD], survey([told(addition_of(other))])) == [other]


def test_a_tool_that_was_removed_may_be_added_again_by_its_name_alone() -> None:
    again = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "add"}}
    assert "add" in names(told(removal_of("add")), told(again))
    unknown = {**again, "tool": {"type": "tool_reference", "name": "nope"}}
    assert "nope" not in names(told(unknown))


def test_a_compaction_stands_for_the_changes_that_it_summarizes() -> None:
    block = {
        "type": "compaction",
        "content": "So.",
        "tool_changes": [removal_of("add")],
    }
    assert "add" not in names({"role": "assistant", "content": [block]})


def test_what_else_a_system_message_says_and_who_else_says_it_changes_nothing() -> None:
    text = {"type": "text", "text": "Be brief."}
    assert names(told(text), {"role": "system", "content": "Be kind."}) == names()
    assert names({"role": "user", "content": [removal_of("add")]}) == names()
