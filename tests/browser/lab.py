"""A real JupyterLab in a real Chromium, for the tests that nothing less can answer.

    write_notebook(lab.root / "demo.ipynb", ["6 * 7"])
    with lab.open("demo.ipynb") as notebook:
        notebook.run_all()
        notebook.wait_idle()
        assert notebook.outputs(0)[0]["data"]["text/plain"] == "42"

A `Lab` is one server and one browser; a `Notebook` is one page with one notebook in
it. The page is driven by the application's own commands and read from its own model,
both of which it shows to the harness as `window.jupyterapp`: little here depends on
its markup. Each wait has a time limit, and its error says what the page showed.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import nbformat
from playwright.sync_api import TimeoutError as PageTimeoutError
from playwright.sync_api import sync_playwright

from tests.browser.kernels import keep_awake

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from playwright.sync_api import BrowserContext, Locator, Page

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
PAGES = {"lab": "lab/tree/{}?reset", "notebook": "notebooks/{}"}
# Settings of the person at the keyboard, which no test may see.
PERSONAL = ("ANTHROPIC_", "IPYTHON", "JUPYTER", "XDG_")
THEMES = {
    "light": "JupyterLab Light",
    "dark": "JupyterLab Dark",
    "contrast": "JupyterLab Dark High Contrast",
}
SETTINGS = {
    # No question about news, which would cover the page.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # Every cell is in the page, whether or not it is in sight.
    "notebook-extension/tracker": {"windowingMode": "none"},
}

PAGE_SCRIPT = Path(__file__).with_name("page.js")


def write_notebook(path: Path, cells: Iterable[str], kernel: str = "python3") -> Path:
    """Write a notebook of code cells for a Python kernel of these tests."""
    notebook = nbformat.v4.new_notebook()
    # Without a name JupyterLab asks which kernel to start.
    notebook.metadata["kernelspec"] = {"name": kernel, "display_name": kernel}
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    nbformat.write(notebook, path)
    return path


class Lab:
    """A Jupyter server on a free loopback port, and a browser to look at it with.

    `root` is the folder that the server shows: write notebooks there and open them.
    """

    def __init__(self, browser: str, folder: Path) -> None:
        self.root = folder / "notebooks"
        self._browser = browser
        self._folder = folder
        self._token = secrets.token_hex()

    @property
    def kernelspecs(self) -> Path:
        """Where the server finds more kernels, by the folder of each."""
        return self._folder / "data" / "kernels"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._url = self._start_server(stack)
            self._context = self._start_browser(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(
        self,
        name: str,
        app: Literal["lab", "notebook"] = "lab",
        *,
        subshells: bool = True,
    ) -> Notebook:
        """Open a notebook under `root` in JupyterLab or in Notebook 7.

        Without subshells the page sends what widgets say the way that it sends cells,
        as front ends do that do not know subshells.
        """
        self._setting("apputils-extension/themes").unlink(missing_ok=True)
        setting = self._setting("apputils-extension/kernels-settings")
        setting.unlink(missing_ok=True)
        if not subshells:
            setting.write_text(json.dumps({"commsOverSubshells": "disabled"}))
        notebook = Notebook(self._context.new_page(), self.root / name)
        notebook.page.goto(self._url + PAGES[app].format(name))
        # From the first request on, without which the page does not see its kernel.
        keep_awake(notebook)
        notebook.wait_connected()
        return notebook

    def shut_down(self, name: str) -> None:
        """Shut a notebook's kernel down over HTTP: its page may be too busy to."""
        api = f"{self._url}api/sessions"
        for session in self._context.request.get(api).json():
            if session["path"] == name:
                answer = self._context.request.delete(f"{api}/{session['id']}")
                assert answer.ok, answer.text()

    def _setting(self, name: str) -> Path:
        return self._folder / f"settings/@jupyterlab/{name}.jupyterlab-settings"

    def _start_server(self, stack: ExitStack) -> str:
        """Start the server and give its URL, once it has said it."""
        self.root.mkdir()
        for name, setting in SETTINGS.items():
            self._setting(name).parent.mkdir(parents=True, exist_ok=True)
            self._setting(name).write_text(json.dumps(setting))
        log = stack.enter_context((self._folder / "server.log").open("w"))
        server = subprocess.Popen(  # noqa: S603 - our own options
            [sys.executable, "-m", "jupyter_server", *self._options()],
            env=self._environment(),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        stack.callback(self._stop, server)
        said = self._folder / f"runtime/jpserver-{server.pid}.json"
        limit = time.monotonic() + 60
        while not (said.exists() and said.read_text().endswith("}")):
            if server.poll() is not None or time.monotonic() > limit:
                seen = (self._folder / "server.log").read_text()[-2000:]
                message = f"The Jupyter server did not start. It wrote:\n{seen}"
                raise RuntimeError(message)
            time.sleep(0.05)
        url: str = json.loads(said.read_text())["url"]
        return url

    def _options(self) -> list[str]:
        return [
            "--allow-root",
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port=0",
            f"--ServerApp.root_dir={self.root}",
            f"--IdentityProvider.token={self._token}",
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
        ]

    def _environment(self) -> dict[str, str]:
        """Give the server and its kernels a home of their own, and no keys."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(PERSONAL)}
        folders = {
            "HOME": "home",
            "IPYTHONDIR": "ipython",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        }
        own = {name: str(self._folder / folder) for name, folder in folders.items()}
        return kept | own | {"JUPYTER_PLATFORM_DIRS": "1"}

    def _stop(self, server: subprocess.Popen[bytes]) -> None:
        """Ask the server to end, which first shuts its kernels down in good order."""
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
            raise

    def _start_browser(self, stack: ExitStack) -> BrowserContext:
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(
            executable_path=self._browser,
            # A page finds this machine and no other.
            args=["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
        )
        stack.callback(browser.close)
        context = browser.new_context(
            viewport={"width": 1300, "height": 1000},
            extra_http_headers={"Authorization": f"token {self._token}"},
        )
        context.add_init_script(path=PAGE_SCRIPT)
        return context


class Notebook:
    """One page with one notebook: do things there, wait, and read what it shows.

    `page` is Playwright's own, for clicks and looks; `cell(i)` and `output_area(i)`
    narrow it down, as in `notebook.output_area(0).get_by_role("button").click()`.
    `console` collects what the page writes to the browser's console, errors included.
    """

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.path = path
        self.console: list[str] = []
        page.on("console", lambda it: self.console.append(f"{it.type}: {it.text}"))
        page.on("pageerror", lambda it: self.console.append(f"pageerror: {it}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error:
            self.screenshot(f"failed-{self.path.stem}")
        self.close()

    # -- do

    def run_all(self) -> None:
        """Start all cells, as by Run All; do not wait for them."""
        self.page.evaluate("harness.run('notebook:run-all-cells')")

    def run_cell(self, index: int) -> None:
        """Start one cell; do not wait for it."""
        self.page.evaluate("index => harness.runCell(index)", index)

    def interrupt(self) -> None:
        """Interrupt the kernel, as the stop button does."""
        self._do("interrupt")

    def restart_kernel(self) -> None:
        """Restart the kernel, and wait until it is there again."""
        self._do("restart")
        self.wait_idle()

    def save(self) -> None:
        """Save the notebook to disk."""
        self._do("save")

    def reload(self) -> None:
        """Load the page anew, as a person does; the kernel stays."""
        self.reload_busy()
        self.wait_connected()

    def reload_busy(self) -> None:
        """Load the page anew while a cell runs; the kernel may say nothing yet."""
        self.page.reload()
        there = "window.harness?.panel()?.content.widgets.length"
        self.wait_until(there, "the notebook", 60)
        keep_awake(self)

    def set_theme(self, theme: str) -> None:
        """Change the theme to one of `THEMES`; it holds for this page."""
        self._do("theme", THEMES[theme])
        light = json.dumps(str(theme == "light").lower())
        # The splash covers the page until all of the theme is there.
        shown = (
            f"document.body.dataset.jpThemeLight === {light}"
            " && !document.getElementById('jupyterlab-splash')"
        )
        self.wait_until(shown, f"the {theme} theme")

    def hide_sidebar(self) -> None:
        """Give the notebook the whole width of JupyterLab's page."""
        self._do("hide")

    def evaluate(self, code: str, *, timeout_s: float = 30) -> str:
        """Run code in the idle kernel, unseen by the notebook; give what it printed."""
        return str(self._do("evaluate", code, timeout_s=timeout_s))

    def close(self) -> None:
        """Shut the kernel down and close the page."""
        self._do("shutdown")
        self.page.close()

    # -- wait

    def wait_connected(self, *, timeout_s: float = 60) -> None:
        """Wait until the page shows the notebook and talks to its kernel."""
        self.wait_until("harness.connected()", "a connected kernel", timeout_s)

    def wait_idle(self, *, timeout_s: float = 60) -> None:
        """Wait until no cell is running or queued and the kernel is idle."""
        self.wait_until("harness.idle()", "an idle notebook", timeout_s)

    def wait_until(self, condition: str, what: str, timeout_s: float = 30) -> None:
        """Wait for a condition in JavaScript, which the page checks 20 times a second.

        `what` names it in the error, which says what the page showed instead.
        """
        try:
            self.page.wait_for_function(
                f"() => {condition}", polling=50, timeout=timeout_s * 1000
            )
        except PageTimeoutError:
            seen = self.page.evaluate("harness.seen()")
            message = (
                f"{self.path.name}: waited {timeout_s:g} s for {what}; the page shows "
                f"{seen}, and the console ended with {self.console[-3:]}"
            )
            raise TimeoutError(message) from None

    # -- read

    @property
    def kernel(self) -> str:
        """The name of the kernelspec that the notebook asks for."""
        return str(self.saved().metadata.kernelspec.name)

    def cell(self, index: int) -> Locator:
        """Point at one cell in the page."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def output_area(self, index: int) -> Locator:
        """Point at what one cell shows below its source."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def prompt(self, index: int) -> str:
        """Read a cell's prompt: `[ ]:`, `[*]:` or `[3]:`."""
        prompt: str = self.page.evaluate("index => harness.prompts()[index]", index)
        return prompt

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """Read a cell's outputs, as the notebook format has them."""
        outputs: list[dict[str, Any]] = self.page.evaluate(
            "index => harness.cell(index).model.outputs.toJSON()", index
        )
        return outputs

    def saved(self) -> nbformat.NotebookNode:
        """Read the notebook from disk."""
        return nbformat.read(self.path, as_version=4)

    def screenshot(self, name: str, part: Locator | None = None) -> Path:
        """Take a picture of the page or a part of it, into build/screenshots."""
        path = self.picture(name)
        (part or self.page).screenshot(path=path)
        return path

    def picture(self, name: str) -> Path:
        """Where a screenshot of that name goes."""
        return SCREENSHOTS / f"{name}.png"

    # -- the page script

    def _do(self, action: str, argument: str = "", *, timeout_s: float = 30) -> object:
        """Start an action of the page script and wait for what it comes to."""
        self.page.evaluate("it => harness.start(...it)", [action, argument])
        self.wait_until("harness.answer", f"the end of {action!r}", timeout_s)
        answer: dict[str, object] = self.page.evaluate("harness.answer")
        if "error" in answer:
            message = f"{self.path.name}: {action!r} failed: {answer['error']}"
            raise RuntimeError(message)
        return answer["value"]
