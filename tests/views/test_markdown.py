from __future__ import annotations

import pytest

from nbrunner.views.html import Html, h, join, spaced
from nbrunner.views.markdown import markdown
from tests.views.page_parser import parsed


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "It is **20** *degrees*.",
            "<p>It is <strong>20</strong> <em>degrees</em>.</p>",
        ),
        ("`a < b`", "<p><code>a &lt; b</code></p>"),
        ("```py\nx = 1\n```", "<pre><code>x = 1\n</code></pre>"),
        ("- one\n- two", "<ul>\n<li>one</li>\n<li>two</li>\n</ul>"),
        ("3. three", '<ol start="3">\n<li>three</li>\n</ol>'),
        ("~~no~~", "<p><s>no</s></p>"),
        ("", ""),
    ],
)
def test_markdown_is_rendered(text: str, html: str) -> None:
    assert markdown(text).strip() == html


def test_a_table_is_rendered() -> None:
    tags = [tag for tag, _ in parsed(markdown("| a |\n|---|\n| 1 |")).elements]
    assert tags == ["table", "thead", "tr", "th", "tbody", "tr", "td"]


def test_a_link_opens_elsewhere_and_tells_nothing() -> None:
    page = parsed(markdown("[here](https://example.org/a?b=1&c=2)"))
    assert page.elements[1:] == [
        (
            "a",
            {
                "href": "https://example.org/a?b=1&c=2",
                "target": "_blank",
                "rel": "noopener noreferrer nofollow",
            },
        )
    ]


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:x",
        "data:text/html,x",
        "file:///etc",
        "about:x",
    ],
)
@pytest.mark.parametrize(
    "written", ["[here]({})", "![here]({})", "<{}>", "[r]\n\n[r]: {}"]
)
def test_a_link_of_another_scheme_leads_nowhere(written: str, target: str) -> None:
    page = parsed(markdown(written.format(target)))
    assert [given["href"] for _, given in page.elements if "href" in given] == []


def test_an_image_is_a_link_so_that_its_server_is_not_asked() -> None:
    page = parsed(markdown('![a "map"](https://tracker.example/i.png)'))
    (_, link) = page.elements
    assert link[0] == "a"
    assert link[1]["href"] == "https://tracker.example/i.png"
    assert page.text.strip() == 'image: a "map"'
    assert "image: untitled" in markdown("![](https://tracker.example/i.png)")


def test_html_in_markdown_is_text() -> None:
    assert markdown("<b>bold</b>").strip() == "<p>&lt;b&gt;bold&lt;/b&gt;</p>"


def test_only_html_made_here_goes_in_as_it_is() -> None:
    assert h("p", "<b>", h("i", "x"), None, ["&", [Html("<hr>")]]) == (
        "<p>&lt;b&gt;<i>x</i>&amp;<hr></p>"
    )
    assert h("p", h("i", "x") + "<b>") == "<p>&lt;i&gt;x&lt;/i&gt;&lt;b&gt;</p>"
    assert isinstance(join([h("i"), "<"]), Html)


def test_attributes_are_escaped_and_those_that_are_off_left_out() -> None:
    made = h(
        "p", class_="a", data_key='"><script>', open=True, hidden=False, title=None
    )
    assert made == '<p class="a" data-key="&quot;&gt;&lt;script&gt;" open></p>'


def test_spaced_children_read_apart() -> None:
    assert spaced(h("b", "one"), None, "", ["two", [h("i", "<")]]) == (
        "<b>one</b> two <i>&lt;</i>"
    )
