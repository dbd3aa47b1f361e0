from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from IPython.core.completer import provisionalcompleter

from nbrunner import replay
from nbrunner.magic.extension import ToolrunMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbrunner import Run

FIRST_LINE = "%%toolrun weather --tools get_weather --client replies"


def run_cell(shell: InteractiveShell, cell: str) -> None:
    shell.run_cell(cell, store_history=True)


def complaint(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], cell: str
) -> str:
    capsys.readouterr()
    result = shell.run_cell(cell)
    assert result.error_in_exec is not None
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    return said.out + said.err


def test_a_cell_leaves_its_run_under_its_name_and_as_the_last_run(
    shell: InteractiveShell,
) -> None:
    run_cell(shell, f"{FIRST_LINE}\nHow is Paris?")
    run: Run = shell.user_ns["weather"]
    assert run.stopped_by == "end_turn"
    assert run.text == "It is sunny."
    assert shell.user_ns["_run"] is run


def test_a_cell_without_a_name_leaves_the_last_run_only(
    shell: InteractiveShell,
) -> None:
    run_cell(shell, "%%toolrun --tools get_weather --client replies\nHow is Paris?")
    assert shell.user_ns["_run"].text == "It is sunny."


def test_the_body_is_taken_as_it_is(shell: InteractiveShell) -> None:
    body = 'Say {"a": 1}, {polite}, $polite, `!ls` and %%time:\n  ?\n\n!echo "x"'
    run_cell(shell, f"{FIRST_LINE}\n{body}")
    assert shell.user_ns["weather"].messages[0]["content"] == body


def test_the_line_is_never_formatted_or_evaluated(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(shell, capsys, "%%toolrun --tools {polite} --client replies\nhi")
    assert "--tools {polite}: no variable of that name" in said


def test_a_cell_under_another_magic_runs_too(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run_cell(shell, f"%%time\n{FIRST_LINE}\nHow is Paris?")
    assert shell.user_ns["weather"].text == "It is sunny."
    assert "Wall time" in capsys.readouterr().out
    run_cell(shell, f"%%capture caught\n{FIRST_LINE}\nHow is Lyon?")
    assert shell.user_ns["weather"].messages[0]["content"] == "How is Lyon?"
    assert "sunny in Paris" in shell.user_ns["caught"].outputs[0].data["text/plain"]


def test_a_cell_run_after_a_nested_one_still_awaits(shell: InteractiveShell) -> None:
    run_cell(shell, f"%%time\n{FIRST_LINE}\nHow is Paris?")
    rewritten = shell.transform_cell(f"{FIRST_LINE}\nHow is Paris?")
    assert rewritten.startswith("await ")


def test_a_question_mark_asks_for_the_help_of_the_magic(
    shell: InteractiveShell,
) -> None:
    assert "pinfo" in shell.transform_cell("%%toolrun?")


def test_the_names_of_a_run_complete(shell: InteractiveShell) -> None:
    run_cell(shell, f"{FIRST_LINE}\nHow is Paris?")
    with provisionalcompleter():
        found = {it.text for it in shell.Completer.completions("weather.", 8)}
    assert {"text", "transcript", "stop"} <= found


@pytest.mark.parametrize("first", ["%%toolrunner x", "%%toolrun-x y", "%%time"])
def test_only_the_whole_word_is_rewritten(shell: InteractiveShell, first: str) -> None:
    assert "toolrun_awaited" not in shell.transform_cell(f"{first}\nbody")


def test_two_runs_of_one_cell_start_the_replies_from_the_top(
    shell: InteractiveShell,
) -> None:
    for _ in range(2):
        run_cell(shell, f"{FIRST_LINE}\nHow is Paris?")
        assert shell.user_ns["weather"].stopped_by == "end_turn"
    assert len(shell.user_ns["replies"].requests) == 4


def test_options_reach_the_requests(shell: InteractiveShell) -> None:
    shell.user_ns["more"] = {"metadata": {"user_id": "me"}}
    run_cell(
        shell,
        f"{FIRST_LINE} --model claude-haiku-4-5 --max-tokens 99 --system polite "
        "--params more\nHi",
    )
    body = shell.user_ns["replies"].requests[0]
    assert body["model"] == "claude-haiku-4-5"
    assert body["max_tokens"] == 99
    assert body["system"] == "Be polite."
    assert body["metadata"] == {"user_id": "me"}
    run_cell(shell, f"{FIRST_LINE} --system-text 'Be brief.' --max-iterations 1\nHi")
    assert shell.user_ns["replies"].requests[-1]["system"] == "Be brief."
    assert shell.user_ns["weather"].stopped_by == "max_iterations"


@pytest.mark.parametrize(
    ("option", "key"), [("eager", "eager"), ("parallel", "parallel_calls")]
)
def test_how_calls_are_made_is_an_option(
    shell: InteractiveShell, option: str, key: str
) -> None:
    run_cell(shell, f"{FIRST_LINE} --{option}\nHow is Paris?")
    run: Run = shell.user_ns["weather"]
    assert run._driving[key] is True
    assert run.text == "It is sunny."
    run_cell(shell, f"{FIRST_LINE}\nHow is Paris?")
    assert shell.user_ns["weather"]._driving[key] is False


def test_cache_marks_are_set_from_the_first_request_on(
    shell: InteractiveShell,
) -> None:
    run_cell(
        shell,
        f"{FIRST_LINE} --system polite --cache system,tools --cache results,system\nHi",
    )
    first, second = shell.user_ns["replies"].requests
    mark = {"type": "ephemeral"}
    for body in (first, second):
        assert body["system"][-1]["cache_control"] == mark
        assert body["tools"][-1]["cache_control"] == mark
    assert first["messages"][0]["content"] == "Hi"
    assert second["messages"][-1]["content"][-1]["cache_control"] == mark
    assert shell.user_ns["weather"].transcript.refused is None


def test_marks_can_be_set_on_the_request_and_on_a_block(
    shell: InteractiveShell,
) -> None:
    run_cell(shell, f"{FIRST_LINE} --cache request,messages[0].content[0]\nHi")
    first = shell.user_ns["replies"].requests[0]
    assert first["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" in first["messages"][0]["content"][0]


def test_the_help_of_the_magic_tells_of_the_marks(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run_cell(shell, "%%toolrun --help\n")
    assert "--cache PLACE,PLACE" in capsys.readouterr().out
    said = shell.object_inspect_text("%%toolrun")
    assert "cache marks from the start: system, tools, results" in said


def test_defaults_are_set_the_way_of_ipython(shell: InteractiveShell) -> None:
    shell.run_line_magic("config", 'ToolrunMagics.model = "claude-sonnet-5"')
    run_cell(shell, f"{FIRST_LINE}\nHi")
    assert shell.user_ns["replies"].requests[0]["model"] == "claude-sonnet-5"


def test_loading_again_leaves_one_of_everything(shell: InteractiveShell) -> None:
    for _ in range(3):
        shell.run_line_magic("reload_ext", "nbrunner")
    rewriters = [
        getattr(transform, "__self__", None)
        for transform in shell.input_transformers_cleanup
    ]
    assert sum(isinstance(owner, ToolrunMagics) for owner in rewriters) == 1
    assert sum(isinstance(it, ToolrunMagics) for it in shell.configurables) == 1
    for event in ("pre_run_cell", "post_run_cell"):
        owners = [getattr(c, "__self__", None) for c in shell.events.callbacks[event]]
        assert sum(isinstance(owner, ToolrunMagics) for owner in owners) == 1
    run_cell(shell, f"{FIRST_LINE}\nHow is Paris?")
    assert shell.user_ns["weather"].text == "It is sunny."


def test_unloading_leaves_nothing(shell: InteractiveShell) -> None:
    shell.run_line_magic("unload_ext", "nbrunner")
    assert shell.find_cell_magic("toolrun") is None
    assert not any(isinstance(it, ToolrunMagics) for it in shell.configurables)
    assert "toolrun_awaited" not in shell.transform_cell(f"{FIRST_LINE}\nHi")
    shell.run_line_magic("load_ext", "nbrunner")


def test_help_lists_the_options(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run_cell(shell, "%%toolrun --help\n")
    said = capsys.readouterr().out
    assert "--max-iterations N" in said
    assert "\n    %%toolrun weather" in said
    assert "_run" not in shell.user_ns


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("%%toolrun\n", "%%toolrun needs arguments."),
        ("%%toolrun\n", "Tools in this notebook: get_weather."),
        ("%%toolrun\nHello", "For example:"),
        (
            f"{FIRST_LINE} --cache sytem\nHi",
            "--cache sytem: no cache mark can stand there. Did you mean system? Name",
        ),
        (f"{FIRST_LINE} --cache xyz\nHi", "can stand there. Name system, tools,"),
        (
            f"{FIRST_LINE} --cache system\nHi",
            "system cannot carry a cache mark: there is no system prompt.",
        ),
        (
            f"{FIRST_LINE} --cache messages[1].content[0]\nHi",
            "the conversation has no such block",
        ),
        (f"{FIRST_LINE}\n", "The cell has no message below its first line."),
        (f"{FIRST_LINE}\n  \n", "The cell has no message below its first line."),
        (
            "%%toolrun --tools get_wether --client replies\nHi",
            (
                "--tools get_wether: no variable of that name is in the notebook. "
                "Did you mean get_weather? Run the cell that defines it"
            ),
        ),
        (
            "%%toolrun --tools zzz --client replies\nHi",
            "At hand: get_weather.",
        ),
        (
            "%%toolrun --tools plain_function --client replies\nHi",
            (
                "plain_function is a plain function, so Claude has no schema for it. "
                "Put @beta_tool above its def (from anthropic import beta_tool), or "
                "pass beta_tool(plain_function)."
            ),
        ),
        (
            "%%toolrun --tools polite --client replies\nHi",
            "is not a tool: it is of type str.",
        ),
        (
            f"{FIRST_LINE} --system polit\nHi",
            (
                "--system polit: no variable of that name is in the notebook. "
                "Did you mean polite?"
            ),
        ),
        (f"{FIRST_LINE} --system settings\nHi", "that variable holds a dict"),
        (f"{FIRST_LINE} --system polite --system-text x\nHi", "not both"),
        (f"{FIRST_LINE} --cassette x.json\nHi", "not both"),
        (f"{FIRST_LINE} --record once\nHi", "--cassette PATH, which is missing"),
        (f"{FIRST_LINE} --params polite\nHi", "that variable holds a str"),
        (
            f"{FIRST_LINE} --params settings\nHi",
            "temperature is not a parameter of the SDK's tool_runner()",
        ),
        (f"{FIRST_LINE} --max-tokens none\nHi", "'none' is not a number from 1 up"),
        (f"{FIRST_LINE} --max-tok 5\nHi", "unrecognized arguments: --max-tok 5"),
        (f"{FIRST_LINE} --system-text 'x\nHi", "No closing quotation"),
        ("%%toolrun 2b --client replies\nHi", "has to be a Python variable name"),
        (
            "%%toolrun get_weather --client replies\nHi",
            "Did you mean --tools get_weather?",
        ),
        ("%%toolrun print --client replies\nHi", "that name is Python's own"),
        (f"{FIRST_LINE} --modle x\nHi", "Did you mean --model?"),
        ("%%toolrun class --client replies\nHi", "has to be a Python variable name"),
        (f"{FIRST_LINE} --params taken\nHi", "it holds tools, which the line"),
        ("%%toolrun x --client replys\nHi", "Did you mean replies?"),
        ("%%toolrun x --client polite\nHi", "polite"),
        ("%%toolrun x --cassette no.json\nHi", "no.json"),
        ("%%toolrun x --cassette no.json --record always\nHi", "rewrite"),
        ("%%toolrun x --tools get_weather\nHi", "No API key and no replies to play."),
        ("%%toolrun x --tools get_weather\nHi", "getpass.getpass"),
    ],
)
def test_bad_input_is_told_in_a_sentence_and_without_a_traceback(
    shell: InteractiveShell,
    capsys: pytest.CaptureFixture[str],
    cell: str,
    sentence: str,
) -> None:
    said = complaint(shell, capsys, cell)
    assert sentence in " ".join(said.split()) or sentence in said
    assert "weather" not in shell.user_ns


def test_a_run_that_fails_ends_its_cell_with_one_sentence(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["replies"] = replay.play(replay.script(replay.fail(529)))
    said = complaint(shell, capsys, f"{FIRST_LINE}\nHi")
    assert "RunFailed: Iteration 1 failed: The API answered overloaded_error" in said
    assert shell.user_ns["weather"].stopped_by == "error"


def test_a_cell_asks_for_a_stream(shell: InteractiveShell) -> None:
    run_cell(shell, f"{FIRST_LINE}\nHow is Paris?")
    assert all(body["stream"] for body in shell.user_ns["replies"].requests)


def test_the_third_request_is_shown_as_it_went_out_and_one_click_away(
    shell: InteractiveShell,
) -> None:
    again = replay.script(*[replay.use("get_weather", location="Paris")] * 2, "Sunny.")
    shell.user_ns["replies"] = replay.play(again)
    run_cell(shell, f"{FIRST_LINE}\nHow is Paris?")
    run: Run = shell.user_ns["weather"]
    sent = shell.user_ns["replies"].requests[2]
    assert run.transcript.iterations[2].request.messages == tuple(sent["messages"])
    assert "request 3 · 5 messages" in run.to_html()
