"""The extension: `%%toolrun` in a shell, exactly once, however often it is loaded.

The SDK takes most of a second to load. A cell that runs a tool loop needs it (and has
it, from the cell that defined the tools); `%load_ext nbrunner` does not wait for it.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError as ShellUsageError
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand
from traitlets import Bool, Int, Unicode

from nbrunner.core.defaults import DEFAULT_MAX_TOKENS, DEFAULT_MODEL
from nbrunner.core.redact import redact
from nbrunner.errors import NbrunnerError, UsageError
from nbrunner.magic.cell import awaited, blocking, detached
from nbrunner.magic.line import (
    USAGE,
    HelpAsked,
    Line,
    going_on,
    help_text,
    parse_line,
)
from nbrunner.presence import someone_is_there

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbrunner.run import Run

_FIRST_LINE = re.compile(r"%%toolrun(?![\w-])(?P<line>.*)", re.DOTALL)

_depth: ContextVar[int] = ContextVar("nbrunner_depth", default=0)
"""How many cells this context is in: subshells run cells side by side."""


@magics_class
class ToolrunMagics(Magics):
    """`%%toolrun`, with its defaults: `%config ToolrunMagics.model = "..."`."""

    model = Unicode(DEFAULT_MODEL, help="Model of a run that names none.").tag(
        config=True
    )
    max_tokens = Int(
        DEFAULT_MAX_TOKENS, min=1, help="Most tokens of one reply of a run."
    ).tag(config=True)
    max_iterations = Int(
        50, min=1, help="Most replies of a run that sets no limit itself."
    ).tag(config=True)
    break_on_repeats = Bool(
        default_value=True,
        help="Whether a run pauses when it looks like a loop: the same call with the "
        "same input in three replies in a row. Where nobody sits it goes on.",
    ).tag(config=True)
    continues = Bool(
        default_value=False,
        help="Whether a cell goes on with the run of its name, or without a name with "
        "the last run, as in a chat. Otherwise it starts anew; --continue goes on.",
    ).tag(config=True)

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell

    @no_var_expand
    @cell_magic
    def toolrun(self, line: str, cell: str) -> None:
        """Run a tool loop in this cell, blocking: reached only under another magic."""
        if (run := self._begun(line, cell)) is not None:
            blocking(run, self._shell)

    # What `%%toolrun?` shows.
    toolrun.__doc__ = f"Run a tool loop in this cell.\n\n{help_text()}"

    async def toolrun_awaited(self, line: str, cell: str) -> None:
        """Run a tool loop in this cell and leave the kernel free to hear clicks."""
        if (run := self._begun(line, cell)) is not None:
            await awaited(run, self._shell)

    def rewrite(self, lines: list[str]) -> list[str]:
        """Make a `%%toolrun` cell a top-level await.

        A cell magic is a plain call, and a plain call blocks the kernel: no click
        would arrive. Inside another cell (`%%time`) nothing can be awaited, so the
        cell is left to the magic.
        """
        match = _FIRST_LINE.fullmatch(lines[0]) if lines else None
        if match is None or _depth.get() or match["line"].rstrip().endswith("?"):
            return lines
        line, body = match["line"].strip(), "".join(lines[1:])
        call = f"toolrun_awaited({line!r}, {body!r})"
        return [f"await get_ipython().find_magic('toolrun', 'cell').__self__.{call}\n"]

    def entered(self, *_: Any) -> None:
        """A cell begins; cells nest under magics that run one."""
        _depth.set(_depth.get() + 1)

    def left(self, *_: Any) -> None:
        """A cell ended."""
        # The kernel awaits a cell in a task of its own, and tells of its end outside.
        _depth.set(max(0, _depth.get() - 1))

    def _begun(self, line: str, cell: str) -> Run | None:
        """The cell's run, in the notebook's variables, if the cell is to wait for it.

        Raises:
            ShellUsageError: What is wrong with the cell; IPython shows it as one line.
        """
        from nbrunner.magic.compose import RUN_NAME  # noqa: PLC0415 - the SDK

        try:
            if not line.strip():
                raise UsageError(self._no_arguments())
            options = parse_line(line)
            is_attended = someone_is_there(self._shell)
            run = self._composed(options, cell, is_attended=is_attended)
        except HelpAsked as help_:
            print(help_)  # noqa: T201 - what was asked for
            return None
        except (NbrunnerError, TypeError) as error:
            raise ShellUsageError(redact(str(error))) from None
        if options.step and is_attended:
            run.pause()
        self._shell.user_ns.update({run.name: run, RUN_NAME: run})
        if options.detach and is_attended:
            detached(run)
            return None
        return run

    def _composed(self, options: Line, cell: str, *, is_attended: bool) -> Run:
        """The run that a cell asks for.

        Raises:
            UsageError: It cannot be, or the last one of its name still goes on.
        """
        from nbrunner.magic.compose import RUN_NAME, compose  # noqa: PLC0415 - the SDK
        from nbrunner.run import Run  # noqa: PLC0415 - the same

        variables = self._shell.user_ns
        name = options.name or RUN_NAME
        last = variables.get(name)
        if isinstance(last, Run) and last.name == name and last.is_running:
            raise UsageError(
                f"{name} is running already, and would go on unseen. Stop it with "
                f"{name}.stop(), wait for it with `await {name}`, or give this run "
                "another name."
            )
        if self.continues and isinstance(last, Run):
            options = going_on(options, name)
        return compose(
            options,
            cell,
            variables,
            model=self.model,
            max_tokens=self.max_tokens,
            max_iterations=self.max_iterations,
            hold=options.hold,
            break_on_error=options.break_on_error,
            break_on_repeats=self.break_on_repeats and is_attended,
            hold_on_failure=is_attended,
        )

    def _no_arguments(self) -> str:
        from nbrunner.magic.compose import tool_names  # noqa: PLC0415 - the SDK

        names = tool_names(self._shell.user_ns)
        at_hand = f"\n\nTools in this notebook: {', '.join(names)}." if names else ""
        return f"%%toolrun needs arguments.\n\n{USAGE}{at_hand}"


_loaded: dict[int, ToolrunMagics] = {}


def load(shell: InteractiveShell) -> None:
    """Register the magic, its rewriting and its defaults, one of each."""
    unload(shell)
    magics = ToolrunMagics(shell)
    shell.register_magics(magics)
    shell.input_transformers_cleanup.append(magics.rewrite)
    shell.events.register("pre_run_cell", magics.entered)
    shell.events.register("post_run_cell", magics.left)
    _loaded[id(shell)] = magics


def unload(shell: InteractiveShell) -> None:
    """Take out what `load` put in."""
    magics = _loaded.pop(id(shell), None)
    if magics is None:
        return
    shell.events.unregister("pre_run_cell", magics.entered)
    shell.events.unregister("post_run_cell", magics.left)
    shell.input_transformers_cleanup.remove(magics.rewrite)
    configurables: list[Any] = shell.configurables
    configurables.remove(magics)
    shell.magics_manager.magics["cell"].pop("toolrun", None)
