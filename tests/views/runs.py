"""Runs over scripted replies: the stories that the views and the panel show."""

from __future__ import annotations

from typing import Any

from anthropic import beta_tool

from nbrunner import Run, replay
from nbrunner.replay import cut, fail, reply, say, think, use

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


@beta_tool
def get_weather(location: str) -> str:
    """Tell the weather somewhere.

    Args:
        location: Where.
    """
    print("asking about", location)  # noqa: T201 - what a tool prints is shown
    return f"20 degrees in {location}"


@beta_tool
def get_temperature(city: str) -> str:
    """Tell the temperature of a city it knows.

    Args:
        city: Which.
    """
    return {"Paris": "20"}[city]


@beta_tool
def look(what: str) -> Any:
    """Return odd things.

    Args:
        what: What to return.
    """
    return {
        "nothing": None,
        "an empty text": "",
        "an image": [{"type": "image", "source": PIXEL}],
        "a marked text": [
            {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
        ],
        "long json": {"rows": [{"row": n, "note": "so " * 40} for n in range(50)]},
        "a megabyte": "20 degrees, " * 90_000,
    }[what]


SERVED: tuple[dict[str, Any], ...] = (
    {
        "type": "server_tool_use",
        "id": "srvtoolu_01",
        "name": "web_search",
        "input": {"query": "weather"},
    },
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_01",
        "content": [
            {
                "type": "web_search_result",
                "title": "Paris today",
                "url": "https://a.example/",
                "page_age": None,
                "encrypted_content": "x",
            }
        ],
    },
    {
        "type": "mcp_tool_use",
        "id": "mcptoolu_01",
        "name": "find",
        "server_name": "tracker",
        "input": {},
    },
)
CITED: tuple[dict[str, Any], ...] = (
    {
        "type": "mcp_tool_result",
        "tool_use_id": "mcptoolu_01",
        "is_error": False,
        "content": [{"type": "text", "text": "found"}],
    },
    {"type": "text", "text": "It is "},
    {
        "type": "text",
        "text": "20 degrees",
        "citations": [
            {
                "type": "web_search_result_location",
                "cited_text": "20 degrees at noon",
                "title": "Paris today",
                "url": "https://a.example/",
                "encrypted_index": "x",
            }
        ],
    },
)

TOOLS = [get_weather, get_temperature, look]

PARIS, OSLO = {"location": "Paris"}, {"city": "Oslo"}


def counted(*blocks: Any, read: int = 0, wrote: int = 0, **more: Any) -> Any:
    """A reply that says what the prompt cache did."""
    usage = {
        "input_tokens": 42,
        "output_tokens": 60,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": wrote,
    }
    return reply(*blocks, usage=usage, **more)


CLEARED = {
    "type": "clear_tool_uses_20250919",
    "cleared_tool_uses": 3,
    "cleared_input_tokens": 12_400,
}
STORIES: dict[str, tuple[Any, ...]] = {
    "one answer": ("It is **20 degrees**.",),
    "calls that go well and badly": (
        [
            think("Which city?"),
            say("Let me *look*."),
            use("get_weather", PARIS),
            use("get_temperature", OSLO),
        ],
        [use("get_wether", PARIS), use("get_weather", place="Paris")],
        "It is 20 degrees.",
    ),
    "odd results": (
        [use("look", what="nothing"), use("look", what="an empty text")],
        [use("look", what="an image"), use("look", what="a marked text")],
        [say(""), use("look", what="a marked text")],
        "Odd.",
    ),
    "a call cut off": (
        reply(say("I look."), use("get_weather", PARIS), stop_reason="max_tokens"),
    ),
    "a broken stream": (
        [use("get_weather", PARIS)],
        cut([think("So."), say("It is twenty")], 6, "overloaded_error"),
        "It is 20 degrees.",
    ),
    "a broken call": (cut(use("get_weather", PARIS), 3, "drop"), "It is 20."),
    "an error": (fail(401),),
    "a refusal": (reply(say("I would rather not."), stop_reason="refusal"),),
    "a cache that is missed": (
        counted(use("look", what="a marked text")),
        counted(use("get_weather", PARIS), wrote=4_200),
        counted(use("get_weather", PARIS), wrote=11_300),
        counted(use("get_weather", PARIS), wrote=4_400),
        counted("Warm.", read=4_400, context_management={"applied_edits": [CLEARED]}),
    ),
    "blocks of the API": (
        [use("look", what="an image"), use("look", what="long json")],
        reply(*SERVED, stop_reason="pause_turn"),
        reply(*CITED, stop_reason="refusal"),
    ),
    "blocks nobody knows": (
        [
            {"type": "redacted_thinking", "data": "x"},
            {
                "type": "server_tool_use",
                "id": "srvtoolu_01",
                "name": "web_search",
                "input": {"query": "weather", "id": "kept"},
            },
            {"type": "tomorrow", "id": "tmrw_01", "what": "knows"},
            "Done.",
        ],
    ),
}


def run_of(*replies: Any, **given: Any) -> Run:
    """A run over these replies, not started."""
    transport = replay.play(replay.script(*replies))
    defaults: dict[str, Any] = {"tools": TOOLS, "messages": "How warm is Paris?"}
    return Run(client=transport, **{**defaults, **given})


def finished(*replies: Any, **given: Any) -> Run:
    """A run over these replies, at its end; retried where a request failed."""
    run = run_of(*replies, **given)
    run.wait()
    if run.stopped_by == "error" and len(replies) > len(run.transcript.iterations):
        run.retry()
        run.wait()
    return run


def story(title: str, /, **given: Any) -> Run:
    """One of the stories, told to its end."""
    return finished(*STORIES[title], **given)
