"""MCP tools, through the SDK's own helpers, against a real server over stdio."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from anthropic.lib.tools.mcp import async_mcp_tool, mcp_tool
from mcp import ClientSession, StdioServerParameters, stdio_client

from nbrunner import Run
from nbrunner.replay import use
from tests.loop.mcp_server import PNG
from tests.loop.steering import assert_the_api_takes_all
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

SERVER = StdioServerParameters(
    command=sys.executable, args=[str(Path(__file__).parent / "mcp_server.py")]
)
CALLS = [
    use("get_weather", location="Paris"),
    use("draw", location="Paris"),
    use("fail", location="Oslo"),
    use("get_weather", location="Paris", days="many"),
]
both_helpers = pytest.mark.parametrize("helper", [async_mcp_tool, mcp_tool])


@contextlib.asynccontextmanager
async def session() -> AsyncIterator[ClientSession]:
    async with (
        stdio_client(SERVER) as (read, write),
        ClientSession(read, write) as opened,
    ):
        await opened.initialize()
        yield opened


async def run_with(helper: Any, finish: Callable[[Run], Any], **options: Any) -> Run:
    """A run over the server's tools, while its session is open."""
    wire = Wire(CALLS, "Sunny.")
    async with session() as opened:
        listed = (await opened.list_tools()).tools
        tools = [helper(tool, opened) for tool in listed]
        run = Run(client=wire.client, tools=tools, messages="?", **options)
        finished = finish(run)
        if finished is not None:
            await finished
    assert_the_api_takes_all(wire)
    run.wire = wire  # type: ignore[attr-defined]
    return run


async def awaited(run: Run) -> None:
    await run


def blocking(run: Run) -> None:
    run.wait(60)


@both_helpers
@pytest.mark.parametrize("parallel_calls", [False, True])
def test_a_server_answers_while_someone_awaits_the_run(
    helper: Any, *, parallel_calls: bool
) -> None:
    run = asyncio.run(run_with(helper, awaited, parallel_calls=parallel_calls))
    weather, picture, failed, invalid = run.transcript.iterations[0].tool_calls
    assert weather.result[0]["text"] == "1 sunny days in Paris"
    (image,) = picture.result
    assert base64.b64decode(image["source"]["data"]) == PNG
    assert failed.status == "error"
    assert "no station in Oslo" in failed.result[0]["text"]
    assert invalid.status == "error"
    sent = run.wire.bodies[0]["tools"]  # type: ignore[attr-defined]
    assert [tool["name"] for tool in sent] == ["get_weather", "draw", "fail"]
    assert sent[0]["description"] == "Get the weather in a place."
    assert run.text == "Sunny."


@both_helpers
def test_a_wait_that_blocks_the_session_s_loop_fails_with_the_way_to_wait(
    helper: Any,
) -> None:
    run = asyncio.run(run_with(helper, blocking))
    for call in run.transcript.iterations[0].tool_calls:
        assert call.status == "error"
        assert "Wait with `await run`" in call.result
    assert run.text == "Sunny."


@both_helpers
def test_a_server_answers_between_cells(helper: Any) -> None:
    def started(run: Run) -> Any:
        run.start()
        return asyncio.to_thread(run.wait, 60)

    run = asyncio.run(run_with(helper, started))
    weather = run.transcript.iterations[0].tool_calls[0]
    assert weather.result[0]["text"] == "1 sunny days in Paris"
