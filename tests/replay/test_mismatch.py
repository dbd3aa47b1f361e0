from __future__ import annotations

from typing import Any

import pytest

from nbrunner.replay.mismatch import excerpt, first_difference


@pytest.mark.parametrize(
    ("recorded", "asked", "difference"),
    [
        ({"a": 1}, {"a": 2}, ("a", "1", "2")),
        ({"a": 1, "b": 2}, {"a": 1}, ("b", "2", "nothing")),
        ({"a": 1}, {"a": 1, "b": None}, ("b", "nothing", "null")),
        (
            {"messages": [{"content": [{"text": "x"}]}]},
            {"messages": [{"content": [{"text": "y"}]}]},
            ("messages[0].content[0].text", '"x"', '"y"'),
        ),
        ({"l": [1]}, {"l": [1, 2]}, ("l[1]", "nothing", "2")),
        ({"l": [1, 2]}, {"l": [1]}, ("l[1]", "2", "nothing")),
        ({"a": "text"}, {"a": ["text"]}, ("a", '"text"', '["text"]')),
        ({"b": 1, "a": 1}, {"a": 2, "b": 2}, ("b", "1", "2")),
    ],
)
def test_the_first_difference_is_named_by_its_path(
    recorded: Any, asked: Any, difference: Any
) -> None:
    assert first_difference(recorded, asked) == difference


def test_long_values_are_shown_from_shortly_before_they_part() -> None:
    old, new = "same " * 40 + "old end", "same " * 40 + "new end"
    _, recorded, asked = first_difference({"a": old}, {"a": new})
    assert recorded == '…same same same old end"'
    assert asked == '…same same same new end"'


def test_values_that_part_early_are_cut_at_the_end() -> None:
    _, recorded, asked = first_difference({"a": "old" * 99}, {"a": "new"})
    assert recorded == excerpt('"' + "old" * 99)
    assert recorded.endswith("…")
    assert len(recorded) == 61
    assert asked == '"new"'
