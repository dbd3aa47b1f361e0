from __future__ import annotations

from operator import is_
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nbrunner.core.caching import MAX_MARKS, mark
from nbrunner.core.history import all_marks, survey, within_budget
from tests.core.values import MARK, frozen, marked_messages, result, text
from tests.loop.api_rules import marks


def budgeted(messages: list[Any], free: int) -> tuple[list[Any], list[str]]:
    kept, dropped = within_budget(survey(messages), free)
    return [facts.message for facts in kept], dropped


def places(body: dict[str, Any]) -> list[str]:
    return [m.path for m in all_marks(body, survey(body["messages"]))]


@given(marked_messages(), st.integers(-2, 5))
def test_within_the_budget_no_more_marks_are_left_than_it_has(
    messages: list[Any], free: int
) -> None:
    before = frozen(messages)
    kept, dropped = budgeted(messages, free)
    left = marks(kept)
    assert len(left) == min(len(marks(messages)), max(free, 0))
    assert len(left) + len(dropped) == len(marks(messages))
    assert frozen(messages) == before


@given(marked_messages(), st.integers(0, 4))
def test_the_oldest_marks_give_way_and_nothing_else_is_lost(
    messages: list[Any], free: int
) -> None:
    kept, dropped = budgeted(messages, free)
    found = places({"messages": messages})
    assert dropped == found[: len(dropped)]
    assert places({"messages": kept}) == found[len(dropped) :]
    assert unmarked(kept) == unmarked(messages)


@given(marked_messages())
def test_what_needs_no_change_is_not_copied(messages: list[Any]) -> None:
    kept, dropped = budgeted(messages, 99)
    assert all(map(is_, kept, messages))
    assert dropped == []


def unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    if isinstance(value, dict):
        return {
            key: item if key == "input" else unmarked(item)
            for key, item in value.items()
            if key != "cache_control"
        }
    return value


def test_marks_are_found_in_the_order_in_which_the_api_reads() -> None:
    body = {
        "cache_control": MARK,
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "user", "content": [result("t", [text(cache_control=MARK)])]},
            {"role": "user", "content": [text(cache_control=None), mark(text())]},
        ],
        "system": [text(), text(cache_control=MARK)],
        "tools": [{"name": "a", "cache_control": MARK}],
    }
    assert places(body) == [
        "tools[0]",
        "system[1]",
        "messages[1].content[0].content[0]",
        "messages[2].content[1]",
        "cache_control",
    ]


def test_a_mark_is_put_on_a_copy() -> None:
    block = text()
    assert mark(block) == {**text(), "cache_control": MARK}
    assert block == text()


def test_the_api_takes_four() -> None:
    assert MAX_MARKS == 4
