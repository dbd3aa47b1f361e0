"""What a tool returns or raises: Claude reads something sensible, whatever it is."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pydantic
import pytest
from anthropic import beta_tool
from anthropic.lib.tools import BetaBuiltinFunctionTool, ToolError
from anthropic.types.beta import BetaTextBlock, BetaTextBlockParam
from pydantic import TypeAdapter

from nbrunner import Run
from nbrunner.core.events import CallFinished, Event
from nbrunner.replay import use
from tests.loop.steering import Followed, assert_the_api_takes_all
from tests.loop.toolkit import IMAGE, MEGABYTE, PNG, counted_tools
from tests.loop.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbrunner.core.tool_call import ToolCall

BLOCK: BetaTextBlockParam = {"type": "text", "text": "in a block"}


class City(pydantic.BaseModel):
    name: str
    degrees: float = 20.5


@dataclasses.dataclass
class Place:
    name: str
    city: City


class Colour(enum.Enum):
    RED = "red"


class Frame:
    """Looks like a table of pandas."""

    columns = ("a", "b")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def to_csv(self) -> str:
        return "a,b\n1,2\n"


class OtherFrame:
    """Looks like a table of polars."""

    columns = ("a", "b")

    def write_csv(self) -> str:
        return "a,b\n3,4\n"


class Mute:
    """Has no repr."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Plain:
    """Has a repr and nothing else."""

    def __repr__(self) -> str:
        return "<Plain>"


class Long:
    def __repr__(self) -> str:
        return "x" * 5_000


def half_way() -> Iterator[Any]:
    yield BLOCK
    raise ValueError("in the middle")


def nested() -> Any:
    value: Any = []
    for _ in range(2_000):
        value = [value]
    return value


SENT: dict[str, tuple[Callable[[], Any], Any]] = {
    "a text": (lambda: "20 degrees", "20 degrees"),
    "an empty text": (lambda: "", ""),
    "a megabyte": (lambda: MEGABYTE, MEGABYTE),
    "an empty list": (list, []),
    "a list of blocks": (lambda: [BLOCK, IMAGE], [BLOCK, IMAGE]),
    "a generator of blocks": (lambda: (BLOCK for _ in range(2)), [BLOCK, BLOCK]),
    "models of the SDK": (
        lambda: [BetaTextBlock(type="text", text="t", citations=None)],
        [{"type": "text", "text": "t", "citations": None}],
    ),
    "one block": (lambda: BLOCK, [BLOCK]),
    "one model of the SDK": (
        lambda: BetaTextBlock.construct(type="text", text="t"),
        [{"type": "text", "text": "t"}],
    ),
    "a dict": (lambda: {"a": 1, "b": None}, '{"a":1,"b":null}'),
    "a dict with a type": (
        lambda: {"type": "fruit", "name": "pear"},
        '{"type":"fruit","name":"pear"}',
    ),
    "a list of dicts with odd types": (
        lambda: [{"type": ["text"]}, {"type": "fruit"}],
        '[{"type":["text"]},{"type":"fruit"}]',
    ),
    "a list of texts": (lambda: ["a", "b"], '["a","b"]'),
    "a list of numbers": (lambda: [1, 2.5], "[1,2.5]"),
    "a list of blocks and texts": (
        lambda: [BLOCK, "b"],
        '[{"type":"text","text":"in a block"},"b"]',
    ),
    "a range": (lambda: range(3), "[0,1,2]"),
    "a tuple": (lambda: (1, "a"), '[1,"a"]'),
    "a number": (lambda: 42, "42"),
    "a fraction": (lambda: 0.5, "0.5"),
    "no number": (lambda: float("nan"), "NaN"),
    "infinity": (lambda: float("inf"), "Infinity"),
    "true": (lambda: True, "true"),
    "None": (lambda: None, "give returned None: it gave no result."),
    "bytes": (
        lambda: b"\x00\xff",
        (
            "give returned 2 bytes of binary data, which cannot be shown as text. It "
            "has to return text, or an image or document block."
        ),
    ),
    "a view of memory": (
        lambda: memoryview(b"abc"),
        (
            "give returned 3 bytes of binary data, which cannot be shown as text. It "
            "has to return text, or an image or document block."
        ),
    ),
    "a set": (lambda: {"b", "a", "c"}, '["a","b","c"]'),
    "a frozen set": (lambda: frozenset({2, 1}), "[1,2]"),
    "a set of mute things": (
        lambda: {Mute()},
        (
            "give returned a set, which is not text: "
            "<list, whose repr raised RuntimeError>"
        ),
    ),
    "a pydantic model": (
        lambda: City(name="Paris"),
        '{"name":"Paris","degrees":20.5}',
    ),
    "a list of pydantic models": (
        lambda: [City(name="Paris")],
        '[{"name":"Paris","degrees":20.5}]',
    ),
    "a dataclass": (
        lambda: Place("Louvre", City(name="Paris")),
        '{"name":"Louvre","city":{"name":"Paris","degrees":20.5}}',
    ),
    "a date": (lambda: dt.date(2026, 11, 30), '"2026-11-30"'),
    "a path": (lambda: Path("a") / "b", '"a/b"'),
    "an enum": (lambda: Colour.RED, '"red"'),
    "a table": (Frame, "a,b\n1,2\n"),
    "another table": (OtherFrame, "a,b\n3,4\n"),
    "a nested value": (
        lambda: {"a": [{"b": {"c": (1, None, "ü🌞")}}]},
        '{"a":[{"b":{"c":[1,null,"ü🌞"]}}]}',
    ),
    "half a character inside": (
        lambda: {"a": ["\ud83d"]},
        '{"a":["\N{REPLACEMENT CHARACTER}"]}',
    ),
    "a thing": (Plain, "give returned a Plain, which is not text: <Plain>"),
    "a list of things": (
        lambda: [Plain()],
        "give returned a list, which is not text: [<Plain>]",
    ),
    "a mute thing": (
        Mute,
        (
            "give returned a Mute, which is not text: "
            "<Mute, whose repr raised RuntimeError>"
        ),
    ),
    "a thing with a long repr": (
        Long,
        f"give returned a Long, which is not text: {'x' * 2_000} … 3000 more",
    ),
    "a class": (
        lambda: Plain,
        f"give returned a type, which is not text: {Plain!r}",
    ),
    "blocks that are not JSON": (
        lambda: [{"type": "image", "source": {**PNG, "data": b"\xff\x00"}}],
        (
            "give returned content blocks that are not JSON: [{'type': 'image', "
            "'source': {'type': 'base64', 'media_type': 'image/png', "
            "'data': b'\\xff\\x00'}}]"
        ),
    ),
}


def run_tool(give: Callable[[], Any], **options: Any) -> tuple[Wire, Run, Followed]:
    @beta_tool(name="give")
    def tool() -> Any:
        """Give something."""
        return give()

    wire = Wire(use("give"), "So.", "Again.")
    run = Run(client=wire.client, tools=[tool], messages="?", **options)
    followed = Followed(run)
    run.wait(20)
    assert run.stopped_by == "end_turn", run.transcript.last
    return wire, run, followed


def call_of(run: Run) -> ToolCall:
    (call,) = run.transcript.iterations[0].tool_calls
    return call


def block_in(wire: Wire) -> dict[str, Any]:
    block: dict[str, Any] = wire.bodies[1]["messages"][-1]["content"][0]
    return block


def assert_events_are_json(followed: Followed) -> None:
    adapter: TypeAdapter[Event] = TypeAdapter(Event)
    for event in followed.events:
        assert adapter.validate_json(adapter.dump_json(event)) == event


@pytest.mark.parametrize("name", SENT)
def test_claude_reads_something_sensible_of_what_a_tool_returns(name: str) -> None:
    give, sent = SENT[name]
    wire, run, followed = run_tool(give)
    assert block_in(wire) == {
        "type": "tool_result",
        "tool_use_id": "toolu_01",
        "content": sent,
    }
    assert (call_of(run).result, call_of(run).status) == (sent, "ok")
    assert run.messages == wire.bodies[1]["messages"] + run.messages[3:]
    assert_events_are_json(followed)
    assert_the_api_takes_all(wire)


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("a text", None),
        ("an empty list", None),
        ("a generator of blocks", None),
        ("one block", "returned one dict; sent as a list"),
        ("a dict", "returned a dict; sent as JSON"),
        ("a list of texts", "returned a list; sent as JSON"),
        ("None", "returned None"),
        ("bytes", "returned bytes"),
        ("a table", "returned a Frame; sent as CSV"),
        ("a thing", "returned a Plain; its repr was sent"),
        (
            "blocks that are not JSON",
            "returned blocks that are not JSON; their repr was sent",
        ),
    ],
)
def test_the_person_is_told_where_the_result_is_not_what_the_sdk_would_send(
    name: str, remark: str | None
) -> None:
    _, run, _ = run_tool(SENT[name][0])
    assert call_of(run).remark == remark


@pytest.mark.parametrize("sdk_texts", [False, True])
def test_a_generator_that_raises_half_way_is_an_error_of_the_tool(
    *,
    sdk_texts: bool,
) -> None:
    wire, run, followed = run_tool(half_way, sdk_texts=sdk_texts)
    assert block_in(wire)["content"] == "ValueError('in the middle')"
    assert block_in(wire)["is_error"] is True
    assert call_of(run).status == "error"
    assert len(followed.of(CallFinished)) == 1
    assert "half_way" in (call_of(run).traceback or "")


def test_a_value_nested_too_deep_for_json_is_told_and_ends_nothing() -> None:
    wire, _, _ = run_tool(nested)
    assert "content" in block_in(wire)
    assert_the_api_takes_all(wire)


@pytest.mark.parametrize(
    "name", ["a generator of blocks", "models of the SDK", "a tuple"]
)
def test_with_sdk_texts_events_are_json_all_the_same(name: str) -> None:
    _, _, followed = run_tool(SENT[name][0], sdk_texts=True)
    assert_events_are_json(followed)


def test_with_sdk_texts_what_the_sdk_could_not_send_at_all_is_sent_our_way() -> None:
    wire, _, _ = run_tool(lambda: [Plain()], sdk_texts=True)
    assert block_in(wire)["content"].startswith("give returned a list")


class MuteError(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __str__(self) -> str:
        raise RuntimeError("no str")


class LoudError(ToolError):
    """A ToolError whose content is no content."""

    def __init__(self) -> None:
        super().__init__("loud")
        self.content = {"why": "because"}


def raising(error: BaseException) -> Callable[[], Any]:
    def give() -> Any:
        raise error

    return give


RAISED: dict[str, tuple[BaseException, Any]] = {
    "an error": (ValueError("bad"), "ValueError('bad')"),
    "an error without words": (TimeoutError(), "TimeoutError()"),
    "a long error": (ValueError("x" * 9_000), repr(ValueError("x" * 9_000))[:4096]),
    "half a character": (
        ValueError("\ud83d"),
        "ValueError('\\ud83d')",
    ),
    "an error without a repr": (
        MuteError(),
        "<MuteError, whose repr raised RuntimeError>",
    ),
    "a tool error": (ToolError("Ask again."), "Ask again."),
    "a tool error without words": (ToolError(""), "give failed and gave no reason."),
    "a tool error in blocks": (ToolError([BLOCK, BLOCK]), [BLOCK, BLOCK]),
    "a tool error with a picture": (ToolError([BLOCK, IMAGE]), [BLOCK]),
    "a tool error in pictures only": (
        ToolError([IMAGE]),
        "give failed and gave no reason.",
    ),
    "a tool error of another shape": (LoudError(), '{"why":"because"}'),
    "a group of errors": (
        ExceptionGroup("two", [ValueError("a"), KeyError("b")]),
        "ExceptionGroup('two', [ValueError('a'), KeyError('b')])",
    ),
    "a stop of an iteration": (StopIteration("over"), "StopIteration('over')"),
}


@pytest.mark.parametrize("name", RAISED)
def test_claude_reads_what_a_tool_raises_and_the_person_the_traceback(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    error, sent = RAISED[name]
    wire, run, followed = run_tool(raising(error))
    assert block_in(wire) == {
        "type": "tool_result",
        "tool_use_id": "toolu_01",
        "content": sent,
        "is_error": True,
    }
    call = call_of(run)
    assert (call.result, call.status) == (sent, "error")
    assert call.traceback is not None
    assert type(error).__name__ in call.traceback
    assert "raise error" in call.traceback
    assert len(followed.of(CallFinished)) == 1
    # The SDK would log it too, and print it in the cell: a second traceback there.
    assert {record.name for record in caplog.records} <= {"nbrunner.tools"}
    assert_events_are_json(followed)
    assert_the_api_takes_all(wire)


def test_inputs_that_are_one_object_are_told_apart() -> None:
    content = (
        b'{"role": "assistant", "stop_reason": "tool_use", "content": ['
        b'{"type": "tool_use", "id": "a", "name": "give", "input": null},'
        b'{"type": "tool_use", "id": "b", "name": "give", "input": null}]}'
    )
    wire = Wire(
        "So.",
        faults={
            0: lambda: httpx2.Response(
                200, content=content, headers={"content-type": "application/json"}
            )
        },
    )

    @beta_tool
    def give() -> str:
        """Give."""
        return "given"

    run = Run(client=wire.client, tools=[give], messages="?", stream=False)
    followed = Followed(run)
    run.wait(20)
    assert [event.call_id for event in followed.of(CallFinished)] == ["a", "b"]
    calls = run.transcript.iterations[0].tool_calls
    assert [(call.id, call.status) for call in calls] == [
        ("a", "error"),
        ("b", "error"),
    ]
    assert calls[0].result == "TypeError('Input must be a dictionary, got NoneType')"


class Visit(pydantic.BaseModel):
    city: City
    nights: int


def input_told(tool_input: dict[str, Any]) -> tuple[str, ToolCall]:
    @beta_tool
    def book(visit: Visit, *, guests: list[int]) -> str:
        """Book a visit."""
        return f"{visit} {guests}"

    wire = Wire(use("book", tool_input), "So.")
    run = Run(client=wire.client, tools=[book], messages="?")
    run.wait(20)
    call = call_of(run)
    return str(block_in(wire)["content"]), call


@pytest.mark.parametrize(
    ("tool_input", "sentence"),
    [
        (
            {},
            "`visit` is required and is missing; `guests` is required and is missing",
        ),
        (
            {"visit": {"city": {}, "nights": "x"}, "guests": [1]},
            (
                "`visit.city.name` is required and is missing; `visit.nights` should "
                'be a valid integer, unable to parse string as an integer, got "x"'
            ),
        ),
        (
            {"visit": 1, "guests": [1, "y"]},
            (
                "`visit` should be a valid dictionary or instance of Visit, got 1; "
                "`guests.1` should be a valid integer, unable to parse string as an "
                'integer, got "y"'
            ),
        ),
    ],
)
def test_an_invalid_input_is_told_field_by_field(
    tool_input: dict[str, Any], sentence: str
) -> None:
    content, call = input_told(tool_input)
    assert content == f"Invalid input for book: {sentence}."
    assert call.status == "invalid"
    assert call.traceback is not None
    assert call.traceback.startswith("ValidationError: the input does not fit")
    assert "def book(visit:" in call.traceback


def test_an_input_wrong_in_a_thousand_places_is_told_in_part() -> None:
    content, _ = input_told({"visit": 1, "guests": ["x"] * 1_000})
    assert len(content) == 4_000


def test_a_validation_error_of_the_body_is_an_error_of_the_tool() -> None:
    wire, run, _ = run_tool(lambda: City.model_validate({}))
    assert call_of(run).status == "error"
    assert block_in(wire)["content"] == (
        "ValueError('Invalid arguments for function give')"
    )
    assert "model_validate" in (call_of(run).traceback or "")


class Inner(BetaBuiltinFunctionTool):
    """A tool of one's own around one of the SDK's."""

    def __init__(self, then: Exception | None = None) -> None:
        self._inner = counted_tools([])[0]
        self._then = then

    def to_dict(self) -> Any:
        return self._inner.to_dict()

    def call(self, input: object) -> Any:  # noqa: A002 - the SDK names it so
        if self._then is None:
            return self._inner.call(input)
        try:
            return self._inner.call(input)
        except ValueError as error:
            raise self._then from error.__cause__


@pytest.mark.parametrize(
    ("tool", "status", "content"),
    [
        (Inner(), "invalid", "Invalid input for add: `b` is required and is missing."),
        (Inner(ValueError("mine")), "error", "ValueError('mine')"),
    ],
)
def test_a_tool_around_another_tells_an_invalid_input_too(
    tool: Any, status: str, content: str
) -> None:
    wire = Wire(use("add", a=1), "So.")
    run = Run(client=wire.client, tools=[tool], messages="?")
    run.wait(20)
    assert (call_of(run).status, block_in(wire)["content"]) == (status, content)


def test_a_call_of_a_tool_that_is_only_declared_says_so() -> None:
    wire = Wire(use("paint"), "So.")
    declared = {"name": "paint", "input_schema": {"type": "object"}}
    run = Run(client=wire.client, tools=[declared], messages="?")
    run.wait(20)
    assert block_in(wire)["content"] == (
        "'paint' is declared, but nothing runs it here. Available tools: none."
    )


def test_an_input_that_its_tool_changes_is_told_as_it_came() -> None:
    @beta_tool
    def spoil(items: Any) -> str:
        """Spoil it."""
        items.clear()
        return "spoilt"

    wire = Wire(use("spoil", items=[1, 2]), "So.")
    run = Run(client=wire.client, tools=[spoil], messages="?")
    run.wait(20)
    call = call_of(run)
    assert call.input == call.executed_input == {"items": [1, 2]}
    assert wire.bodies[1]["messages"][1]["content"][0]["input"] == {"items": [1, 2]}


def test_base64_is_what_an_image_block_holds() -> None:
    data = base64.b64encode(b"\xff\x00").decode()
    block = {"type": "image", "source": {**PNG, "data": data}}
    wire, run, _ = run_tool(lambda: [block])
    assert block_in(wire)["content"] == [block]
    assert call_of(run).remark is None
