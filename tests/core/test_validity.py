from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from nbrunner.core.history import survey
from nbrunner.core.validity import check
from nbrunner.errors import InvalidHistory
from tests.core.values import HELLO, MARK, result, text, use
from tests.loop.api_rules import broken_rule


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


VALID: dict[str, list[Any]] = {
    "one question": [HELLO],
    "a call and its result": [
        HELLO,
        said("assistant", text(), use("a"), use("b")),
        said("user", result("b"), result("a"), text()),
    ],
    "results in two messages": [
        HELLO,
        said("assistant", use("a"), use("b")),
        said("user", result("a")),
        said("user", result("b"), text()),
    ],
    "a call in two messages of one reply": [
        HELLO,
        said("assistant", text()),
        said("assistant", use("a")),
        said("user", result("a")),
    ],
    "a reply to be continued": [HELLO, said("assistant", text("and"))],
    "a reply to be continued that has nothing yet": [HELLO, said("assistant")],
    "a system message between": [
        HELLO,
        said("assistant", use("a")),
        said("user", result("a")),
        said("system", {"type": "tool_addition"}),
    ],
    "a compacted history": [
        said("assistant", {"type": "compaction", "content": "They talked."}),
        HELLO,
    ],
}

INVALID: dict[str, tuple[list[Any], str]] = {
    "nothing": ([], "no message to send, at messages."),
    "nothing but the system's": (
        [said("system", text())],
        "no message to send, at messages.",
    ),
    "an assistant's message first": (
        [said("assistant", text()), HELLO],
        "the first message is the assistant's, at messages[0].",
    ),
    "an empty text": (
        [said("user", text(), text(""))],
        "an empty text block, at messages[0].content[1].",
    ),
    "an empty string": (
        [{"role": "user", "content": ""}],
        "an empty text block, at messages[0].content[0].",
    ),
    "a message without content": (
        [HELLO, said("assistant"), HELLO],
        "a message without content, at messages[1].",
    ),
    "a call without a result": (
        [HELLO, said("assistant", text(), use("a"), use("b")), said("user", text())],
        "no tool_result for a, b, at messages[1].content[1].",
    ),
    "a call without a result at the end": (
        [HELLO, said("assistant", use("a"))],
        "no tool_result for a, at messages[1].content[0].",
    ),
    "a result of one of two calls": (
        [HELLO, said("assistant", use("a"), use("b")), said("user", result("a"))],
        "no tool_result for b, at messages[1].content[1].",
    ),
    "a result too late": (
        [
            HELLO,
            said("assistant", use("a")),
            said("user", text()),
            said("assistant", text()),
            said("user", result("a")),
        ],
        "no tool_result for a, at messages[1].content[0].",
    ),
    "a result without a call": (
        [HELLO, said("assistant", text()), said("user", result("a"))],
        "a tool_result for a, which no call before has, at messages[2].content[0].",
    ),
    "a result in the first message": (
        [said("user", result("a"))],
        "a tool_result for a, which no call before has, at messages[0].content[0].",
    ),
    "a result behind a text": (
        [HELLO, said("assistant", use("a")), said("user", text(), result("a"))],
        "a tool_result behind another block, at messages[2].content[1].",
    ),
    "two results of one call": (
        [HELLO, said("assistant", use("a")), said("user", result("a"), result("a"))],
        "a second tool_result for a, at messages[2].content[1].",
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_what_the_api_takes_passes(name: str) -> None:
    body = {"messages": VALID[name]}
    check(body, 0)
    if name != "a compacted history":
        assert broken_rule(body) is None


@pytest.mark.parametrize("name", INVALID)
def test_what_the_api_refuses_is_named_with_its_place(name: str) -> None:
    messages, problem = INVALID[name]
    with pytest.raises(InvalidHistory) as caught:
        check({"messages": messages}, 4)
    told = f"The request of iteration 5 was not sent: {problem}"
    assert str(caught.value) == f"{told} Mend the conversation there."
    assert broken_rule({"messages": messages}) is not None


def test_a_fifth_mark_is_named() -> None:
    marked = [text(cache_control=MARK) for _ in range(5)]
    with pytest.raises(InvalidHistory, match="5 cache marks, the API takes 4"):
        check({"messages": [said("user", *marked)]}, 0)
    check({"messages": [said("user", *marked[1:])]}, 0)


blocks = st.sampled_from(
    [
        text(),
        text(""),
        use("a"),
        use("b"),
        result("a"),
        result("b"),
        text(cache_control=MARK),
    ]
)
messages = st.lists(
    st.builds(
        lambda role, content: said(role, *content),
        st.sampled_from(["user", "assistant"]),
        st.lists(blocks, max_size=3),
    ),
    max_size=4,
)


@given(messages)
def test_our_check_and_the_rules_as_the_tests_read_them_agree(
    made_up: list[Any],
) -> None:
    # A person's own words hold no calls, and Claude's no results.
    for message in made_up:
        stranger = "tool_use" if message["role"] == "user" else "tool_result"
        message["content"] = [b for b in message["content"] if b["type"] != stranger]
    body = {"messages": made_up}
    try:
        check(body, 0)
        refused = False
    except InvalidHistory:
        refused = True
    hollow = any(not m["content"] for m in made_up)
    assert refused == (broken_rule(body) is not None) or hollow


def test_an_hour_behind_five_minutes_is_named() -> None:
    long = text(cache_control={"type": "ephemeral", "ttl": "1h"})
    short = text(cache_control=MARK)
    check({"messages": [said("user", long, short)]}, 0)
    with pytest.raises(InvalidHistory, match=r"a five-minute one, at messages\[0\]"):
        check({"messages": [said("user", short, long)]}, 0)


@given(messages, messages)
def test_what_is_known_of_other_messages_changes_nothing(
    made_up: list[Any], others: list[Any]
) -> None:
    def outcome(known: Any) -> str:
        try:
            check({"messages": made_up}, 0, known)
        except InvalidHistory as error:
            return str(error)
        return ""

    assert outcome(survey(others)) == outcome(()) == outcome(survey(made_up))


turns = st.lists(
    st.builds(
        lambda role, content: said(role, *content),
        st.sampled_from(["user", "assistant", "system"]),
        st.lists(blocks, max_size=2),
    ),
    max_size=6,
)


IN_TWO = [said("assistant", use("a")), said("assistant", text())]


@example([*IN_TWO, said("user", result("a"))], [])
@example([IN_TWO[0], said("system", text()), IN_TWO[1], said("user", result("a"))], [])
@given(turns, turns)
def test_what_was_found_valid_before_changes_nothing_about_what_follows(
    before: list[Any], after: list[Any]
) -> None:
    def outcome(messages: list[Any], valid: Any = ()) -> str:
        known = survey(messages)
        try:
            check({"messages": messages}, 0, known, valid)
        except InvalidHistory as error:
            return str(error)
        return ""

    # A reply's calls and their results, so that more than the shortest is valid.
    pair = [said("assistant", text(), use("c")), said("user", result("c"))]
    longer = [HELLO, *pair, *before]
    assume(not outcome(longer))
    valid = survey(longer)
    for whole in ([*longer, *after], [*longer[:-1], *after], [*longer, *pair, *after]):
        assert outcome(whole, valid) == outcome(whole)
