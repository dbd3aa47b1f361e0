"""The SDK's own retries: counted, shown, and stopped when a person stops the run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from nbrunner import Run
from nbrunner.core.events import RequestResent
from nbrunner.replay import use
from nbrunner.views.look import Look
from nbrunner.views.words import marks_words
from tests.loop.steering import Followed, assert_the_api_takes_all
from tests.loop.toolkit import counted_tools
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbrunner.core.events import Event
    from nbrunner.core.transcript import Transcript

ADD = use("add", a=1, b=2)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


def busy(status: int = 529) -> Callable[[], httpx2.Response]:
    """An error that the SDK answers by sending again, at once."""
    headers = {"retry-after-ms": "1"}
    body = {"error": {"type": "overloaded_error", "message": "busy"}}
    return lambda: httpx2.Response(status, json=body, headers=headers)


def refused() -> httpx2.Response:
    raise httpx2.ConnectError("refused")


def run_over(wire: Wire, calls: list[Any], **options: Any) -> tuple[Run, Followed]:
    options = {"max_retries": 2, **options}
    client = wire.client.with_options(max_retries=options.pop("max_retries"))
    run = Run(client=client, tools=counted_tools(calls), messages="?", **options)
    return run, Followed(run)


def summary(run: Run) -> str:
    return re.sub(r"<[^>]+>", " ", run.to_html())


@both_ways
def test_what_the_sdk_sends_again_is_counted_with_what_it_saw(*, stream: bool) -> None:
    calls: list[Any] = []
    wire = Wire([ADD], "It is 3.", faults={1: busy(), 2: busy(503)})
    run, followed = run_over(wire, calls, stream=stream)
    assert run.wait(20).text == "It is 3."
    first, second = run.transcript.iterations
    assert (first.resent, first.sends) == ((), 1)
    assert second.resent == ("529", "503")
    assert (second.attempts, second.sends, len(wire.bodies)) == (1, 3, 4)
    assert [it.seen for it in followed.of(RequestResent)] == ["529", "503"]
    assert wire.bodies[1] == wire.bodies[2] == wire.bodies[3]
    assert calls == [("add", 1, 2)]
    assert "request 2 · sent 3 times · 3 messages" in summary(run)
    assert "[2] end_turn · sent 3 times" in run.to_text()
    assert "sent" not in run.to_text().split("[2]")[0]
    assert_the_api_takes_all(wire)


def test_a_request_that_fails_each_time_is_told_once_with_all_its_sends() -> None:
    wire = Wire("Done.", faults={0: busy(), 1: busy(), 2: busy()})
    run, _ = run_over(wire, [])
    assert run.wait(20).stopped_by == "error"
    (iteration,) = run.transcript.iterations
    assert (len(iteration.failures), iteration.sends) == (1, 3)
    run.retry()
    assert run.wait(20).text == "Done."
    (iteration,) = run.transcript.iterations
    assert (iteration.attempts, iteration.sends, len(wire.bodies)) == (2, 4, 4)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_an_error_that_stays_is_sent_once(status: int) -> None:
    wire = Wire("Done.", faults={0: busy(status)})
    run, _ = run_over(wire, [])
    run.wait(20)
    assert run.transcript.iterations[0].sends == len(wire.bodies) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_an_error_that_passes_is_sent_again_by_the_sdk(status: int) -> None:
    wire = Wire("Done.", faults={0: busy(status)})
    run, _ = run_over(wire, [])
    assert run.wait(20).text == "Done."
    assert run.transcript.iterations[0].resent == (str(status),)


def test_a_connection_that_fails_is_told_in_the_sdks_words() -> None:
    run, _ = run_over(Wire("Done.", faults={0: refused}), [], max_retries=1)
    assert run.wait(20).text == "Done."
    assert run.transcript.iterations[0].resent == ("Connection error.",)


def test_a_stream_that_broke_is_never_sent_again_by_the_sdk() -> None:
    def breaks() -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, content=b"", headers=headers)

    wire = Wire("Done.", faults={0: breaks})
    run, _ = run_over(wire, [])
    assert run.wait(20).stopped_by == "error"
    assert len(wire.bodies) == 1


def test_the_panel_says_what_the_wait_is_for() -> None:
    run, _ = run_over(Wire("Done.", faults={0: busy()}), [])
    shown: list[str] = []

    def look(event: Event, transcript: Transcript) -> None:
        from nbrunner.views.iteration import summary_fragment  # noqa: PLC0415

        if event.kind == "request_resent":
            live = Look(name="run", live=True, marks=marks_words(transcript))
            shown.append(str(summary_fragment(transcript, 0, live)))

    run.subscribe(look)
    run.wait(20)
    (words,) = shown
    assert "waiting for the first words; the SDK sent it again after 529" in words


@both_ways
def test_a_stop_ends_the_retries_of_the_sdk(*, stream: bool) -> None:
    wire = Wire("Done.", faults=dict.fromkeys(range(9), busy()))
    run, _ = run_over(wire, [], stream=stream, max_retries=9)

    def stop(event: Event, _: Transcript) -> None:
        if event.kind == "request_resent":
            run.stop()

    run.subscribe(stop)
    assert run.wait(20).stopped_by == "person"
    assert len(wire.bodies) == 2
    (failure,) = run.transcript.iterations[0].failures
    assert failure.kind == "stopped"
    run.retry()
    run.stop(now=True)
