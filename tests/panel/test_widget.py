from __future__ import annotations

import threading
from typing import Any

import pytest

from nbrunner.core.tool_changes import NEEDED_BETA
from nbrunner.panel.feed import Feed
from nbrunner.replay import use
from tests.panel.mini_dom import tree
from tests.panel.recording_comm import PATIENCE_S
from tests.panel.threads import join, refreshing
from tests.views.runs import finished, run_of

WIDGET = "application/vnd.jupyter.widget-view+json"


Show = Any


def test_a_hello_is_answered_with_a_snapshot(shown: Show) -> None:
    panel = shown(finished("It is 20 degrees."))
    assert panel.comm.sent == []
    panel.comm.hear({"op": "hello"})
    assert [message["op"] for message in panel.comm.answers()] == ["snapshot"]
    assert "It is 20 degrees." in panel.comm.view.root.text


def test_hellos_that_come_while_the_answer_is_made_have_it_for_theirs(
    shown: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, others = threading.Event(), threading.Event()
    make = Feed.snapshot

    def slow(feed: Feed, *, answers: bool = False) -> None:
        asked.set()
        assert others.wait(PATIENCE_S)
        make(feed, answers=answers)

    monkeypatch.setattr(Feed, "snapshot", slow)
    comm = shown(finished("It is 20 degrees.")).comm
    hello = {"content": {"data": {"method": "custom", "content": {"op": "hello"}}}}
    comm.handle_msg({**hello, "buffers": []})
    assert asked.wait(PATIENCE_S)
    comm.handle_msg({**hello, "buffers": []})
    others.set()
    assert comm.has_answered()
    with comm.arrived:
        assert not comm.arrived.wait_for(lambda: len(comm.answers()) > 1, 0.5)
    comm.hear({"op": "hello"})
    assert len(comm.answers()) == 2


def test_a_running_run_is_followed_to_its_end(shown: Show, held: Any) -> None:
    run, door = held
    panel = shown(run)
    panel.comm.hear({"op": "hello"})
    door.opened.set()
    run.wait()
    assert panel.comm.shows("run done")
    panel.comm.hear({"op": "hello"})
    patched, snapshot = panel.comm.view.root, tree(panel.comm.sent[-1]["html"])
    assert patched == snapshot


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ({"intent": "pause"}, "pause"),
        ({"intent": "step"}, "step"),
        ({"intent": "stop"}, "stop"),
        ({"intent": "toggle_cache", "place": "toolu_01"}, "submit"),
    ],
)
def test_a_click_is_put_in_the_inbox_and_nothing_else_is_done(
    shown: Show, held: Any, message: Any, kind: str
) -> None:
    run, _ = held
    before = run.transcript
    shown(run).comm.hear(message)
    assert [command.kind for command in run.transcript.asked] == [kind]
    unchanged = {"asked": (), "refused": None}
    assert run.transcript.model_copy(update=unchanged) == before


def test_a_message_waits_for_the_next_request_and_goes_out(
    shown: Show, held: Any
) -> None:
    run, door = held
    panel = shown(run)
    panel.comm.hear({"op": "hello"})
    panel.comm.hear({"intent": "send", "text": "Be brief."})
    assert [note.text for note in run.transcript.waiting] == ["Be brief."]
    assert panel.comm.shows("goes out with the next request Be brief. Withdraw")
    door.opened.set()
    run.wait()
    assert run.transcript.iterations[1].injected == ("Be brief.",)


def test_a_tool_is_taken_by_a_click_and_given_back_by_another(
    shown: Show, held: Any
) -> None:
    run, door = held
    comm = shown(run).comm
    for verb in ("remove", "add", "remove"):
        comm.hear({"intent": f"{verb}_tool", "tool": "wait"})
    door.opened.set()
    run.wait()
    told = run.transcript.iterations[1].request.messages[-1]
    kinds = [block["type"] for block in told["content"]]
    assert kinds == ["tool_removal", "tool_addition", "tool_removal"]
    assert run.transcript.settings.params["betas"] == [NEEDED_BETA]
    assert len(run.transcript.settings.tools) == 1


def test_an_edit_that_waits_is_shown_and_is_taken_back_by_a_click(
    shown: Show, held: Any
) -> None:
    run, door = held
    comm = shown(run).comm
    comm.hear({"op": "hello"})
    comm.hear({"intent": "change_request", "fields": {"max_tokens": "99"}})
    assert comm.shows("waits for the next safe point max_tokens: 99 Withdraw")
    (waiting,) = run.transcript.submitted
    comm.hear({"intent": "change_request", "fields": {"max_tokens": "99"}})
    assert comm.sent[-1]["reason"].startswith("Nothing is changed")
    comm.hear({"intent": "withdraw_edit", "edit": waiting.edit_id})
    assert not run.transcript.asked
    door.opened.set()
    run.wait()
    assert {i.request.settings.max_tokens for i in run.transcript.iterations} != {99}


def test_a_choice_of_a_tool_that_is_not_there_is_refused_with_near_ones(
    shown: Show,
) -> None:
    run = run_of()
    comm = shown(run).comm
    fields = {"tool_choice": "tool get_wether"}
    comm.hear({"intent": "change_request", "fields": fields})
    assert "Did you mean get_weather" in comm.sent[-1]["reason"]
    assert run.transcript.asked == ()


def test_a_message_is_withdrawn(shown: Show, held: Any) -> None:
    run, _ = held
    note = run.inject("Be brief.")
    shown(run).comm.hear({"intent": "withdraw", "note": note.id})
    assert run.transcript.waiting == ()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"intent": "send", "text": ""}, "The panel sent something it should not"),
        ({"intent": "withdraw", "note": "note_0"}, "That message has gone out already"),
        ({"intent": "pause"}, "The run is finished: it cannot pause."),
        ({"intent": "send", "text": "Hi"}, "The run has ended."),
    ],
)
def test_a_refusal_is_told_to_the_view(shown: Show, message: Any, said: str) -> None:
    run = finished("Hi.")
    before = run.transcript
    panel = shown(run)
    panel.comm.hear(message)
    assert panel.comm.sent[-1]["op"] == "refused"
    assert panel.comm.sent[-1]["reason"].startswith(said)
    assert run.transcript == before


def test_a_long_text_is_sent_to_who_asks_for_it_and_to_nobody_else(shown: Show) -> None:
    run = finished(use("look", what="a megabyte"), "Much.")
    panel = shown(run)
    panel.comm.hear({"op": "hello"})
    assert len(panel.comm.sent[-1]["html"]) < 60_000
    part = "it0.call.toolu_01.result"
    panel.comm.hear({"intent": "more", "part": part})
    (change,) = panel.comm.sent[-1]["changes"]
    assert "20 degrees, " * 90_000 in change["html"]
    assert len(shown(run).comm.sent) == 0
    panel.comm.hear({"intent": "more", "part": "it7.call.toolu_01.result"})
    assert panel.comm.sent[-1]["reason"] == "That is no longer part of the run."


def test_a_stale_retry_sends_nothing_and_is_refused_in_the_bar(shown: Show) -> None:
    run = finished("Hi.")
    panel = shown(run)
    panel.comm.hear({"op": "hello"})
    panel.comm.hear({"intent": "retry", "attempt": "0.0"})
    assert panel.comm.shows("The run has moved on")
    assert len(run.transcript.iterations) == 1
    assert run.transcript.status == "finished"


def test_clicks_may_come_from_any_thread(shown: Show, held: Any) -> None:
    run, _ = held
    panel = shown(run)
    message = {"intent": "send", "text": "Hello."}
    threads = [
        threading.Thread(target=panel.comm.hear, args=(message,)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len({note.id for note in run.transcript.waiting}) == 8


def test_a_snapshot_is_pushed_only_until_a_view_has_said_hello(shown: Show) -> None:
    panel = shown(finished("Hi."))
    panel.push()
    assert len(panel.comm.sent) == 1
    panel.comm.hear({"op": "hello"})
    told = len(panel.comm.sent)
    panel.push()
    assert len(panel.comm.sent) == told


def test_closing_tells_the_last_news_and_stops_following(
    shown: Show, held: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, door = held
    others = refreshing()
    panel = shown(run)
    comm, own = panel.comm, refreshing() - others
    comm.hear({"op": "hello"})
    monkeypatch.setattr("nbrunner.panel.refresh._REFRESH_S", PATIENCE_S)
    run.inject("The last news.")
    panel.close()
    panel.close()
    assert "The last news." in comm.view.root.text
    join(own)
    told = len(comm.sent)
    door.opened.set()
    run.wait()
    panel.push()
    assert len(comm.sent) == told
    assert not panel._feed._noted


def test_a_panel_that_breaks_does_not_break_its_run(
    shown: Show, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        message = "a broken listener"
        raise RuntimeError(message)

    monkeypatch.setattr(Feed, "note", broken)
    run = run_of("Hi.")
    shown(run)
    run.wait()
    assert run.stopped_by == "end_turn"
    assert "a broken listener" in caplog.text


def test_a_message_that_is_lost_does_not_end_the_refreshing(
    shown: Show, held: Any, caplog: pytest.LogCaptureFixture
) -> None:
    run, _ = held
    panel = shown(run)
    panel.comm.breaks = True
    comm = panel.comm
    run.inject("Lost.")
    with comm.arrived:
        assert comm.arrived.wait_for(lambda: not comm.breaks, PATIENCE_S)
    run.inject("Not lost.")
    with comm.arrived:
        assert comm.arrived.wait_for(lambda: comm.sent, PATIENCE_S)
    assert comm.sent[0]["seq"] == 2
    assert "the panel could not be refreshed" in caplog.text


def test_it_shows_itself_as_a_widget_and_as_text(shown: Show) -> None:
    run = finished("It is 20 degrees.")
    data, _ = shown(run)._repr_mimebundle_()
    assert data["text/plain"] == run.to_text()
    assert data[WIDGET]["model_id"]
    assert "0x" not in data["text/plain"]


def test_a_panel_brings_its_script_and_its_style(shown: Show) -> None:
    panel = shown(run_of("Hi."))
    state = panel.get_state()
    assert "export default" in state["_esm"]
    assert ".nbr" in state["_css"]
    assert not [name for name in state if "transcript" in name]


def test_showing_a_run_starts_nothing(shown: Show) -> None:
    run = run_of("Hi.")
    shown(run).comm.hear({"op": "hello"})
    assert run.transcript.status == "ready"
    assert not run.is_running
