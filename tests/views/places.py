"""A transcript with a text in one place of it, or in all."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbrunner.core.commands import Pause
from nbrunner.core.events import Failure
from nbrunner.core.note import Note
from nbrunner.core.request import Request, Settings
from nbrunner.core.tool_call import Display, ToolCall
from nbrunner.core.transcript import Iteration, Transcript
from nbrunner.views.page import panel_content, static_page
from nbrunner.views.text import as_text

PLACES = (
    "system prompt",
    "first message",
    "model name",
    "tool definition",
    "run name",
    "model text",
    "thinking",
    "tool name",
    "argument name",
    "input",
    "bare input",
    "executed input",
    "result",
    "result block",
    "error",
    "traceback",
    "print",
    "remark",
    "note",
    "waiting note",
    "failure",
    "advice",
    "partial reply",
    "partial call",
    "name of a call of a broken reply",
    "input of a call of a broken reply",
    "result of a call of a broken reply",
    "traceback of a call of a broken reply",
    "unknown block",
    "streamed text",
    "streamed thinking",
    "streamed call",
    "stop reason",
    "refusal",
    "dropped mark",
    "image address",
    "document title",
    "document text",
    "search result",
    "citation",
    "cited address",
    "tool elsewhere",
    "input elsewhere",
    "server name",
    "page title",
    "page address",
    "program output",
    "error code",
    "unread result",
    "compaction",
    "explanation",
    "displayed text",
    "displayed markdown",
    "large json",
    "asked tool",
    "asked field",
    "asked value",
    "asked about",
    "rejection",
)
UNSEEN = ("image data", "displayed image", "displayed html", "file id")
"""What is put there is not shown as it is: it has to be nothing but inert."""

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmM"
    "IQAAAABJRU5ErkJggg=="
)


class Shown(NamedTuple):
    """A run in each of its renderings."""

    static: str
    live: str
    text: str


def show(transcript: Transcript, name: str = "run") -> Shown:
    return Shown(
        static_page(transcript, name=name),
        panel_content(transcript, name=name),
        as_text(transcript, name=name),
    )


def shown_with(place: str, text: str) -> Shown:
    """A run with the text in that place ("everywhere" is one), rendered."""
    at = _At(place, text)
    return show(at.transcript(), name=at("run name"))


class _At:
    """Fills the places of a transcript: one with the text, the others plainly."""

    def __init__(self, place: str, text: str) -> None:
        assert place in (*PLACES, *UNSEEN, "everywhere")
        self._place, self._text = place, text

    def __call__(self, place: str) -> str:
        assert place in (*PLACES, *UNSEEN)
        return self._text if self._place in (place, "everywhere") else "plain"

    def transcript(self) -> Transcript:
        return Transcript(
            settings=self.settings(),
            source="scripted",
            status="running",
            iterations=(
                self.answered(),
                self.elsewhere(),
                self.asking(),
                self.streaming(),
                self.broken(),
            ),
            waiting=(Note(id="note_2", text=self("waiting note")),),
            refused=(Pause(), self("refusal")),
        )

    def settings(self) -> Settings:
        return Settings(
            model=self("model name"),
            max_tokens=100,
            system=[{"type": "text", "text": self("system prompt")}],
            tools=(
                {"name": "look", "description": self("tool definition")},
                {"name": self("asked tool"), "input_schema": self.schema()},
            ),
        )

    def schema(self) -> dict[str, Any]:
        about = {"type": "string", "description": self("asked about")}
        choice = {"enum": [self("asked value"), "other"]}
        return {"properties": {self("asked field"): about, "choice": choice}}

    def asked(self) -> tuple[ToolCall, ...]:
        name, value = self("asked tool"), self("asked value")
        asking: dict[str, Any] = {"name": name, "status": "asked", "digest": "d"}
        flat = {self("asked field"): value, "choice": value}
        why: dict[str, Any] = {"verdict": "rejected", "decided_by": "person"}
        return (
            ToolCall(id="toolu_21", input=flat, **asking),
            ToolCall(id="toolu_22", input={"deep": [value]}, **asking),
            ToolCall(
                id="toolu_23", name=name, input={}, reason=self("rejection"), **why
            ),
        )

    def asking(self) -> Iteration:
        calls = self.asked()
        blocks = [{"type": "tool_use", "id": c.id, "name": c.name} for c in calls]
        return Iteration(
            index=2,
            request=self.request(),
            reply={"content": blocks, "stop_reason": "tool_use"},
            blocks=tuple(blocks),
            tool_calls=calls,
        )

    def request(self, *more: Any) -> Request:
        first = {"role": "user", "content": self("first message")}
        return Request(settings=self.settings(), messages=(first, *more))

    def answered(self) -> Iteration:
        calls = self.calls()
        blocks = self.blocks(calls)
        return Iteration(
            index=0,
            request=self.request({"role": "user", "content": [self.said("note")]}),
            notes=(Note(id="note_1", text=self("note")),),
            reply={"content": blocks, "stop_reason": self("stop reason")},
            blocks=tuple(blocks),
            tool_calls=calls,
            dropped_marks=(self("dropped mark"),),
        )

    def said(self, place: str) -> dict[str, str]:
        return {"type": "text", "text": self(place)}

    def blocks(self, calls: tuple[ToolCall, ...]) -> list[dict[str, Any]]:
        unknown = self("unknown block")
        return [
            {"type": "thinking", "thinking": self("thinking"), "signature": "s"},
            self.said("model text"),
            *({"type": "tool_use", "id": c.id, "name": c.name} for c in calls),
            {"type": unknown, "name": unknown, unknown: [unknown]},
        ]

    def calls(self) -> tuple[ToolCall, ...]:
        name, argument = self("tool name"), self("argument name")
        block = [{"type": "text", "text": self("result block")}]
        return (
            ToolCall(
                id="toolu_1",
                name=name,
                input={argument: self("input")},
                executed_input={argument: self("executed input"), "more": 1},
                status="ok",
                result=self("result"),
                stdout=self("print"),
                remark=self("remark"),
            ),
            ToolCall(id="toolu_2", name=name, input={}, status="ok", result=block),
            ToolCall(
                id="toolu_3",
                name=name,
                input=self("bare input"),
                status="error",
                result=self("error"),
                traceback=self("traceback"),
            ),
        )

    def elsewhere(self) -> Iteration:
        """An iteration of what is not the client's: files, servers, the API."""
        call = ToolCall(
            id="toolu_9",
            name="draw",
            input={"data": [self("large json"), *("word " * 80 for _ in range(8))]},
            status="ok",
            result=self.files(),
            displays=self.displays(),
        )
        blocks: list[dict[str, Any]] = [
            {"type": "tool_use", "id": call.id, "name": call.name},
            *self.cited(),
            *self.served(),
            {"type": "compaction", "content": self("compaction")},
            {"type": "container_upload", "file_id": self("file id")},
        ]
        details = {"category": "bio", "explanation": self("explanation")}
        return Iteration(
            index=1,
            request=self.request(),
            reply={
                "content": blocks,
                "stop_reason": "refusal",
                "stop_details": details,
            },
            blocks=tuple(blocks),
            tool_calls=(call,),
        )

    def files(self) -> list[dict[str, Any]]:
        address = {"type": "url", "url": self("image address")}
        data = {"type": "base64", "media_type": "image/png", "data": self("image data")}
        text = {"type": "text", "data": self("document text")}
        title = self("document title")
        source = self("search result")
        return [
            {"type": "image", "source": address},
            {"type": "image", "source": data},
            {"type": "image", "source": {"type": "base64", "data": PIXEL}},
            {"type": "document", "title": title, "source": text},
            {"type": "search_result", "title": "t", "source": source, "content": []},
        ]

    def displays(self) -> tuple[Display, ...]:
        return (
            Display(data={"text/plain": self("displayed text")}),
            Display(data={"text/markdown": self("displayed markdown")}),
            Display(data={"text/html": self("displayed html")}),
            Display(data={"image/png": self("displayed image")}),
        )

    def cited(self) -> list[dict[str, Any]]:
        citation = {"cited_text": self("citation"), "url": self("cited address")}
        return [
            {"type": "text", "text": "It is ", "citations": None},
            {"type": "text", "text": "20 degrees", "citations": [citation]},
        ]

    def served(self) -> list[dict[str, Any]]:
        name, given = self("tool elsewhere"), {"query": self("input elsewhere")}
        page = {
            "type": "web_search_result",
            "title": self("page title"),
            "url": self("page address"),
        }
        printed = {
            "type": "code_execution_result",
            "stdout": self("program output"),
            "return_code": 0,
        }
        unread = {"type": "tomorrow", "what": self("unread result")}
        failed = {"type": "x_error", "error_code": self("error code")}
        found = {"a": [page], "b": printed, "c": unread, "d": failed}
        blocks: list[dict[str, Any]] = []
        for key, content in found.items():
            use = {"type": "server_tool_use", "id": key, "name": name, "input": given}
            result = {"type": "web_search_tool_result", "tool_use_id": key}
            blocks += [use, {**result, "content": content}]
        server = {"server_name": self("server name"), "name": "ask", "input": {}}
        return [*blocks, {"type": "mcp_tool_use", "id": "e", **server}]

    def failure(self) -> Failure:
        call = {"type": "tool_use", "name": "look"}
        ran = ToolCall(
            id="early",
            name=self("name of a call of a broken reply"),
            input={"a": self("input of a call of a broken reply")},
            executed_input={"a": 1},
            status="error",
            result=self("result of a call of a broken reply"),
            traceback=self("traceback of a call of a broken reply"),
        )
        return Failure(
            kind="stream",
            message=self("failure"),
            advice=self("advice"),
            partial=(
                self.said("partial reply"),
                {**call, "partial_json": self("partial call")},
                {**call, "id": "early"},
            ),
            calls=(ran,),
        )

    def broken(self) -> Iteration:
        return Iteration(
            index=4,
            request=self.request(),
            failures=(self.failure(),),
            has_failed=True,
        )

    def streaming(self) -> Iteration:
        call = {"type": "tool_use", "name": "look"}
        return Iteration(
            index=3,
            request=self.request(),
            blocks=(
                {"type": "thinking", "thinking": self("streamed thinking")},
                self.said("streamed text"),
                {**call, "partial_json": self("streamed call")},
            ),
        )
