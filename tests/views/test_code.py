"""The code of a run: whatever a run holds, it is data there and never code."""

from __future__ import annotations

import ast
import math
from typing import Any

import httpx2
import pytest
from anthropic import beta_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from nbrunner import ToggleCache
from nbrunner.replay import say, use
from nbrunner.views.literal import OWN_NAMES, is_name, literal
from tests.views.runs import PARIS, finished, get_weather, run_of

BUILTINS = {"next", "print", "range", "float", "_"}
HOSTILE = [
    "x); import os; (",
    "import os\nos.remove('x')",
    "lambda",
    "None",
    "messages",
    "client",
    "eval",
    "__import__",
    "ﬁnd",
    "nöte",
    "my-tool",
    "",
    '"""',
    "'''\n%%bash",
    "\ud800",
    "a" * 300,
]
TEXTS = [
    "%%bash\nrm -rf /",
    "!ls\n?x\n%time",
    '"""\n\'\'\' + evil() + """',
    "back\\slash \\",
    "{evil()} %s {{}}",
    "\r\n\x0b\x0c\x85\u2028\u2029",
    "\u202eturned",
    "nul \x00",
    "half \ud83d",
    "# comment\n" * 40,
]
text = st.one_of(st.sampled_from(TEXTS), st.text(max_size=200))
names = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
    | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
    max_leaves=12,
)


def names_in(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def texts_in(code: str) -> list[str]:
    nodes = ast.walk(ast.parse(code))
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [value for value in values if isinstance(value, str)]


def assert_inert(code: str, *tools: str) -> None:
    assert names_in(code) <= OWN_NAMES | BUILTINS | set(tools)
    imports = (ast.Import, ast.ImportFrom)
    tree = ast.parse(code)
    assert sum(isinstance(node, imports) for node in ast.walk(tree)) == 1
    assert not any(line.startswith(("%", "!", "?")) for line in code.splitlines())
    code.encode()


@given(json_values)
@settings(deadline=None)
def test_a_literal_is_the_value_again(value: Any) -> None:
    assert ast.literal_eval(literal(value)) == value


@given(json_values, st.integers(0, 5), st.integers(0, 60))
@settings(deadline=None)
def test_a_literal_is_the_value_again_wherever_it_begins(
    value: Any, depth: int, used: int
) -> None:
    assert ast.literal_eval(literal(value, depth, used)) == value


def test_numbers_that_have_no_literal_are_made() -> None:
    assert literal([math.inf, math.nan]) == '[float("inf"), float("nan")]'


def test_what_is_no_json_is_no_literal() -> None:
    with pytest.raises(TypeError, match="set is no JSON"):
        literal([{1}])


@pytest.mark.parametrize("name", [*HOSTILE, *OWN_NAMES, "ghp_" + "a" * 30])
def test_a_name_that_is_not_plainly_a_tool_is_none(name: str) -> None:
    assert is_name(name) is (name == "a" * 300)


@given(names, text, st.lists(text, max_size=2), st.dictionaries(text, text, max_size=2))
@settings(deadline=None, max_examples=60)
def test_whatever_a_run_holds_the_code_names_nothing_else(
    tool: str, said: str, notes: list[str], call_input: dict[str, Any]
) -> None:
    raw = {"name": tool, "description": said, "input_schema": {"type": "object"}}
    run = run_of(
        [say(said), use(tool, call_input)],
        [use("get_weather", PARIS), use(tool, call_input)],
        "Done.",
        "Done.",
        tools=[get_weather, raw],
        messages=said or "Hi",
        system=said,
        name=tool,
        metadata={"user_id": said},
    )
    run.wait()
    for note in notes:
        if note.strip():
            run.inject(note)
    run.wait()
    assert_inert(run.to_code(), "get_weather")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_tool_of_a_hostile_name_is_written_as_data_with_what_it_gave(
    name: str,
) -> None:
    @beta_tool(name=name or "_x)")
    def tool() -> str:
        """Do."""
        return "its result"

    run = finished(use(tool.name), "Done.", tools=[tool])
    code = run.to_code()
    if is_name(tool.name):
        assert_inert(code, tool.name)
        return
    assert_inert(code)
    assert tool.name in texts_in(code)
    if tool.name != "\ud800":  # which is never sent
        assert "its result" in texts_in(code)


@pytest.mark.parametrize("said", TEXTS)
def test_texts_come_out_as_they_were(said: str) -> None:
    run = finished(use("get_weather", PARIS), "Done.", "Done.", messages=said)
    run.submit(ToggleCache("messages[0].content[0]"))
    run.inject("And?")
    run.wait()
    texts = texts_in(run.to_code())
    assert run.transcript.messages[0]["content"] in texts


def test_a_branch_says_where_it_comes_from() -> None:
    code = finished(use("get_weather", PARIS), "Done.").fork(at=1).to_code()
    assert '# A branch of "run": it goes its own way from iteration 2.' in code


def test_keys_are_left_out() -> None:
    key = "sk-ant-api03-" + "a" * 40
    run = finished(
        use("get_weather", location=key),
        f"It is {key}.",
        "Done.",
        messages=f"Use {key}",
        system=f"The key is {key}.",
        extra_headers={"x-api-key": "of no known shape"},
        name=key,
    )
    run.inject(f"api_key = {key}")
    run.wait()
    code = run.to_code()
    assert key not in code
    assert "of no known shape" not in code
    assert_inert(code, "get_weather", "get_temperature", "look")


def test_a_parameter_that_cannot_be_written_is_named() -> None:
    code = run_of("Done.", timeout=httpx2.Timeout(3)).to_code()
    assert '# Left out, since it cannot be written down: "timeout".' in code
    assert "timeout=" not in code
    assert "timeout=3.5" in run_of("Done.", timeout=3.5).to_code()


def test_the_code_of_a_run_that_has_not_begun_begins_it() -> None:
    code = run_of("Done.").to_code()
    loop = "for stream in runner:\n    print(stream.get_final_message())\n"
    assert code.endswith(loop)
