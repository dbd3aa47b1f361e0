"""One JupyterLab and one Chromium for all browser tests."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.browser.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    browser = os.environ.get("NBRUNNER_BROWSER")
    if not browser:
        pytest.fail("NBRUNNER_BROWSER names no browser: set it, or run `make browser`.")
    # A killed test run still takes its server down with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with Lab(browser, tmp_path_factory.mktemp("lab")) as running:
        yield running
