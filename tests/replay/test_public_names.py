from __future__ import annotations

import subprocess
import sys

import pytest

from nbrunner import replay


def test_the_public_names_are_there_and_sorted() -> None:
    assert replay.__all__ == sorted(replay.__all__)
    for name in replay.__all__:
        assert callable(getattr(replay, name))


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'rewind'"):
        replay.rewind  # noqa: B018 - asking for it is the test


def test_scripts_and_cassettes_are_made_without_the_sdk() -> None:
    code = """
import sys
from nbrunner import replay
replay.play(replay.script("Hi.", replay.use("f", x=1)))
print("anthropic" in sys.modules)
"""
    # In a process of its own: this one has loaded the SDK long ago.
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
