"""What a request's one line says of the request before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbrunner.core.request import Request, Settings
from nbrunner.core.tool_changes import addition_of, removal_of
from nbrunner.views.page import panel_content, static_page
from nbrunner.views.request_changes import changed_words
from tests.views.page_parser import parsed
from tests.views.runs import finished, use

if TYPE_CHECKING:
    from nbrunner.core.transcript import Iteration

ADD, GIVE = {"name": "add"}, {"name": "give"}
BROWSER = {"type": "browser_toolset_20260801"}
TOLD = {"role": "system", "content": [removal_of("add"), addition_of({"name": "new"})]}
MANY = {f"param_{n}": n for n in range(6)}


def request(*messages: Any, **given: Any) -> Request:
    fields = {"model": "a", "max_tokens": 9, "tools": (ADD, GIVE, BROWSER), **given}
    question = {"role": "user", "content": "?"}
    return Request(settings=Settings(**fields), messages=(question, *messages))


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (request(), []),
        (request({"role": "system", "content": "Be brief."}), []),
        (request(model="b"), ["model changed"]),
        (request(system="Be brief.", max_tokens=8), ["max_tokens, system changed"]),
        (request(params={"thinking": {}}), ["thinking changed"]),
        (
            request(model="b", params=MANY),
            ["model, param_0, param_1, param_2, 3 more changed"],
        ),
        (request(tools=()), ["3 tools fewer"]),
        (request(tools=(GIVE, ADD, BROWSER, {"name": "c"})), ["1 tool more"]),
        (request(tools=({**ADD, "x": 1}, GIVE, BROWSER)), ["tools changed"]),
        (request(TOLD), ["1 tool more", "1 tool fewer"]),
        (request(TOLD, model="b"), ["model changed", "1 tool more", "1 tool fewer"]),
    ],
)
def test_what_is_other_than_in_the_request_before_is_named(
    after: Request, said: list[str]
) -> None:
    assert [*changed_words(request(), after)] == said


def changed(run: Any, place: int, **changes: Any) -> Any:
    iterations: list[Iteration] = list(run.transcript.iterations)
    it = iterations[place]
    settings = it.request.settings.model_copy(update=changes)
    newer = it.request.model_copy(update={"settings": settings})
    iterations[place] = it.model_copy(update={"request": newer})
    return run.transcript.model_copy(update={"iterations": tuple(iterations)})


def test_a_closed_request_says_what_changed_live_and_on_the_static_page() -> None:
    run = finished(use("get_weather", location="Paris"), "Done.")
    transcript = changed(run, 1, model="b", tools=run.transcript.settings.tools[:1])
    line = "request 2 · 3 messages · 1 tool · model changed · 2 tools fewer"
    for page in (panel_content, static_page):
        assert line in parsed(str(page(transcript, name="run"))).text
    plain = parsed(static_page(run.transcript, name="run")).text
    assert "request 2 · 3 messages · 3 tools" in plain
    assert "changed" not in plain
