from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.replay import use
from nbrunner.views.page import panel_content
from nbrunner.views.relatives import relatives_of
from tests.views.page_parser import Page, parsed
from tests.views.runs import PARIS, finished, run_of

if TYPE_CHECKING:
    from nbrunner import Run

CALL = [use("get_weather", PARIS)]
REPLIES = (CALL, "It is 20.", "It is 68 °F.", "Bring a coat.")
PARTED = ("what Claude said last", "- It is 20.", "+ It is 68 °F.")


def forked(*, count: int = 1) -> Run:
    run = finished(CALL, "It is 20.", *["It is 68 °F."] * count)
    for _ in range(count):
        run.fork(at=1).wait(20)
    return run


def live(run: Run, *compared: str) -> Page:
    beside = relatives_of(run, frozenset(compared))
    return parsed(panel_content(run.transcript, name=run.name, relatives=beside))


def test_a_page_and_its_text_say_what_a_run_was_forked_from_and_what_differs() -> None:
    (fork,) = forked().branches
    for said in (parsed(fork.to_html()).text, fork.to_text()):
        for words in ("fork of run, from iteration 2 on", "differs from run", *PARTED):
            assert words in said


def test_a_page_and_its_text_say_what_was_forked_from_a_run_and_what_differs() -> None:
    run = forked()
    for said in (parsed(run.to_html()).text, run.to_text()):
        for words in ("run.branches[0]", "from iteration 2 on", "done", *PARTED):
            assert words in said
    assert "run.branches[0].show()" in parsed(run.to_html()).text
    assert "run.diff(run.branches[0])" in parsed(run.to_html()).text


def test_a_run_of_its_own_says_nothing_of_branches() -> None:
    run = finished(*REPLIES)
    for said in (run.to_html().split("</style>")[1], run.to_text()):
        assert "fork" not in said
        assert "branch" not in said
        assert "differs" not in said


def test_a_page_has_no_buttons_for_its_branches() -> None:
    run = forked()
    for page in (parsed(run.to_html()), parsed(run.branches[0].to_html())):
        assert "button" not in {tag for tag, _ in page.elements}


def test_of_very_many_branches_all_are_named_and_the_newest_compared() -> None:
    run = forked(count=12)
    page = parsed(run.to_html()).text
    assert page.count("from iteration 2 on") == 12
    assert page.count("what differs") == 10
    assert "run.diff(run.branches[1])" not in page
    assert "run.diff(run.branches[2])" in page
    assert run.to_text().count("what Claude said last") == 10


def test_a_button_stands_on_each_iteration_with_its_line_of_python() -> None:
    page = live(finished(*REPLIES))
    forks = [g for _, g in page.elements if g.get("data-intent") == "fork"]
    assert [(g["data-at"], g["title"]) for g in forks] == [
        ("0", "in Python: run.fork(at=0)"),
        ("1", "in Python: run.fork(at=1)"),
    ]


def test_what_can_be_done_about_a_branch_says_its_line_of_python() -> None:
    run = forked()
    for it, other, diff in (
        (run, "run.branches[0]", "run.diff(run.branches[0])"),
        (run.branches[0], "run", "run.diff(run.branches[0])"),
    ):
        given = [g for _, g in live(it).elements if g.get("data-branch")]
        lines = [g["title"] for g in given]
        assert lines == [f"in Python: {other}.show()", f"in Python: {diff}"]


def test_a_live_view_compares_what_someone_asked_to_see_compared() -> None:
    run = forked()
    (fork,) = run.branches
    for page, parted in (
        (live(run), False),
        (live(fork), False),
        (live(run, "0"), True),
        (live(fork, "parent"), True),
    ):
        assert all((words in page.text) is parted for words in PARTED)
        buttons = [g for _, g in page.elements if g.get("data-intent") == "compare"]
        assert [g["aria-pressed"] for g in buttons] == [str(parted).lower()]


def test_a_branch_names_what_else_was_forked_and_compares_itself_with_it() -> None:
    run = finished(CALL, "It is 20.", "It is 68 °F.", "It is cold.")
    one, two = run.fork(at=1), run.fork(at=1, name="cold")
    one.wait(20)
    two.wait(20)
    page = live(one, "sibling.1")
    assert "other branches of run" in page.text
    assert "cold from iteration 2 on done 2 iterations Open Compare" in page.text
    assert "- It is 68 °F." in page.text
    assert "+ It is cold." in page.text
    titles = [
        given["title"].removeprefix("in Python: ")
        for _, given in page.elements
        if given.get("data-branch") == "sibling.1"
    ]
    line = "run.branches[0].diff(run.branches[1])"
    assert titles == ["run.branches[1].show()", line]
    assert "+ It is 68 °F." in live(two, "sibling.0").text


def test_a_page_that_cannot_be_asked_leaves_the_other_forks_to_their_parent() -> None:
    run = forked(count=2)
    page = parsed(run.branches[0].to_html())
    assert "run.branches[1]" not in page.text


def test_a_name_with_markup_in_it_stays_text() -> None:
    run = finished(*REPLIES)
    fork = run.fork(at=1, name="<img src=x>")
    assert "<img" not in run.to_html()
    assert "<img" not in fork.to_html()
    assert "<img src=x> from iteration 2 on" in parsed(run.to_html()).text


def test_a_fork_that_was_never_started_says_so() -> None:
    run = run_of(*REPLIES)
    fork = run.fork()
    assert "fork of run, from iteration 1 on" in fork.to_text()
    assert "Both ask the same" in parsed(run.to_html()).text
