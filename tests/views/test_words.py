from __future__ import annotations

import pytest

from nbrunner.core.tool_call import ToolCall
from nbrunner.core.usage import Usage
from nbrunner.views.printable import printable
from nbrunner.views.words import (
    count,
    end_words,
    notable_content_size,
    portable_trace,
    pretty,
    result_text,
    seconds,
    signature,
    size,
    tokens,
    usage_words,
    without_ids,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "0 B"),
        ("é", "2 B"),
        ("x" * 999, "999 B"),
        ("x" * 1_000, "1.0 kB"),
        ("x" * 1_500_000, "1.5 MB"),
        ("\ud800", "1 B"),
    ],
)
def test_sizes_are_told_in_the_unit_that_fits(text: str, words: str) -> None:
    assert size(text) == words


@pytest.mark.parametrize(
    ("elapsed_s", "words"),
    [(None, None), (0.0, "0 ms"), (0.0421, "42 ms"), (1.0, "1.0 s"), (75.25, "75.2 s")],
)
def test_times_are_told_in_the_unit_that_fits(
    elapsed_s: float | None, words: str | None
) -> None:
    assert seconds(elapsed_s) == words


def test_a_size_is_told_from_a_kilobyte_on() -> None:
    assert [notable_content_size("x" * n) for n in (999, 1_000)] == [None, "1.0 kB"]


def test_counts_agree_with_their_noun() -> None:
    assert [count(n, "error") for n in range(3)] == ["0 errors", "1 error", "2 errors"]


def test_tokens_are_told_short_and_caches_apart() -> None:
    assert [tokens(n) for n in (0, 999, 1_000, 12_345)] == [
        "0",
        "999",
        "1.0 k",
        "12.3 k",
    ]
    assert usage_words(Usage()) is None
    usage = Usage(
        input_tokens=10,
        output_tokens=5,
        cache_read_input_tokens=2_000,
        cache_creation_input_tokens=300,
    )
    assert usage_words(usage) == "2.3 k in · 5 out · 2.0 k from cache · 300 to cache"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("as it is", "as it is"),
        ([], ""),
        (
            [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
            "one\n\ntwo",
        ),
        ([{"type": "text"}], ""),
        ([{"type": "image", "source": {}}], "[image, 37 B]"),
        (["loose"], "[str block, 7 B]"),
    ],
)
def test_a_result_is_told_as_claude_reads_it(content: object, text: str) -> None:
    assert result_text(content) == text


def test_json_keeps_its_letters_and_odd_values_their_repr() -> None:
    assert pretty({"città": "Milano"}) == '{\n  "città": "Milano"\n}'
    assert pretty({1, 2}) == '"{1, 2}"'


def test_a_signature_is_one_line_with_long_values_cut() -> None:
    call = ToolCall(id="1", name="f", input={"text": "y" * 500, "n": 1, "t" * 500: 2})
    inside = signature(call)
    assert inside.startswith('f(text="yyy')
    assert "yyy…, n=1, ttt" in inside
    assert inside.endswith("t…=2)")
    assert len(inside) < 250
    assert signature(ToolCall(id="1", name="now", input={})) == "now()"


def test_a_signature_with_an_equals_sign_in_a_value_is_whole() -> None:
    call = ToolCall(id="1", name="calculate", input={"formula": "a = b == c"})
    assert signature(call) == 'calculate(formula="a = b == c")'


def test_ids_are_left_out_of_blocks_and_left_in_inputs() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "input": {"id": "kept"}}
    result = {"tool_use_id": "toolu_1", "content": [{"type": "x", "file_id": "f"}]}
    assert without_ids([call, result]) == [
        {"type": "tool_use", "id": "…", "input": {"id": "kept"}},
        {"tool_use_id": "…", "content": [{"type": "x", "file_id": "…"}]},
    ]
    schema = {"properties": {"id": {"type": "string"}}, "name": "by_id"}
    assert without_ids(schema) == schema


@pytest.mark.parametrize(
    ("stopped_by", "words"),
    [
        ("end_turn", "done"),
        ("person", "stopped by you"),
        ("error", "ended with an error"),
        ("max_tokens", "cut off by max_tokens"),
        ("max_iterations", "ended: max_iterations"),
        ("refusal", "ended: refusal"),
    ],
)
def test_an_end_is_told_in_words(stopped_by: str, words: str) -> None:
    assert end_words(stopped_by) == words


def test_a_trace_of_a_replayed_run_names_no_cell_number() -> None:
    trace = "  File In[12], line 3, in tool"
    assert portable_trace(trace, replayed=True) == "  File In[…], line 3, in tool"
    assert portable_trace(trace, replayed=False) == trace


def test_printable_text_keeps_lines_and_letters() -> None:
    kept = "tab\tline\nZürich 東京 👍🏽 \u2028"
    assert printable(kept) == kept
    assert printable("a\r\nb\rc") == "a\nb\nc"
    assert printable("\x00\x1b\x7f\x9b") == "\ufffd" * 4
    assert printable("\ud83d!") == "?!"
