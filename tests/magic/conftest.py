"""A real IPython shell in this process, with the extension loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from anthropic import beta_tool
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbrunner import replay
from nbrunner.replay import say, script, use

if TYPE_CHECKING:
    from collections.abc import Iterator


@beta_tool
def get_weather(location: str) -> str:
    """Get the weather.

    Args:
        location: Where.
    """
    return f"sunny in {location}"


def plain_function(location: str) -> str:
    return location


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    # No history: its database would be one file for all test runs of a machine.
    config = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell.instance(config=config)
    replies = replay.play(
        script(use("get_weather", location="Paris"), say("It is sunny."))
    )
    shell.user_ns.update(
        get_weather=get_weather,
        plain_function=plain_function,
        replies=replies,
        polite="Be polite.",
        settings={"temperature": 1},
        taken={"tools": []},
    )
    shell.run_line_magic("load_ext", "nbrunner")
    yield shell
    shell.run_line_magic("unload_ext", "nbrunner")
    InteractiveShell.clear_instance()
