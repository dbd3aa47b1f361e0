"""Three ways to show one transcript in a notebook; this runs in the kernel.

Each is displayed by `display()`, gets an iteration by `add(index)`, and is told a
piece of streamed text by `grow(text)`; `sent` and `clicked` hold the kernel's times.
What the two others draw is the plainest that shows the same words.
"""

from __future__ import annotations

import asyncio
import html
import json
import time
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import ipywidgets
from IPython.display import HTML, display

from nbrunner import Run
from nbrunner.panel import Panel
from nbrunner.replay import sse
from tests.bench.story import INPUT, RESULT, TEXT, begun, story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PIECE = "«{}»word "
"""A piece of streamed text; its number tells the page which one it sees."""

_TITLE = "iteration {} · get_weather · 123 tokens"


class Nbrunner:
    """The panel, following a run whose events have been made before."""

    name = "run"
    parent = None
    branches = ()

    def __init__(self, iterations: int = 0) -> None:
        self.transcript = begun()
        self._story = story(iterations)
        self._listeners: list[Callable[..., None]] = []
        self.panel = Panel(self)

    def subscribe(self, listener: Callable[..., None]) -> Callable[[], None]:
        """Tell a listener what happens, as a run does."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def display(self) -> None:
        """Show the panel."""
        display(self.panel)

    def add(self, index: int) -> None:
        """Let an iteration happen."""
        for event, transcript in self._story[index]:
            self.transcript = transcript
            for listener in self._listeners:
                listener(event, transcript)

    @staticmethod
    def last(iterations: int) -> str:
        """The CSS selector of the last iteration's last part."""
        return f'.nbr-live [data-key="it{iterations - 1}.call.toolu_{iterations - 1}"]'


class Reopened(Nbrunner):
    """The same panel, opened when all has happened."""

    def __init__(self, iterations: int = 0) -> None:
        super().__init__(iterations)
        self._iterations = iterations

    def display(self) -> None:
        """Wait: it is opened in the end."""

    def add(self, index: int) -> None:
        """Let an iteration happen; after the last one, show the panel."""
        super().add(index)
        if index == self._iterations - 1:
            display(self.panel)


class Composed:
    """Twelve ipywidgets an iteration, as one composes them by hand."""

    def __init__(self, _iterations: int = 0) -> None:
        self.root = ipywidgets.VBox([])
        self._streamed = ipywidgets.HTML()
        self._text = ""

    def display(self) -> None:
        """Show the box that the iterations go into."""
        display(self.root)

    def add(self, index: int, text: str = TEXT) -> None:
        """Put in one more iteration."""
        title = _TITLE.format(index)
        head = ipywidgets.HTML(f"<b data-bench={index}>{title}</b>")
        self._streamed = ipywidgets.HTML(f"<div>{html.escape(text)}</div>")
        approve = ipywidgets.Button(description="approve")
        approve.on_click(lambda _: clicked.append(time.time()))
        row = [
            ipywidgets.ToggleButton(description="cache"),
            approve,
            ipywidgets.Button(description="deny"),
        ]
        body = [
            head,
            self._streamed,
            ipywidgets.HTML(f"<pre>{html.escape(json.dumps(INPUT))}</pre>"),
            ipywidgets.HTML(f"<pre>{html.escape(RESULT)}</pre>"),
            ipywidgets.HBox(row),
            ipywidgets.Textarea(placeholder="follow-up"),
            ipywidgets.Button(description="send"),
        ]
        cell = ipywidgets.Accordion(
            children=[ipywidgets.VBox(body)], titles=[title], selected_index=0
        )
        self.root.children = (*self.root.children, cell)

    def grow(self, text: str) -> None:
        """Show more of the text that streams."""
        self._text += text
        self._streamed.value = f"<div>{html.escape(self._text)}</div>"

    @staticmethod
    def last(iterations: int) -> str:
        """The CSS selector of the last iteration."""
        return f'[data-bench="{iterations - 1}"]'


class WholeHtml:
    """One output, written anew as a whole with each change."""

    def __init__(self, _iterations: int = 0) -> None:
        self._cards: list[str] = []
        self._text = ""
        self._handle: Any = None

    def display(self) -> None:
        """Show the empty output."""
        self._handle = display(HTML("<div></div>"), display_id=True)

    def add(self, index: int, text: str = TEXT) -> None:
        """Write all, with one more iteration in it."""
        self._cards.append(card(index, text))
        self._handle.update(HTML("".join(self._cards)))

    def grow(self, text: str) -> None:
        """Write all, with more of the text that streams."""
        self._text += text
        self._cards[-1] = card(len(self._cards) - 1, self._text)
        self._handle.update(HTML("".join(self._cards)))

    last = staticmethod(Composed.last)


def card(index: int, text: str = TEXT) -> str:
    """An iteration in plain HTML."""
    return (
        f"<details open data-bench={index}><summary>{_TITLE.format(index)}</summary>"
        f"<p>{html.escape(text)}</p><pre>{html.escape(json.dumps(INPUT))}</pre>"
        f"<pre>{html.escape(RESULT)}</pre></details>"
    )


WAYS: dict[str, type] = {
    "nbrunner": Nbrunner,
    "nbrunner, reopened": Reopened,
    "ipywidgets": Composed,
    "whole HTML": WholeHtml,
}

sent: list[float] = []
"""When each piece of streamed text was there to be shown."""

clicked: list[float] = []
"""When each click reached the kernel."""


async def stream(show: Any, pieces: int, each_s: float) -> None:
    """Stream text into a show, from an awaiting cell as our own does."""
    show.add(0, "")
    clicked.clear()
    sent.clear()
    await asyncio.sleep(2)  # until the page has it
    started = time.monotonic()
    for number in range(pieces):
        await asyncio.sleep(max(0, started + number * each_s - time.monotonic()))
        sent.append(time.time())
        show.grow(PIECE.format(number))
    await asyncio.sleep(1)


def dripping(pieces: int, each_s: float) -> Run:
    """A run whose reply streams at a steady pace; the clicks in its panel are timed."""
    sent.clear()
    clicked.clear()
    http_client = httpx2.Client(transport=_Drip(pieces, each_s))
    client = anthropic.Anthropic(api_key="none", http_client=http_client)
    run = Run(client=client, messages="?")
    run.subscribe(_note_click)
    return run


def _note_click(event: Any, _: Any) -> None:
    if event.kind == "asked" and event.by == "person":
        clicked.append(time.time())


_OPENING = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
_ENDED = {"stop_reason": "end_turn", "stop_sequence": None}


class _Drip(httpx2.BaseTransport):
    """Answers with a text that comes in numbered pieces."""

    def __init__(self, pieces: int, each_s: float) -> None:
        self._pieces, self._each_s = pieces, each_s

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request without looking at it."""
        request.read()
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=_Body(self._chunks()))

    def _chunks(self) -> Iterator[bytes]:
        text = {"type": "text", "text": ""}
        yield _event("message_start", message=_OPENING)
        yield _event("content_block_start", index=0, content_block=text)
        yield _piece("…")
        time.sleep(2)  # until the panel is there
        started = time.monotonic()
        for number in range(self._pieces):
            time.sleep(max(0, started + number * self._each_s - time.monotonic()))
            sent.append(time.time())
            yield _piece(PIECE.format(number))
        time.sleep(1)  # until what was sent has been seen
        yield _event("content_block_stop", index=0)
        yield _event("message_delta", delta=_ENDED, usage={"output_tokens": 9})
        yield _event("message_stop")


def _event(name: str, **fields: Any) -> bytes:
    return sse.encode(name, {"type": name, **fields})


def _piece(text: str) -> bytes:
    delta = {"type": "text_delta", "text": text}
    return _event("content_block_delta", index=0, delta=delta)


class _Body(httpx2.SyncByteStream):
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks
