"""What holds for every test: no network, no keys, no one's home folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import pytest_socket
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOOPBACK = ["127.0.0.1", "::1", "localhost"]
# The tests that talk to a kernel or a server of their own, by folder.
LOOPBACK_FOLDERS = {"browser", "interop", "kernel"}
# Settings of the person at the keyboard, which no test may see.
PERSONAL = ("ANTHROPIC_", "IPYTHON", "JUPYTER", "XDG_")

# No test fails for being slow: the machine may be busy with something else.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "loopback: may use sockets, to this machine only"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the browser's tests last.

    They are the slow ones, and Playwright leaves an event loop running in the main
    thread, in which no other test could call `asyncio.run`.
    """
    items.sort(key=lambda item: folder(item) == "browser")


@pytest.fixture(autouse=True)
def private_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    home = tmp_path_factory.mktemp("home")
    for name in os.environ:
        if name.startswith(PERSONAL):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(home / "jupyter" / name.lower()))
    monkeypatch.setenv("IPYTHONDIR", str(home / "ipython"))
    # Without it jupyter_core warns that its folders are about to move.
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    return home


@pytest.fixture(autouse=True)
def network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Refuse sockets: all of them, or in some tests those that leave this machine."""
    marked = request.node.get_closest_marker("loopback")
    if marked or folder(request.node) in LOOPBACK_FOLDERS:
        pytest_socket.socket_allow_hosts(LOOPBACK, allow_unix_socket=True)
    else:
        pytest_socket.disable_socket(allow_unix_socket=True)
    yield
    pytest_socket._remove_restrictions()


def folder(item: pytest.Item) -> str:
    """Name the folder under tests/ that a test stands in."""
    return item.path.relative_to(item.config.rootpath / "tests").parts[0]
