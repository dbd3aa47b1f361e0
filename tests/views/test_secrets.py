from __future__ import annotations

import html

import pytest

from nbrunner.core.redact import REDACTED
from nbrunner.core.request import Request, Settings
from nbrunner.core.tool_call import ToolCall
from nbrunner.core.transcript import Iteration, Transcript
from nbrunner.views.json_tree import json_fragment
from nbrunner.views.words import SHOWN_CHARACTERS, cut, cut_inline, pretty, signature
from tests.views.places import PLACES, show, shown_with

# In pieces, so that no scanner takes this file for a leak.
KEYS = {
    "Anthropic": "sk-" + "ant-api03-" + "a1B2" * 10,
    "AWS": "AK" + "IA" + "Q7" * 8,
    "GitHub": "gh" + "p_" + "x9Y8" * 9,
    "Hugging Face": "h" + "f_" + "aBcD" * 9,
    "Google": "AI" + "za" + "Sy8-x" * 7,
    "web token": "ey" + "JhbGciOiJI" + ".ey" + "JzdWIiOiIx" + ".c2lnbmF0dXJl",
}
CUTS = (SHOWN_CHARACTERS, 160, 90)


def leaked(shown: tuple[str, ...], secret: str) -> list[str]:
    """The renderings in which the secret can be read."""
    return [part[:40] for part in shown if secret in html.unescape(part)]


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("place", PLACES)
def test_a_key_in_any_place_is_not_shown(place: str, key: str) -> None:
    shown = shown_with(place, f"see {key} there")
    assert leaked(shown, key) == []
    assert REDACTED in shown.live


@pytest.mark.parametrize("limit", CUTS)
@pytest.mark.parametrize("place", PLACES)
def test_half_a_key_at_the_edge_of_a_cut_is_not_shown(place: str, limit: int) -> None:
    key = KEYS["AWS"]
    for before in range(limit - len(key), limit, 4):
        shown = shown_with(
            place,
            "so " * (before // 3) + "z" * (before % 3) + " " + key + " and more" * 9,
        )
        assert leaked(shown, key[:6]) == []


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_key_behind_a_line_break_in_json_is_not_shown(key: str) -> None:
    for place in ("input", "argument name", "executed input", "tool definition"):
        assert leaked(shown_with(place, f"first line\n{key}"), key) == []


@pytest.mark.parametrize("name", ["password", "api_key", "client-secret"])
def test_an_argument_whose_name_says_secret_is_not_shown(name: str) -> None:
    call = ToolCall(id="toolu_1", name="login", input={name: "hunter-2-hunter"})
    request = Request(settings=Settings(model="m", max_tokens=1), messages=())
    use = {"type": "tool_use", "id": "toolu_1"}
    iteration = Iteration(
        index=0,
        request=request,
        reply={"content": [use]},
        blocks=(use,),
        tool_calls=(call,),
    )
    transcript = Transcript(settings=request.settings, iterations=(iteration,))
    assert leaked(show(transcript), "hunter") == []
    assert signature(call) == f'login({name}="{REDACTED}")'


def test_redacting_comes_before_cutting() -> None:
    key = KEYS["Google"]
    text = "x " * 5 + key
    for limit in range(8, len(text)):
        assert "AI" + "za" not in cut(text, limit)[0]


def test_a_long_text_of_nothing_but_keys_shows_no_half_of_one() -> None:
    for key in KEYS.values():
        for length in range(99_000, 99_000 + len(key) + 1, 7):
            shown = cut((f"{key} " * 9_000)[:length])[0]
            assert len(shown) == SHOWN_CHARACTERS
            assert key[:6] not in shown


def test_a_key_in_a_large_json_is_not_shown() -> None:
    fill = ["word " * 99] * 30
    for key in KEYS.values():
        call = {"log": f"ok\n{key}", key: {f"\n{key}": [key, *fill]}}
        tree = json_fragment({"in": call, "client_secret": "hunter-2-hunter"})
        assert "nbr-tree" in tree
        assert leaked((tree,), key) == leaked((tree,), "hunter") == []


def test_a_cut_says_how_much_it_left_out() -> None:
    assert cut("short") == ("short", None)
    assert cut("y" * 1_500, 500) == ("y" * 500, "1,000 more characters, 1.5 kB in all")
    assert cut_inline("short") == "short"
    long = cut_inline("y" * (SHOWN_CHARACTERS + 1_000_000))
    assert long.endswith("y … (1,000,000 more characters, 1.0 MB in all)")


def test_json_is_redacted_before_it_is_escaped() -> None:
    assert pretty({"log": "ok\n" + KEYS["AWS"]}) == '{\n  "log": "ok\\n[redacted]"\n}'
