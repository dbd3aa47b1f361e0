from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbrunner.core.apply import apply
from nbrunner.core.blocks import content_of, text_of, well_formed
from nbrunner.core.caching import Mark
from nbrunner.core.edits import ToggleCache
from nbrunner.core.note import Note
from nbrunner.core.request import (
    Request,
    Settings,
    result_of,
    with_notes,
    with_open_calls_closed,
)
from nbrunner.errors import EditRefused
from tests.core.values import (
    HELLO,
    MARK,
    SETTINGS,
    frozen,
    is_json,
    json_values,
    marked_messages,
    result,
    text,
    use,
)
from tests.loop.api_rules import marks

RESULTS = {"role": "user", "content": [result("a"), result("b")]}
ASKED = {"role": "assistant", "content": [use("a"), use("b")]}


def request(*messages: Any, settings: Settings = SETTINGS, **more: Any) -> Request:
    return Request(settings=settings, messages=messages, **more)


def test_what_is_not_set_is_no_field_of_the_body() -> None:
    assert request(HELLO).body() == {
        "model": "claude-opus-5",
        "max_tokens": 100,
        "messages": [HELLO],
    }


def test_settings_and_other_parameters_are_fields_of_the_body() -> None:
    settings = Settings(
        model="m",
        max_tokens=1,
        system="Be brief.",
        tools=({"name": "a"},),
        params={"metadata": {"user_id": "u"}},
    )
    body = request(HELLO, settings=settings).body()
    assert body["system"] == "Be brief."
    assert body["tools"] == [{"name": "a"}]
    assert body["metadata"] == {"user_id": "u"}


@pytest.mark.parametrize(
    ("chosen", "sent"),
    [
        (None, "c1"),
        ("c0", "c0"),
        ({"id": "c0"}, {"id": "c0"}),
        ({"skills": []}, {"skills": [], "id": "c1"}),
    ],
)
def test_the_container_of_a_reply_is_carried_on_unless_one_was_chosen(
    chosen: Any, sent: Any
) -> None:
    params = {} if chosen is None else {"container": chosen}
    settings = Settings(model="m", max_tokens=1, params=params)
    body = request(HELLO, settings=settings, container="c1").body()
    assert body["container"] == sent


@given(marked_messages(), st.lists(st.sampled_from(["t", "u"]), max_size=2))
def test_a_body_leaves_the_conversation_as_it_is(
    messages: list[Any], marked: list[str]
) -> None:
    before = frozen(messages)
    fitted = request(*messages, marks=tuple(map(Mark, marked))).fitted()
    body, dropped = fitted.body, fitted.dropped
    assert len(marks(body["messages"])) <= 4
    assert is_json(body)
    body["messages"].append("x")
    assert frozen(messages) == before
    assert all(path.startswith("messages[") for path in dropped)


def test_empty_texts_and_what_is_left_empty_by_them_are_not_sent() -> None:
    hollow = {"role": "assistant", "content": [text("")]}
    half = {"role": "assistant", "content": [text(""), text("so")]}
    empty: dict[str, Any] = {"role": "assistant", "content": []}
    body = request(HELLO, hollow, HELLO, half, HELLO, empty).body()
    assert body["messages"] == [
        HELLO,
        HELLO,
        {"role": "assistant", "content": [text("so")]},
        HELLO,
    ]


def test_what_needs_no_change_is_shared() -> None:
    assert request(HELLO, ASKED, RESULTS).body()["messages"][1] is ASKED


def test_a_mark_stands_on_the_result_of_its_call() -> None:
    body = request(HELLO, ASKED, RESULTS, marks=(Mark("b"),)).body()
    assert body["messages"][2]["content"] == [
        result("a"),
        result("b", cache_control=MARK),
    ]


def test_a_request_in_json_holds_its_place_and_not_the_conversation() -> None:
    dumped = request(HELLO, ASKED, RESULTS, marks=(Mark("b"),)).model_dump(mode="json")
    assert dumped["position"] == 3
    assert "messages" not in dumped


def notes(*texts: str) -> list[Note]:
    return [Note(id=f"note_{n}", text=text) for n, text in enumerate(texts)]


def test_notes_join_the_results_behind_them() -> None:
    messages = with_notes((HELLO, ASKED, RESULTS), notes("one", "two"))
    assert messages[-1]["content"] == [*RESULTS["content"], text("one"), text("two")]
    assert RESULTS["content"] == [result("a"), result("b")]


@pytest.mark.parametrize("last", [HELLO, {"role": "assistant", "content": [text()]}])
def test_notes_after_anything_else_are_a_message_of_their_own(last: Any) -> None:
    assert with_notes((last,), notes("one")) == (
        last,
        {"role": "user", "content": [text("one")]},
    )


def test_without_notes_nothing_changes() -> None:
    messages = (HELLO,)
    assert with_notes(messages, []) is messages
    assert with_notes((), notes("one")) == ({"role": "user", "content": [text("one")]},)


def test_open_calls_are_closed_with_the_reason() -> None:
    closed = with_open_calls_closed((HELLO, ASKED), "cut off", {})
    assert closed[-1] == {
        "role": "user",
        "content": [
            result("a", "cut off", is_error=True),
            result("b", "cut off", is_error=True),
        ],
    }


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (HELLO,),
        (HELLO, ASKED, RESULTS),
        (HELLO, {"role": "assistant", "content": "so"}),
    ],
)
def test_where_no_call_is_open_nothing_is_closed(messages: Any) -> None:
    assert with_open_calls_closed(messages, "cut off", {}) is messages


def test_a_result_names_the_toolset_of_its_call() -> None:
    answer = result_of(use("a", toolset_name="browser"), "x", is_error=False)
    assert answer == result("a", "x", toolset_name="browser")


# -- edits ---------------------------------------------------------------------


def test_a_toggle_sets_the_mark_and_takes_it_off_again() -> None:
    before = request(HELLO, ASKED, RESULTS)
    marked = apply(before, ToggleCache("a"))
    assert marked.marks == (Mark("a"),)
    assert apply(marked, ToggleCache("a")).marks == ()
    assert before.marks == ()


def test_a_result_that_is_not_there_cannot_be_marked() -> None:
    with pytest.raises(EditRefused, match="c has no result in the conversation"):
        apply(request(HELLO, ASKED, RESULTS), ToggleCache("c"))


@given(elsewhere=st.integers(0, 5), by_code=st.booleans())
def test_a_click_never_pushes_another_mark_out(
    *, elsewhere: int, by_code: bool
) -> None:
    system = [text(cache_control=MARK) for _ in range(elsewhere)]
    settings = Settings(model="m", max_tokens=1, system=system)
    before = request(HELLO, ASKED, RESULTS, settings=settings)
    by = "code" if by_code else "person"
    if elsewhere >= 4 and not by_code:
        with pytest.raises(
            EditRefused, match="cache marks that the API allows are set"
        ):
            apply(before, ToggleCache("a"), by=by)
    else:
        assert apply(before, ToggleCache("a"), by=by).marks == (Mark("a"),)


def test_an_edit_says_what_it_is_in_json() -> None:
    edit = ToggleCache("a")
    assert ToggleCache.model_validate_json(edit.model_dump_json()) == edit
    assert ToggleCache.model_validate({"kind": "toggle_cache", "place": "a"}) == edit


broken_texts = st.text(alphabet=st.characters())


# -- blocks --------------------------------------------------------------------


def test_a_text_is_one_block() -> None:
    assert content_of(HELLO) == [text("Hello")]
    assert content_of(RESULTS) == RESULTS["content"]
    assert content_of(RESULTS) is not RESULTS["content"]


def test_what_blocks_say_is_their_texts() -> None:
    assert text_of([text("one"), use("a"), text(""), text("two")]) == "one\n\ntwo"


@given(
    st.recursive(
        st.none() | st.integers() | broken_texts,
        lambda inner: st.lists(inner) | st.dictionaries(broken_texts, inner),
        max_leaves=8,
    )
)
def test_what_is_well_formed_can_be_sent_and_is_otherwise_the_same(value: Any) -> None:
    mended = well_formed(value)
    assert is_json(mended)
    assert well_formed(mended) == mended


@given(json_values)
def test_what_has_no_half_character_stays_as_it_is(value: Any) -> None:
    assert well_formed(value) == value


def test_half_a_character_becomes_the_sign_for_one() -> None:
    assert well_formed({"\ud83d": ("\udfff!", 1)}) == {"\ufffd": ["\ufffd!", 1]}


# -- cache marks everywhere ----------------------------------------------------

LONG = {"type": "ephemeral", "ttl": "1h"}
EVERYTHING = Settings(
    model="m", max_tokens=1, system="Be brief.", tools=({"name": "a"}, {"name": "b"})
)
THOUGHT = {
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "Hm."}, text(""), text("so")],
}


def toggled(before: Request, *edits: ToggleCache, by: str = "person") -> Request:
    for edit in edits:
        before = apply(before, edit, by=by)
    return before


def test_system_tools_the_top_level_and_any_block_take_a_mark() -> None:
    before = request(HELLO, ASKED, RESULTS, settings=EVERYTHING)
    places = ("tools", "system", "messages[0].content[0]", "request")
    fitted = toggled(before, *map(ToggleCache, places)).fitted()
    assert fitted.body["tools"] == [{"name": "a"}, {"name": "b", "cache_control": MARK}]
    assert fitted.body["system"] == [text("Be brief.", cache_control=MARK)]
    assert fitted.body["cache_control"] == MARK
    assert fitted.body["messages"][0]["content"] == [text("Hello", cache_control=MARK)]
    assert [placed.path for placed in fitted.marks] == [
        "tools[1]",
        "system[0]",
        "messages[0].content[0]",
        "cache_control",
    ]
    assert before.body()["system"] == "Be brief."


def test_a_mark_can_last_an_hour_and_be_changed_and_taken_off() -> None:
    before = request(HELLO, ASKED, RESULTS)
    marked = toggled(before, ToggleCache("a"), ToggleCache("a", "1h"))
    assert marked.marks == (Mark("a", "1h"),)
    assert marked.body()["messages"][2]["content"][0]["cache_control"] == LONG
    assert toggled(marked, ToggleCache("a", ttl="1h")).marks == ()


@pytest.mark.parametrize("by", ["person", "code"])
def test_an_hour_behind_five_minutes_is_refused(by: str) -> None:
    before = request(HELLO, ASKED, RESULTS, settings=EVERYTHING)
    with pytest.raises(EditRefused, match=r"1-hour cache mark at messages\[2\]"):
        toggled(before, ToggleCache("system"), ToggleCache("a", "1h"), by=by)
    with pytest.raises(EditRefused, match=r"1-hour cache mark at messages\[2\]"):
        toggled(before, ToggleCache("a", "1h"), ToggleCache("system"), by=by)
    toggled(before, ToggleCache("system", "1h"), ToggleCache("a"), by=by)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("messages[1].content[0]", "is a thinking block"),
        ("messages[1].content[1]", "is an empty text"),
        ("messages[1].content[3]", "the conversation has no such block"),
        ("messages[9].content[0]", "the conversation has no such block"),
        ("messages[-1].content[0]", "the conversation has no such block"),
        ("system", "there is no system prompt"),
        ("tools", "the request has no tools"),
    ],
)
def test_a_place_that_takes_no_mark_is_refused_with_the_reason(
    place: str, why: str
) -> None:
    with pytest.raises(EditRefused, match=why):
        apply(request(HELLO, THOUGHT), ToggleCache(place))


def test_a_block_is_named_by_its_place_in_the_history_and_not_in_what_is_sent() -> None:
    hollow = {"role": "assistant", "content": [text("")]}
    before = request(HELLO, hollow, HELLO, THOUGHT)
    body = apply(before, ToggleCache("messages[3].content[2]")).body()
    assert body["messages"][2]["content"][1] == text("so", cache_control=MARK)


def test_a_fifth_click_is_refused_wherever_it_is() -> None:
    before = request(HELLO, ASKED, RESULTS, settings=EVERYTHING)
    four = toggled(before, *map(ToggleCache, ("tools", "system", "a", "b")))
    with pytest.raises(EditRefused, match="All 4 cache marks"):
        apply(four, ToggleCache("request"))
    pushed = apply(four, ToggleCache("request"), by="code").fitted()
    assert pushed.dropped == ["messages[2].content[0]"]


def test_the_newest_results_are_marked_as_far_as_there_is_room() -> None:
    rounds = [
        message
        for name in "abcdef"
        for message in (
            {"role": "assistant", "content": [use(name)]},
            {"role": "user", "content": [result(name)]},
        )
    ]
    before = request(HELLO, *rounds, settings=EVERYTHING)
    marked = toggled(before, ToggleCache("system"), ToggleCache("results"))
    assert [placed.path for placed in marked.fitted().marks] == [
        "system[0]",
        *(f"messages[{index}].content[0]" for index in (8, 10, 12)),
    ]
    assert marked.fitted().dropped == []
    clicked = apply(marked, ToggleCache("a"))
    assert len(clicked.fitted().marks) == 4
