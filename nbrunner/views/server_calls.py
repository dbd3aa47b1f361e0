"""Calls that run at the API or at an MCP server, with what came of them.

They are no client's to run, so they have no gate, no prints and no traceback: what
is known of them stands in two blocks of the reply, which are shown as one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbrunner.views import words
from nbrunner.views.content import content_block, is_text
from nbrunner.views.fields import at, items_at, text_at
from nbrunner.views.html import Html, h, link, spaced
from nbrunner.views.json_tree import json_fragment
from nbrunner.views.look import block, chip, label_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbrunner.views.look import Look, Part

_USES = ("server_tool_use", "mcp_tool_use")


def is_server_call(item: Any) -> bool:
    """Whether a block asks for a tool that somebody else runs."""
    return at(item, "type") in _USES


def is_server_result(item: Any) -> bool:
    """Whether a block answers one."""
    kind = text_at(item, "type")
    return kind.endswith("_tool_result") and bool(text_at(item, "tool_use_id"))


def result_of(use: Any, blocks: Sequence[Any]) -> Any:
    """The block that answers a call, if the reply holds it."""
    call_id = text_at(use, "id")
    answers = (
        item
        for item in blocks
        if is_server_result(item) and call_id and item["tool_use_id"] == call_id
    )
    return next(answers, None)


def answers_one_of(item: Any, blocks: Sequence[Any]) -> bool:
    """Whether a block answers a call in these, and is shown with it."""
    return is_server_result(item) and any(
        is_server_call(use) and text_at(use, "id") == item["tool_use_id"]
        for use in blocks
    )


def failure_words(result: Any) -> str | None:
    """Why a call failed, if it did."""
    code = text_at(result, "content", "error_code")
    if code:
        said = text_at(result, "content", "error_message")
        return words.ellipsis(f"{code} {said}".strip(), 300)
    if at(result, "is_error") is True:
        return "the server said that it failed"
    status = at(result, "content", "return_code")
    return f"exit code {status}" if isinstance(status, int) and status else None


def where_words(use: Any) -> str:
    """Where a call runs."""
    if at(use, "type") == "mcp_tool_use":
        return f"MCP server {words.ellipsis(text_at(use, 'server_name'), 60)}".strip()
    return "runs at the API"


def server_call_fragment(
    use: Any,
    result: Any,
    *,
    key: str | None,
    look: Look | None = None,
    parts: tuple[Part | None, Part | None] = (None, None),
) -> Html:
    """A call that somebody else runs, with its result where it has come.

    Args:
        use: The block that asks for it.
        result: The block that answers, if it has come.
        key: The key of the fragment.
        look: How the run is shown.
        parts: What is asked for of a long input, and of a long result.
    """
    failed = failure_words(result)
    state = chip("error", "err") if failed else chip("ok", "ok") if result else None
    name = words.ellipsis(text_at(use, "name") or "tool", 100)
    return h(
        "details",
        h(
            "summary",
            spaced(
                state or chip("no result here"),
                h("code", name, class_="nbr-sig"),
                chip(where_words(use), "src"),
                h("span", _gist(use), class_="nbr-gist"),
            ),
        ),
        json_fragment(at(use, "input"), label="input", look=look, part=parts[0]),
        [label_line("result"), *_result(result, look, parts[1])] if result else None,
        class_="nbr-call nbr-elsewhere",
        data_key=key,
        open=bool(failed),
    )


def lone_result_fragment(
    result: Any,
    *,
    key: str | None,
    look: Look | None = None,
    part: Part | None = None,
) -> Html:
    """A result whose call is in an earlier reply."""
    failed = failure_words(result)
    state = chip("error", "err") if failed else chip("ok", "ok")
    kind = words.ellipsis(text_at(result, "type"), 80)
    return h(
        "details",
        h("summary", spaced(state, h("code", kind, class_="nbr-sig"))),
        _result(result, look, part),
        class_="nbr-call nbr-elsewhere",
        data_key=key,
    )


def server_call_words(use: Any, result: Any) -> str:
    """The same in a line of text."""
    name = words.ellipsis(text_at(use, "name") or "tool", 100)
    line = f"-> {name} ({where_words(use)}) {_gist(use)}".rstrip()
    if result is None:
        return line
    said = failure_words(result) or words.cut_inline(_result_words(result))
    return f"{line}\n<- {said}"


def _gist(use: Any) -> str:
    """The first argument, which says most: the query, the address, the command."""
    given = at(use, "input")
    first = next(iter(given.values()), "") if isinstance(given, dict) else given
    return words.ellipsis(first, 120) if isinstance(first, str) else ""


def _result_words(result: Any) -> str:
    content = at(result, "content")
    if is_text(content):
        return words.result_text(content)
    parts = [text_at(content, "stdout"), text_at(content, "stderr")]
    if isinstance(content, list):
        parts += [
            f"{text_at(item, 'title')} {text_at(item, 'url')}".strip()
            or words.block_words(item)
            for item in content
        ]
    said = "\n".join(part for part in parts if part)
    return said or words.block_words(content)


def _result(result: Any, look: Look | None, part: Part | None) -> list[Html]:
    whose: Any = {"look": look, "part": part}
    content = at(result, "content")
    if failed := failure_words(result):
        return [block(failed), *_known(content, whose)]
    return _known(content, whose) or [json_fragment(content, **whose)]


def _known(content: Any, whose: Any) -> list[Html]:
    """The parts of a result whose shape is known; none of one that is not.

    Args:
        content: What the result holds.
        whose: How the run is shown, and which part of it this is.
    """
    if isinstance(content, str):
        return [block(content or "(an empty text)", **whose)]
    if isinstance(content, list | tuple):
        return [_found(item, whose) for item in content] or [block("(nothing)")]
    kind = text_at(content, "type")
    if kind == "web_fetch_result":
        address = text_at(content, "url")
        where = h("div", link(address, words.ellipsis(address, 200)), class_="nbr-lab")
        return [where, content_block(at(content, "content"), **whose)]
    if kind.endswith("code_execution_result"):
        return _executed(content, whose)
    if kind == "tool_search_tool_search_result":
        found = items_at(content, "tool_references")
        names = ", ".join(text_at(item, "tool_name") for item in found)
        return [block(names or "(no tools)", label="tools found", **whose)]
    return []


def _executed(content: Any, whose: Any) -> list[Html]:
    """What a program printed, and the files it left."""
    parts = [
        block(text, label=name, **whose)
        for name in ("stdout", "stderr")
        if (text := text_at(content, name))
    ]
    if isinstance(text := at(content, "content"), str):
        label = text_at(content, "file_type") or None
        parts.append(block(text, label=label, **whose))
    elif text:
        parts.append(json_fragment(text, label="files", **whose))
    return parts or [block("(no output)")]


def _found(item: Any, whose: Any) -> Html:
    """One thing of a list: a page that a search found, or a content block."""
    if text_at(item, "type") != "web_search_result":
        return content_block(item, **whose)
    address, title = text_at(item, "url"), text_at(item, "title")
    named = words.ellipsis(title or address, 200)
    return h(
        "div",
        spaced(
            link(address, named),
            h("span", words.ellipsis(text_at(item, "page_age"), 40), class_="nbr-num"),
        ),
        h("div", words.ellipsis(address, 200), class_="nbr-num") if title else None,
        class_="nbr-found",
    )
