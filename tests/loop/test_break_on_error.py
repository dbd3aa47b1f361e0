"""A run that pauses when a tool call failed, before Claude reads of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner import Run
from nbrunner.core.events import Halted, Remarked
from nbrunner.replay import use
from nbrunner.views.words import state
from tests.loop.steering import Followed, assert_the_api_takes_all
from tests.loop.toolkit import counted_tools
from tests.loop.wire import PATIENCE_S, Wire

if TYPE_CHECKING:
    from nbrunner.core.events import Event
    from nbrunner.core.transcript import Transcript

ADD = use("add", a=1, b=2)
FAIL = use("fail", how="plainly")


def breaking_run(wire: Wire, **options: Any) -> tuple[Run, Followed]:
    options = {"break_on_error": True, **options}
    run = Run(client=wire.client, tools=counted_tools([]), messages="?", **options)
    return run, Followed(run)


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([FAIL], "fail failed"),
        ([ADD, use("fail", how="in words"), ADD], "fail failed"),
        ([use("add", a="x")], "add failed"),
        ([use("ad", a=1)], "ad failed"),
        ([FAIL, use("add"), FAIL], "fail and add failed"),
    ],
)
def test_a_failed_call_pauses_the_run_before_its_result_goes_out(
    calls: list[Any], reason: str
) -> None:
    wire = Wire(calls, "I see.")
    run, followed = breaking_run(wire)
    run.start()
    followed.wait_for("halted", why="paused", reason=reason)
    assert state(run.transcript) == f"paused before request 2: {reason}"
    assert len(wire.bodies) == 1
    # Its iteration is done, and what would go out can still be changed.
    assert run.messages[-1]["content"][0]["type"] == "tool_result"
    run.resume()
    assert run.wait(PATIENCE_S).text == "I see."
    assert run.transcript.paused_for is None
    assert_the_api_takes_all(wire)


def test_a_run_whose_calls_do_well_does_not_pause() -> None:
    run, followed = breaking_run(Wire([ADD], "3"))
    assert run.wait(PATIENCE_S).text == "3"
    assert followed.of(Halted) == []


def test_without_the_option_an_error_goes_to_claude_at_once() -> None:
    run, followed = breaking_run(Wire([FAIL], "I see."), break_on_error=False)
    assert run.wait(PATIENCE_S).text == "I see."
    assert followed.of(Halted) == []


def test_each_failure_pauses_anew() -> None:
    run, followed = breaking_run(Wire([FAIL], [ADD], [FAIL], "I see."))
    run.start()
    for number in (2, 4):
        followed.wait_for("halted", why="paused")
        assert state(run.transcript).startswith(f"paused before request {number}:")
        followed.events.clear()
        run.resume()
    assert run.wait(PATIENCE_S).text == "I see."


def test_a_pause_that_someone_asks_for_has_no_reason() -> None:
    run, followed = breaking_run(Wire([ADD], "3"))
    run.pause()
    run.start()
    followed.wait_for("halted", why="paused", reason=None)
    assert state(run.transcript) == "paused before request 1"
    run.resume()
    run.wait(PATIENCE_S)


def test_a_go_on_from_before_the_failure_does_not_skip_the_pause() -> None:
    run, followed = breaking_run(Wire([FAIL], "I see."))

    def go_on(event: Event, _: Transcript) -> None:
        if event.kind == "call_finished":
            run.resume()

    run.subscribe(go_on)
    run.start()
    followed.wait_for("halted", why="paused", reason="fail failed")
    run.resume()
    assert run.wait(PATIENCE_S).text == "I see."


def test_a_step_over_the_failure_halts_after_the_next_iteration() -> None:
    run, followed = breaking_run(Wire([FAIL], [ADD], "3"))
    run.start()
    followed.wait_for("halted", why="paused", reason="fail failed")
    followed.events.clear()
    run.step()
    followed.wait_for("halted", why="paused", reason=None)
    assert len(run.transcript.iterations) == 2
    run.resume()
    assert run.wait(PATIENCE_S).text == "3"


def test_a_run_at_its_limit_still_shows_the_failure_first() -> None:
    run, followed = breaking_run(Wire([FAIL]), max_iterations=1)
    run.start()
    followed.wait_for("halted", why="paused", reason="fail failed")
    run.resume()
    assert run.wait(PATIENCE_S).stopped_by == "max_iterations"


def test_a_run_that_is_stopped_at_the_failure_can_go_on_later() -> None:
    wire = Wire([FAIL], "I see.")
    run, followed = breaking_run(wire)
    run.start()
    followed.wait_for("halted", why="paused", reason="fail failed")
    run.stop()
    assert run.wait(PATIENCE_S).stopped_by == "person"
    assert run.transcript.paused_for is None
    run.start().wait(PATIENCE_S)
    assert run.text == "I see."
    assert_the_api_takes_all(wire)


def test_where_nobody_is_the_run_goes_on_and_its_page_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nbrunner.run.running.is_headless", lambda: True)
    run, followed = breaking_run(Wire([FAIL], "I see."))
    assert run.wait(PATIENCE_S).text == "I see."
    assert followed.of(Halted) == []
    remark = "fail failed; the run did not pause, since nobody is here to look."
    assert [it.remark for it in followed.of(Remarked)] == [remark]
    assert run.transcript.iterations[0].remarks == (remark,)
    assert remark in run.to_html()
    assert remark in run.to_text()
