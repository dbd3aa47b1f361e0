from __future__ import annotations

from typing import Any

import pytest

from nbrunner.views.diff import UNSEEN, diff_fragment, diff_lines, shown_texts
from tests.views.page_parser import parsed

# In pieces, so that no scanner takes this file for a leak.
KEY = "sk-" + "ant-api03-" + "a1B2" * 10


def lines(before: str, after: str) -> list[str]:
    return [f"{line.sign} {line.text}" for line in diff_lines(before, after)]


def shown(before: Any, after: Any) -> str:
    return parsed(diff_fragment(before, after)).text


def test_the_lines_that_differ_are_shown_with_two_around_them() -> None:
    old = "\n".join("abcdefg")
    assert lines(old, old.replace("d", "D")) == [
        *("  b", "  c", "- d", "+ D", "  e", "  f"),
    ]


def test_a_text_that_is_new_or_gone_is_shown_as_such() -> None:
    assert lines("", "a\nb") == ["+ a", "+ b"]
    assert lines("a", "") == ["- a"]
    assert lines("a", "a") == []


def test_a_line_that_is_repeated_is_not_counted_twice() -> None:
    assert lines("a\na", "a\na\na") == ["  a", "  a", "+ a"]


def test_of_many_lines_the_first_are_shown() -> None:
    found = lines("a", "\n".join(f"line {n}" for n in range(40)))
    assert found[:3] == ["- a", "+ line 0", "+ line 1"]
    assert found[-1] == "+ … 28 more lines"


def test_a_long_line_is_shown_around_where_it_differs() -> None:
    old = "x" * 5_000 + "10:00" + "y" * 5_000
    gone, come = lines(old, old.replace("10:00", "10:01"))
    assert "x10:00y" in gone
    assert "x10:01y" in come
    assert max(map(len, (gone, come))) < 170


def test_texts_and_results_are_read_as_texts_and_the_rest_as_json() -> None:
    text = {"type": "text", "text": "Be kind."}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "a\nb"}
    tool = {"name": "add"}
    assert shown_texts(text, {**text, "text": "Be brief."}) == ("Be kind.", "Be brief.")
    assert shown_texts(result, {**result, "content": "a\nc"}) == ("a\nb", "a\nc")
    assert '"name": "add"' in shown_texts(tool, None)[0]
    assert '"type": "text"' in shown_texts(text, result)[0]


def test_what_differs_beside_the_text_is_shown_too() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "a"}
    assert '+   "is_error": true' in shown(result, {**result, "is_error": True})


@pytest.mark.parametrize("before", range(0, 60, 7))
def test_a_key_in_it_is_not_shown_and_neither_is_half_of_it(before: int) -> None:
    old = "z" * before + f" key {KEY} and 10:00"
    assert KEY[:12] not in shown(old, old.replace("10:00", "10:01"))
    assert KEY[-12:] not in shown(old, old.replace("10:00", "10:01"))


def test_what_differs_in_a_secret_only_is_said_to() -> None:
    assert shown(f"key {KEY}", f"key {KEY[:-4]}cccc") == UNSEEN


@pytest.mark.parametrize("shift", [-9_999, -40, -20, 0, 20, 40, 9_999])
def test_of_a_megabyte_the_place_is_shown_and_no_key_at_an_edge(shift: int) -> None:
    at = 500_000
    words = "so " * 400_000
    edge = at - 40_000 + shift
    old = f"{words[:edge]} {KEY} {words[edge:at]}\n10:00 {words[at:]}"
    found = shown(old, old.replace("10:00", "10:01"))
    assert "10:00" in found
    assert "10:01" in found
    assert KEY[-10:] not in found
    assert len(found) < 500


def test_what_is_in_it_is_no_markup() -> None:
    page = parsed(diff_fragment("<b>a</b>", "<img src=x onerror=y()>"))
    assert {tag for tag, _ in page.elements} == {"pre", "span"}
    assert "+ <img src=x onerror=y()>" in page.text
