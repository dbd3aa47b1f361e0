from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.views.page_parser import parsed, strangers
from tests.views.places import PLACES, UNSEEN, shown_with

SHARED = Path(__file__).parents[2].parent / "shared" / "xss" / "vectors.json"
PAYLOADS = (
    "<img src=x onerror=\"window.__pwn='img'\">",
    "<script>window.__pwn='script'</script>",
    "<svg onload=window.__pwn=1><a xlink:href=javascript:1>x</a></svg>",
    "<iframe srcdoc='<script>1</script>'></iframe><form action=x><input></form>",
    "</pre></div></details></section><style>*{display:none}</style>",
    "</style><script>1</script>",
    '" onmouseover="window.__pwn=1" x=\'',
    "' onfocus='window.__pwn=1' autofocus='",
    "&lt;img src=x onerror=1&gt; &#60;script&#62;1&#60;/script&#62;",
    "<!-- --><![CDATA[<img src=x onerror=1>]]><?php 1 ?><!DOCTYPE x>",
    "[click](javascript:alert(1)) [c](JaVaScRiPt&#58;alert(1)) <javascript:alert(1)>",
    "[c](data:text/html;base64,PHNjcmlwdD4=) [c](vbscript:1) [c](file:///etc/passwd)",
    '![i](javascript:alert(1)) ![i](https://tracker.example/i.png) ![i](x"onerror=1)',
    "[r]\n\n[r]: javascript:alert(1) '\"><img src=x onerror=1>'",
    "```<img src=x onerror=1>\n<script>1</script>\n```",
    "\x00<im\x00g src=x onerror=1>\x1b]0;title\x07",
    "\ud800<img src=x onerror=1>\udfff",
    "<table><tr><td colspan='2\" onclick=1' style='x:url(//t.example)'>1</table>",
    "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+",
    "https://tracker.example/i.png",
    'https://tracker.example/"onmouseover="window.__pwn=1',
    "javascript:alert(1)//https://tracker.example",
    "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+PC9zdmc+",
)
MARKDOWN_PLACES = ("model text", "thinking", "compaction", "displayed markdown")
FORMULAS = ("it costs $5, then $10", r"\(x\) and \[y\]", "$$y$$")


def vectors() -> list[str]:
    if not SHARED.exists():
        return []
    strings: list[str] = json.loads(SHARED.read_text("utf-8"))
    return strings


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("place", [*PLACES, *UNSEEN])
def test_markup_in_any_place_stays_text(place: str, payload: str) -> None:
    shown = shown_with(place, payload)
    assert strangers(parsed(shown.static)) == []
    assert strangers(parsed(shown.live)) == []


@pytest.mark.skipif(not SHARED.exists(), reason="no published vectors beside the clone")
def test_no_published_vector_gets_through_anywhere() -> None:
    got_through = {
        vector: found
        for vector in vectors()
        for page in shown_with("everywhere", vector)[:2]
        if (found := strangers(parsed(page)))
    }
    assert len(vectors()) >= 300
    assert got_through == {}


@pytest.mark.parametrize("place", PLACES)
def test_each_place_is_shown(place: str) -> None:
    shown = shown_with(place, "<the needle>")
    only_live = place == "refusal"
    assert "<the needle>" in parsed(shown.live).text
    assert ("<the needle>" in parsed(shown.static).text) is not only_live


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("place", PLACES)
def test_a_dollar_stays_a_dollar(place: str, formula: str) -> None:
    page = parsed(shown_with(place, formula).live)
    backslashes_are_eaten = place in MARKDOWN_PLACES
    seen = formula.replace("\\", "") if backslashes_are_eaten else formula
    in_json = json.dumps(formula)[1:-1]
    assert seen in page.text or in_json in page.text


def test_formulas_are_told_to_leave_the_whole_page_alone() -> None:
    shown = shown_with("everywhere", "$5 and $10")
    for html in (shown.static, shown.live):
        page = parsed(html)
        root, attributes = page.elements[0]
        classes = (attributes["class"] or "").split()
        assert root == "section"
        assert {"mathjax_ignore", "tex2jax_ignore"} <= set(classes)
        assert [tag for tag, _ in page.elements].count("section") == 1


def test_the_one_style_element_is_our_stylesheet() -> None:
    html = shown_with("everywhere", "<style>*{}</style>").static
    assert html.count("<style>") == html.count("</style>") == 1
    assert html.startswith("<style>/* One look")
    assert "<style" not in shown_with("everywhere", "<style>").live


def test_text_output_holds_nothing_a_terminal_acts_on() -> None:
    text = shown_with("everywhere", "\x1b]52;c;aGk=\x07 \x9b31m \x00\x7f\rover").text
    assert [c for c in text if not c.isprintable() and c != "\n"] == []


def test_text_output_can_be_encoded() -> None:
    shown = shown_with("everywhere", "half \ud83d of a pair")
    assert all(part.encode("utf-8") for part in shown)
