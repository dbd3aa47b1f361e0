from __future__ import annotations

from typing import Any

import pytest

from nbrunner.core.blocks import text_of

CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}


def said(text: Any, *citations: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, "citations": list(citations) or None}


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([], ""),
        ([said("one"), said("two")], "one\n\ntwo"),
        ([said("one"), CALL, said("two")], "one\n\ntwo"),
        ([said("It is "), said("warm", {}), said(".")], "It is warm."),
        ([said("one"), CALL, said("two", {})], "one\n\ntwo"),
        ([said("one", {}), CALL, said("two")], "one\n\ntwo"),
        ([said(""), said("one"), said(""), said("two")], "one\n\ntwo"),
        ([said(None), said(3), said("one")], "one"),
    ],
)
def test_texts_are_joined_as_paragraphs_and_cited_pieces_as_they_are(
    blocks: list[Any], text: str
) -> None:
    assert text_of(blocks) == text
