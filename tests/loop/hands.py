"""Hands made up by hypothesis: what a person does, and in which moment."""

from __future__ import annotations

from hypothesis import strategies as st

places = st.sampled_from(
    ["system", "tools", "request", "results", "messages[0].content[0]", "newest call"]
)
edits = st.one_of(
    st.tuples(st.just("toggle"), places),
    st.tuples(st.just("system"), st.sampled_from([None, "Be kind.", ""])),
    st.tuples(st.just("max_tokens"), st.integers(50, 99)),
    st.tuples(st.just("messages"), st.just("Rewritten.")),
    st.tuples(st.just("result"), st.sampled_from(["edited", ""])),
    st.tuples(st.just("add"), st.sampled_from(["spare", "work"])),
    st.tuples(st.just("remove"), st.sampled_from(["spare", "work", "nobody"])),
    st.tuples(st.just("tick"), st.sampled_from(["work", "fail"])),
    st.tuples(st.sampled_from(["compact", "do not compact"]), st.none()),
)
EDITS = (
    "toggle",
    "system",
    "max_tokens",
    "messages",
    "result",
    "add",
    "remove",
    "tick",
    "compact",
    "do not compact",
)
hands = st.one_of(
    edits,
    st.tuples(st.just("inject"), st.sampled_from(["Be brief.", "And 4?"])),
    st.tuples(st.just("withdraw"), st.booleans()),
    st.tuples(
        st.sampled_from(["pause", "resume", "step", "retry", "stop", "leave", "close"]),
        st.none(),
    ),
    st.tuples(st.just("retry"), st.just("0.1")),
    st.tuples(
        st.sampled_from(["approve", "approve_rest", "modify", "reject", "answer"]),
        st.integers(0, 3),
    ),
)
EVENTS = (
    "run_started",
    "iteration_started",
    "block_started",
    "block_grew",
    "reply_finished",
    "call_proposed",
    "call_asked",
    "call_decided",
    "call_started",
    "call_finished",
    "results_finished",
    "request_failed",
    "halted",
    "resumed",
    "run_held",
    "edit_applied",
)
moments = st.lists(st.tuples(st.sampled_from(EVENTS), hands), max_size=4)
bodies = st.lists(
    st.sampled_from(
        [
            "results",
            "results",
            "a note",
            "nothing",
            "the reply and its results",
            "results made by hand",
            "the first result by hand",
            "another reply",
        ]
    ),
    max_size=3,
)
"""What the body of the user's own loop does with the reply in hand."""
