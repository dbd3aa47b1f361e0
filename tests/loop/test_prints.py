"""What tools print is caught for their call, and for nobody else's."""

from __future__ import annotations

import asyncio
import contextvars
import io
import sys
import threading
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest
from anthropic import beta_tool

from nbrunner import Run
from nbrunner.core.events import CallPrinted
from nbrunner.loop.prints import caught_prints
from nbrunner.replay import use
from tests.loop.steering import Followed, in_another_thread
from tests.loop.wire import PATIENCE_S, Wire

if TYPE_CHECKING:
    from collections.abc import Callable


def say(*words: Any, **options: Any) -> None:
    print(*words, **options)  # noqa: T201 - printing is the matter here


def printed_by(tool: Callable[[], str]) -> tuple[Run, Followed]:
    wrapped = beta_tool(tool, name="tool")
    run = Run(client=Wire(use("tool"), "So.").client, tools=[wrapped], messages="?")
    followed = Followed(run)
    run.wait(20)
    return run, followed


def stdout_of(run: Run) -> str:
    return run.transcript.iterations[0].tool_calls[0].stdout


def test_what_a_tool_prints_is_in_its_call_and_nowhere_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def tool() -> str:
        """Print."""
        say("one", 2)
        say("three", end="")
        sys.stdout.write("!\n")
        sys.stdout.writelines(["four\n", "five\n"])
        say(flush=True)
        return "so"

    run, followed = printed_by(tool)
    assert stdout_of(run) == "one 2\nthree!\nfour\nfive\n\n"
    assert "".join(event.text for event in followed.of(CallPrinted)) == stdout_of(run)
    assert capsys.readouterr().out == ""


def test_a_tool_that_prints_a_thousand_times_is_not_a_thousand_events() -> None:
    def tool() -> str:
        """Print."""
        for number in range(1_000):
            say(number)
        return "so"

    run, followed = printed_by(tool)
    assert len(stdout_of(run).splitlines()) == 1_000
    assert len(followed.of(CallPrinted)) < 500


def test_what_a_tool_prints_is_told_while_it_still_runs() -> None:
    told = threading.Event()

    def tool() -> str:
        """Print, and wait until it is told."""
        say("here")
        return "heard" if told.wait(PATIENCE_S) else "not heard"

    wrapped = beta_tool(tool, name="tool")
    run = Run(client=Wire(use("tool"), "So.").client, tools=[wrapped], messages="?")
    run.subscribe(lambda event, _: event.kind == "call_printed" and told.set())
    run.wait(20)
    assert run.transcript.iterations[0].tool_calls[0].result == "heard"


def test_a_failing_tool_keeps_its_prints() -> None:
    def tool() -> str:
        """Print and fail."""
        say("before")
        raise ValueError

    run, _ = printed_by(tool)
    assert stdout_of(run) == "before\n"


def test_prints_with_half_a_character_can_be_stored() -> None:
    def tool() -> str:
        """Print."""
        say("half \ud83d")
        return "so"

    run, followed = printed_by(tool)
    assert stdout_of(run) == "half \N{REPLACEMENT CHARACTER}\n"
    assert all(event.model_dump_json() for event in followed.events)


def test_what_is_no_text_is_refused_as_a_stream_refuses_it() -> None:
    def tool() -> str:
        """Print bytes."""
        sys.stdout.write(b"bytes")
        return "so"

    run, _ = printed_by(tool)
    result = run.transcript.iterations[0].tool_calls[0].result
    assert result.startswith("TypeError(")


def test_a_listener_that_prints_prints_for_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def tool() -> str:
        """Print."""
        say("from the tool")
        return "so"

    wrapped = beta_tool(tool, name="tool")
    run = Run(client=Wire(use("tool"), "So.").client, tools=[wrapped], messages="?")
    run.subscribe(
        lambda event, _: event.kind == "call_printed" and say("from the listener")
    )
    run.wait(20)
    assert stdout_of(run) == "from the tool\n"
    assert "from the listener" in capsys.readouterr().out


def test_a_tool_that_steers_its_own_run_under_a_listener_that_prints_goes_on() -> None:
    runs: list[Run] = []

    def tool() -> str:
        """Print and inject."""
        for number in range(200):
            say(number)
            runs[0].inject(f"note {number}").withdraw()
        return "so"

    wrapped = beta_tool(tool, name="tool")
    run = Run(client=Wire(use("tool"), "So.").client, tools=[wrapped], messages="?")
    runs.append(run)
    run.subscribe(lambda event, _: event.kind == "asked" and say("asked"))
    run.wait(20)
    assert run.stopped_by == "end_turn"
    assert "199" in stdout_of(run)


def test_two_calls_that_print_side_by_side_do_not_mix(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts: dict[str, list[str]] = {"a": [], "b": []}
    together = threading.Barrier(3, timeout=PATIENCE_S)

    def call(name: str) -> None:
        with caught_prints(texts[name].append):
            for number in range(100):
                together.wait()
                say(f"{name}{number}")

    threads = [threading.Thread(target=call, args=(name,)) for name in texts]
    for thread in threads:
        thread.start()
    for number in range(100):
        together.wait()
        say(f"cell{number}")
    for thread in threads:
        thread.join(PATIENCE_S)
    for name, pieces in texts.items():
        assert "".join(pieces).split() == [f"{name}{n}" for n in range(100)]
    assert capsys.readouterr().out.split() == [f"cell{n}" for n in range(100)]


def test_two_contexts_in_one_thread_do_not_mix() -> None:
    texts: dict[str, list[str]] = {"a": [], "b": []}

    async def call(name: str) -> None:
        with caught_prints(texts[name].append):
            for number in range(10):
                say(f"{name}{number}")
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(call("a"), call("b"))

    asyncio.run(both())
    for name, pieces in texts.items():
        assert "".join(pieces).split() == [f"{name}{n}" for n in range(10)]


def test_threads_that_a_tool_starts_in_its_context_print_into_its_call() -> None:
    def tool() -> str:
        """Print from a thread."""
        context = contextvars.copy_context()
        in_another_thread(lambda: context.run(say, "from a thread"))
        return "so"

    run, _ = printed_by(tool)
    assert stdout_of(run) == "from a thread\n"


def test_what_prints_after_its_call_is_still_told_of_that_call() -> None:
    contexts: list[contextvars.Context] = []

    def tool() -> str:
        """Leave something behind."""
        contexts.append(contextvars.copy_context())
        return "so"

    wrapped = beta_tool(tool, name="tool")
    wire = Wire(use("tool"), use("tool"), "So.")
    run = Run(client=wire.client, tools=[wrapped], messages="?")
    followed = Followed(run)
    run.step()
    followed.wait_for("halted")

    def print_late() -> None:
        with caught_prints(lambda _: None):  # keeps the proxy in place
            contexts[0].run(say, "late")

    print_late()
    followed.wait_for("call_printed", iteration=0, call_id="toolu_01")
    run.resume()
    run.wait(20)


def test_the_stream_is_put_back_when_the_last_call_is_over() -> None:
    before = sys.stdout
    with caught_prints(lambda _: None):
        with caught_prints(lambda _: None):
            assert sys.stdout is not before
            assert sys.stdout.isatty() == before.isatty()
        assert sys.stdout is not before
    assert sys.stdout is before
    with pytest.raises(ZeroDivisionError), caught_prints(lambda _: None):
        raise ZeroDivisionError
    assert sys.stdout is before


def test_a_tool_that_redirects_its_own_prints_gets_them() -> None:
    def tool() -> str:
        """Print into a buffer."""
        with redirect_stdout(io.StringIO()) as buffer:
            say("inside")
        say("outside")
        return buffer.getvalue()

    run, _ = printed_by(tool)
    assert stdout_of(run) == "outside\n"
    assert run.transcript.iterations[0].tool_calls[0].result == "inside\n"


def test_a_redirection_that_outlives_a_call_leaves_a_stream_that_works(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = sys.stdout
    calls = caught_prints(lambda _: None)
    calls.__enter__()
    redirection = redirect_stdout(io.StringIO())
    redirection.__enter__()
    calls.__exit__(None, None, None)
    redirection.__exit__(None, None, None)
    say("to the cell")
    assert capsys.readouterr().out == "to the cell\n"
    with caught_prints(lambda _: None):
        pass
    assert sys.stdout is before
