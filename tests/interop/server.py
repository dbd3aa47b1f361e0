"""A mock server that others wrote: `@copilotkit/aimock`, as a real HTTP server.

It speaks the Messages API, plain and streaming, from replies in a JSON file, and can
be told to fail: to drop a request, to answer with broken JSON, to hang up.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

import httpx2

HERE = Path(__file__).parent
REPLIES = HERE / "replies.json"
INSTALLED = Path(os.environ.get("NBRUNNER_INTEROP", HERE)) / "node_modules"


class Server:
    """The server on a free loopback port, for as long as the `with` goes on."""

    def __enter__(self) -> Self:
        program = INSTALLED / "@copilotkit" / "aimock" / "dist" / "cli.js"
        node = shutil.which("node")
        if not node or not program.exists():
            raise RuntimeError(f"No {program}: `make test-interop` installs it.")
        self._process = subprocess.Popen(  # noqa: S603 - our own pin
            [node, program, "--port", "0", "--fixtures", REPLIES, "--strict"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.url = self._read_address()
        self._control = httpx2.Client(base_url=self.url)
        return self

    def __exit__(self, *_: object) -> None:
        self._control.close()
        self._process.terminate()
        print(self._process.communicate()[0])  # noqa: T201 - pytest shows it on failure

    def fails(self, **rates: float) -> None:
        """Let requests fail from now on, each kind of fault at its rate from 0 to 1.

        The kinds: `dropRate`, `malformedRate`, `disconnectRate`, `rateLimitRate`.
        """
        self._control.post("/__aimock/chaos", json=rates).raise_for_status()

    def is_well(self) -> None:
        """Let no request fail from now on."""
        self._control.delete("/__aimock/chaos").raise_for_status()

    def forget(self) -> None:
        """Forget what was asked, and how often each reply was given."""
        self._control.post("/__aimock/reset/journal").raise_for_status()

    def statuses(self) -> list[int]:
        """The status of each answer since `forget`; of a hang-up too."""
        journal: list[dict[str, Any]] = self._control.get("/__aimock/journal").json()
        return [entry["response"]["status"] for entry in journal]

    def _read_address(self) -> str:
        assert self._process.stdout
        said = []
        for line in self._process.stdout:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                return found[0]
        raise RuntimeError("aimock did not start:\n" + "".join(said))
