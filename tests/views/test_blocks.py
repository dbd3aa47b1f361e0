"""Every kind of block is shown as what it is, live, static and as text."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from nbrunner.core.request import Request, Settings
from nbrunner.core.tool_call import Display, ToolCall
from nbrunner.core.transcript import Iteration, Transcript
from nbrunner.views.images import LARGEST_BYTES
from tests.views.page_parser import Page, parsed, strangers
from tests.views.places import PIXEL, show

GIF, JPEG = b"GIF89a" + b"\0" * 9, b"\xff\xd8\xff\xe0" + b"\0" * 9
WEBP = b"RIFF\x10\0\0\0WEBPVP8 "
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "weather in Paris"},
}
MCP = {
    "type": "mcp_tool_use",
    "id": "mcptoolu_1",
    "name": "find_issue",
    "server_name": "tracker",
    "input": {"text": "crash"},
}


def answered(use: dict[str, Any], kind: str, content: Any, **more: Any) -> list[Any]:
    return [use, {"type": kind, "tool_use_id": use["id"], "content": content, **more}]


def replied(
    *blocks: Any, calls: tuple[ToolCall, ...] = (), messages: Any = (), **reply: Any
) -> Transcript:
    """A run of one reply."""
    params = reply.pop("params", {})
    settings = Settings(model="m", max_tokens=1, params=params)
    request = Request(settings=settings, messages=tuple(messages))
    given = {"content": list(blocks), "stop_reason": "end_turn", **reply}
    iteration = Iteration(
        index=0,
        request=request,
        reply=given,
        blocks=tuple(blocks),
        tool_calls=calls,
    )
    return Transcript(
        settings=settings,
        source="scripted",
        status="finished",
        stopped_by="end_turn",
        iterations=(iteration,),
    )


def told(result: Any, **more: Any) -> Transcript:
    """A run of one call with this result."""
    call = ToolCall(
        id="toolu_1", name="look", input={}, status="ok", result=result, **more
    )
    return replied({"type": "tool_use", "id": "toolu_1", "name": "look"}, calls=(call,))


def pages(transcript: Transcript) -> tuple[Page, Page, str]:
    """The run live, static and as text; nothing in it that does not belong."""
    shown = show(transcript)
    live, static = parsed(shown.live), parsed(shown.static)
    assert strangers(live) == strangers(static) == []
    return live, static, shown.text


def encoded(content: bytes, kind: str = "image/png") -> dict[str, Any]:
    data = base64.b64encode(content).decode()
    source = {"type": "base64", "media_type": kind, "data": data}
    return {"type": "image", "source": source}


def images(page: Page) -> list[dict[str, str | None]]:
    return [given for tag, given in page.elements if tag == "img"]


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (base64.b64decode(PIXEL), "image/png"),
        (GIF, "image/gif"),
        (JPEG, "image/jpeg"),
        (WEBP, "image/webp"),
    ],
)
def test_an_image_in_a_result_is_shown_as_what_its_bytes_are(
    content: bytes, media_type: str
) -> None:
    for page in pages(told([encoded(content, "image/png")]))[:2]:
        (image,) = images(page)
        data = base64.b64encode(content).decode()
        assert image["src"] == f"data:{media_type};base64,{data}"
        assert image["alt"] == "image in a message"


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (encoded(SVG, "image/svg+xml"), "its bytes are not those of a PNG"),
        (encoded(SVG, "image/png"), "its bytes are not those of a PNG"),
        (encoded(GIF * LARGEST_BYTES), "it has 15.0 MB"),
        ({"type": "image", "source": {"type": "base64", "data": "?"}}, "not base64"),
        ({"type": "image", "source": {"type": "base64"}}, "it is not base64"),
        (
            {"type": "image", "source": {"type": "url", "url": "https://t.example/i"}},
            "https://t.example/i (not loaded)",
        ),
        (
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            "an uploaded file",
        ),
    ],
)
def test_an_image_that_cannot_be_shown_is_said_to_be_there(
    block: dict[str, Any], why: str
) -> None:
    for page in pages(told([block]))[:2]:
        assert images(page) == []
        assert why in page.text


def test_an_image_that_a_person_sent_is_shown_and_not_its_base64() -> None:
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "What is it?"}, encoded(GIF)],
    }
    live, static, text = pages(replied(messages=[message]))
    for page in (live, static):
        assert len(images(page)) == 1
        assert base64.b64encode(GIF).decode() not in page.text
    assert "What is it?" in static.text
    assert "[image, image/gif, 15 B]" not in text
    assert "[image, image/png, 15 B]" in text


def test_documents_say_title_type_and_size_and_show_their_text() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}
    plain = {"type": "text", "media_type": "text/plain", "data": "The first line."}
    at = {"type": "url", "url": "https://a.example/b.pdf"}
    made = {"type": "content", "content": [{"type": "text", "text": "A part."}]}
    documents = [
        {"type": "document", "title": "Report", "source": pdf},
        {"type": "document", "title": "Notes", "context": "old", "source": plain},
        {"type": "document", "source": at},
        {"type": "document", "source": made},
    ]
    _, static, text = pages(told(documents))
    assert "document Report, application/pdf, 3 B" in static.text
    assert "Notes, text/plain, 15 B" in static.text
    assert "at https://a.example/b.pdf (not loaded)" in static.text
    assert "The first line." in static.text
    assert "A part." in static.text
    assert "[document Report, application/pdf, 3 B]" in text


def test_a_search_result_links_its_source_and_shows_its_text() -> None:
    result = {
        "type": "search_result",
        "title": "Paris",
        "source": "https://a.example/paris",
        "content": [{"type": "text", "text": "It is warm."}],
    }
    _, static, text = pages(told([result]))
    assert ("a", "https://a.example/paris") in [
        (tag, given.get("href")) for tag, given in static.elements
    ]
    assert "It is warm." in static.text
    assert "[search_result Paris, from https://a.example/paris, 11 B]" in text


def test_a_cited_sentence_reads_as_one_with_its_numbers_and_sources() -> None:
    first = {
        "type": "char_location",
        "cited_text": "20 degrees at noon",
        "document_title": "Weather",
        "start_char_index": 0,
        "end_char_index": 18,
    }
    second = {
        "type": "web_search_result_location",
        "cited_text": "light wind",
        "title": "Wind",
        "url": "https://wind.example/",
    }
    transcript = replied(
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "**20 degrees**", "citations": [first]},
        {"type": "text", "text": " and "},
        {"type": "text", "text": "calm", "citations": [second, first]},
        {"type": "text", "text": "."},
    )
    live, static, text = pages(transcript)
    assert transcript.text == "It is **20 degrees** and calm."
    for page in (live, static):
        assert "It is 20 degrees[1] and calm[2][1]." in page.text
        assert "2 citations" in page.text
        assert "[1] Weather characters 1 to 18“20 degrees at noon”" in page.text
    links = [given.get("href") for tag, given in static.elements if tag == "a"]
    assert links == ["https://wind.example/"]
    assert "calm [cites Wind; Weather]" in text


def test_a_web_search_is_one_call_with_its_pages() -> None:
    page = {
        "type": "web_search_result",
        "title": "Paris today",
        "url": "https://a.example/paris",
        "page_age": "2 hours",
        "encrypted_content": "x" * 9_000,
    }
    live, static, text = pages(
        replied(*answered(SEARCH, "web_search_tool_result", [page]))
    )
    for shown in (live, static):
        assert "ok web_search runs at the API weather in Paris" in shown.text
        assert "Paris today 2 hours" in shown.text
        assert "xxxx" not in shown.text
        assert shown.text.count("web_search") == 1
    assert "-> web_search (runs at the API) weather in Paris" in text
    assert "<- Paris today https://a.example/paris" in text


def test_a_failed_search_says_why() -> None:
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    _, static, text = pages(replied(*answered(SEARCH, "web_search_tool_result", error)))
    assert "error web_search" in static.text
    assert "max_uses_exceeded" in static.text
    assert "<- max_uses_exceeded" in text


def test_executed_code_shows_what_it_printed() -> None:
    use = {**SEARCH, "name": "bash_code_execution", "input": {"command": "ls"}}
    content = {
        "type": "bash_code_execution_result",
        "stdout": "a.txt",
        "stderr": "a warning",
        "return_code": 2,
        "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
    }
    blocks = answered(use, "bash_code_execution_tool_result", content)
    _, static, _ = pages(replied(*blocks))
    assert "error bash_code_execution runs at the API ls" in static.text
    for part in ("exit code 2", "stdout", "a.txt", "stderr", "a warning", "files"):
        assert part in static.text


def test_an_mcp_call_names_its_server_and_shows_its_result() -> None:
    content = [{"type": "text", "text": "Issue 7"}]
    blocks = answered(MCP, "mcp_tool_result", content, is_error=False)
    _, static, text = pages(replied(*blocks))
    assert "ok find_issue MCP server tracker crash" in static.text
    assert "Issue 7" in static.text
    assert "-> find_issue (MCP server tracker) crash" in text
    failed = answered(MCP, "mcp_tool_result", "no such text", is_error=True)
    _, static, _ = pages(replied(*failed))
    assert "error find_issue" in static.text
    assert "no such text" in static.text


def test_a_result_whose_call_is_in_an_earlier_reply_is_shown_alone() -> None:
    _, late = answered(SEARCH, "web_search_tool_result", [])
    _, static, _ = pages(replied(late))
    assert "ok web_search_tool_result" in static.text
    assert "(nothing)" in static.text
    _, static, _ = pages(replied(SEARCH))
    assert "no result here web_search" in static.text


def test_a_refusal_is_explained() -> None:
    details = {"category": "cyber", "explanation": "It could harm."}
    _, static, text = pages(
        replied(
            {"type": "text", "text": "No."}, stop_reason="refusal", stop_details=details
        )
    )
    said = "Claude declined to answer (cyber). It could harm."
    assert said in static.text
    assert said in text
    assert "Reword what was asked" in static.text
    _, static, _ = pages(replied(stop_reason="refusal"))
    assert "Claude declined to answer." in static.text


def test_structured_output_is_shown_as_json_where_it_was_asked_for() -> None:
    block = {"type": "text", "text": '{"city":"Paris","warm":true}'}
    asked = {"output_config": {"format": {"type": "json_schema", "schema": {}}}}
    _, static, text = pages(replied(block, params=asked))
    assert '{\n  "city": "Paris",\n  "warm": true\n}' in static.text
    assert block["text"] in text
    _, static, _ = pages(replied(block))
    assert "structured output" not in static.text
    _, static, _ = pages(replied({"type": "text", "text": "{oh"}, params=asked))
    assert "{oh" in static.text


def test_compaction_containers_and_fallbacks_have_words() -> None:
    _, static, text = pages(
        replied(
            {"type": "compaction", "content": "We spoke of **Paris**."},
            {"type": "compaction", "content": None, "encrypted_content": "x"},
            {"type": "container_upload", "file_id": "file_1"},
            {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        )
    )
    assert "We spoke of Paris." in static.text
    assert "Compaction, without a summary that can be read" in static.text
    assert "container a file was put into it:" in static.text
    assert "fallback a handed over to b" in static.text
    assert "(compaction) We spoke of **Paris**." in text


KINDS = (
    *("text", "thinking", "redacted_thinking", "image", "document", "search_result"),
    *("server_tool_use", "mcp_tool_use", "web_search_tool_result", "mcp_tool_result"),
    *("container_upload", "compaction", "fallback", "mcp_tool_listing", "tomorrow"),
)
ODD: tuple[Any, ...] = (None, 3, "text", [], {}, [None, 3, "x", [[]]], {"type": "x"})


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_a_block_of_any_shape_is_shown_and_is_no_error(kind: str, odd: Any) -> None:
    fields = ("text", "thinking", "data", "source", "content", "title", "input")
    names = ("name", "server_name", "from", "citations", "tool_use_id", "is_error")
    block = {"type": kind, "id": odd, **dict.fromkeys((*fields, *names), odd)}
    for blocks in ([block], [{"type": kind}], [SEARCH, {**block, "tool_use_id": "x"}]):
        pages(replied(*blocks, stop_reason="refusal", stop_details=odd))
        pages(told(blocks))
        pages(replied(messages=[{"role": "user", "content": blocks}]))
    pages(told(odd))


LARGE = {
    "password": "hunter-2-hunter",
    "cities": [{"name": f"city {n}", "note": "word " * 100} for n in range(100)],
}


def test_large_json_unfolds_and_says_what_is_in_each_level() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "look"}
    call = ToolCall(id="toolu_1", name="look", input=LARGE, status="running")
    live, static, _ = pages(replied(use, calls=(call,)))
    for page in (live, static):
        assert "cities 100 items" in page.text
        assert "0 2 keys" in page.text
        assert "… 60 more of 100 items" in page.text
        assert "hunter" not in page.text
    assert "208 more characters" in static.text
    assert len(show(replied(use, calls=(call,))).static) < 60_000


def test_a_tree_shows_a_part_of_what_is_wide_and_of_what_is_deep() -> None:
    wide: Any = "leaf"
    for _ in range(3):
        wide = {f"key {n}": wide for n in range(40)}
    deep: Any = "leaf " * 1_000
    for level in range(100):
        deep = {f"level {level}": deep}
    for value in (wide, deep):
        use = {"type": "tool_use", "id": "toolu_1", "name": "look"}
        call = ToolCall(id="toolu_1", name="look", input=value, status="running")
        shown = show(replied(use, calls=(call,)))
        assert len(shown.static) < 60_000
        assert "more of" in shown.static


def test_a_result_in_one_line_of_json_stays_to_the_letter_and_unfolds() -> None:
    text = json.dumps({"b": 1, "a": ["x" * 200]})
    _, static, _ = pages(told(text))
    assert text in static.text
    assert "the same, to unfold" in static.text
    assert "a 1 item" in static.text
    for plain in ("{ no json }" * 30, "[redacted]", json.dumps({"a": 1})):
        assert "to unfold" not in pages(told(plain))[1].text


def test_what_a_call_displayed_is_shown_in_it_and_said_not_to_be_sent() -> None:
    frame = (
        "<div><style scoped>.x{color:red}</style><table border=1 class='dataframe'>"
        "<tr><th colspan=2 style='x'>city</th><td onclick=x>20</td></tr></table></div>"
    )
    displays = (
        Display(data={"image/png": PIXEL, "text/plain": "<Figure size 640x480>"}),
        Display(data={"text/html": frame, "text/plain": "city 20"}),
        Display(data={"text/markdown": "**bold**"}),
        Display(
            data={"text/plain": "<X at 0x7fab>"}, left_out="not kept, too large: it"
        ),
        Display(data={}),
    )
    live, static, text = pages(told("so", displays=displays))
    for page in (live, static):
        assert "displayed (not sent to Claude)" in page.text
        assert [image["alt"] for image in images(page)] == ["<Figure size 640x480>"]
        assert ("th", {"colspan": "2"}) in page.elements
        assert "color:red" not in page.text
        assert "not kept, too large: it" in page.text
        assert "<X at 0x…>" in page.text
    assert "displayed: [image/png] <Figure size 640x480>" in text
    assert "displayed: city 20" in text


def test_many_large_displays_do_not_fill_the_notebook() -> None:
    figure = base64.b64encode(GIF + b"0" * 900_000).decode()
    displays = tuple(Display(data={"image/gif": figure}) for _ in range(6))
    _, static, _ = pages(told("so", displays=displays))
    assert len(images(static)) == 2
    left_out = "[image/gif]: not shown, this call displayed more than 3.0 MB"
    assert static.text.count(left_out) == 4
