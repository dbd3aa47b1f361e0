from __future__ import annotations

from nbrunner.core.compaction import compacting, has_compaction_edit, is_summary

HOW = {"type": "summarize"}
FORMAT = {"effort": "low", "format": {"type": "json_schema"}}


def test_what_only_shapes_a_reply_is_left_out() -> None:
    head = {
        "model": "claude-opus-5",
        "system": "Be kind.",
        "context_management": {"edits": []},
        "stop_sequences": ["END"],
        "output_format": {"type": "json_schema"},
        "output_config": FORMAT,
        "tool_choice": {"type": "tool", "name": "add"},
        "fallbacks": [{"model": "a", "output_config": FORMAT}, {"model": "b"}],
    }
    assert compacting(head, HOW) == {
        "model": "claude-opus-5",
        "system": "Be kind.",
        "output_config": {"effort": "low"},
        "fallbacks": [
            {"model": "a", "output_config": {"effort": "low"}},
            {"model": "b"},
        ],
        "compaction": HOW,
    }
    assert "format" in FORMAT


def test_a_free_choice_of_tools_stays() -> None:
    choice = {"type": "auto"}
    assert compacting({"tool_choice": choice}, HOW)["tool_choice"] == choice


def test_a_reply_without_a_summary_is_none() -> None:
    block = {"type": "compaction", "content": "So."}
    assert is_summary({"content": [block]})
    assert not is_summary({"content": [{**block, "content": None}]})
    assert not is_summary({"content": [{"type": "text", "text": "So."}]})


def test_only_an_edit_that_compacts_counts_as_one() -> None:
    def params(kind: str) -> dict[str, object]:
        return {"context_management": {"edits": [{"type": kind}]}}

    assert has_compaction_edit(params("compact_20260112"))
    assert not has_compaction_edit(params("clear_tool_uses_20250919"))
    assert not has_compaction_edit({"context_management": None})
