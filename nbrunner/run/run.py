"""`Run`: a conversation with tools that can be watched and steered.

The composition root: it joins the loop, the views and the panel for a user, and
holds no state of its own beyond them. What happened is in the transcript.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from nbrunner.core.apply import try_on
from nbrunner.core.events import EditApplied, Forked
from nbrunner.errors import UsageError
from nbrunner.run.debugging import Debugging
from nbrunner.views.compared import Compared
from nbrunner.views.tree import Tree
from nbrunner.views.words import count as counted
from nbrunner.views.words import state as state_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbrunner.core.edits import Edit


class Run(Debugging):
    """One conversation branch: settings, history, and whatever is asked of it.

    Nothing is sent before `start()`, `wait()`, `await` or a loop of your own over it.
    Every method may be called while it is at work, from any thread.

    Args:
        client: An `anthropic.Anthropic`, or replies to play (a script, a cassette or
            its path, `replay.play(...)`, any httpx2 transport). Without one, a live
            client is made from the environment.
        tools: `@beta_tool` functions, SDK tool objects, raw definitions.
        messages: The conversation so far; a str is one user message.
        model: The model's name.
        max_tokens: The most tokens of one reply.
        system: The system prompt: a str or a list of text blocks.
        max_iterations: How many replies one start asks for at most.
        stream: Whether replies are streamed.
        hold: Stay open at the end, in the thread and in the panel, until someone
            calls `stop()`: a message sent meanwhile takes the run further. Ignored
            in a kernel that nobody sits at (nbclient, papermill).
        approver: Says of each call whether it may run: `approve_all`, `reject_all`,
            `ask`, `by_tool(...)`, or a function of your own that takes the call.
        allow_ungated: Accept tools that no approver can be asked about: those that
            the API or an MCP server runs.
        hold_on_failure: Wait for `retry()` or `stop()` after a request that failed
            and may succeed when sent again, instead of ending.
        break_on_error: Pause when a tool call failed, before its result goes out; in
            a kernel that nobody sits at the run goes on, and its page says so.
        break_on_repeats: The same when replies make the same call with the same input
            over and over: at the third in a row, and at every third after it.
        sdk_texts: Send Claude the SDK's own texts for an invalid input, an unknown
            tool and an odd return value, in place of ours.
        parallel_calls: Make the calls of one reply side by side, each in a thread of
            its own, in place of one after the other. The results keep their order.
        run_tools_eagerly: Run each call of a streamed reply once the model has moved on
            from it, before the reply is whole, as the SDK does when told so. A call
            that a person is asked about waits for the whole reply. Where the stream
            breaks, the calls that ran are shown, and a retry may run them twice.
        main_thread: The names of tools that run on the main thread, because they hold
            something of it: an open sqlite3 connection, a window. It makes their
            calls while a cell awaits the run or waits for it, and between cells.
        name: What the run is called in its panel and in its lines of Python; the
            notebook's variable that holds it if None.
        **params: Any other parameter of the SDK's `tool_runner()`.

    Raises:
        UnknownParameter: A parameter that the SDK does not know (a TypeError).
        NotATool: Something in `tools` is not a tool.
        NotAnApprover: The approver is not one.
        Ungated: With an approver, a tool runs without asking it.
        UnknownTool: A name in `main_thread` is none of a tool.
        NotAClient: The client is one for asyncio.
        NoKey: No client was given and the environment holds no key.

    Attributes:
        panels: The live panels that were made of this run and are still held.
        parent: The run that this one was forked from; None for one of its own.
        branches: The runs that were forked from this one, oldest first.
    """

    # -- branches --------------------------------------------------------------

    def fork(
        self,
        at: int | None = None,
        edits: Iterable[Edit] = (),
        *,
        name: str | None = None,
        client: Any = None,
    ) -> Run:
        """A new run that goes another way from an iteration on; this one stays.

        Args:
            at: The index of the iteration that it asks anew, from 0; None is the end
                of the conversation, and a negative one counts from there.
            edits: What is different in it. Results that came before may be edited.
            name: What it is called; the variable that holds it if None.
            client: Who answers it; this run's client if None.

        Raises:
            UsageError: There is no such iteration.
            EditRefused: An edit cannot be made.
        """
        with self._ledger.lock:
            transcript = self.transcript.branch(self._place(at), self.name)
            fork = copy.copy(self)
            fork._name = name  # noqa: SLF001 - its own class
            fork._called = f"{self.name}.branches[{len(self.branches)}]"  # noqa: SLF001 - its own class
            fork._tools = self._tools.copy()  # noqa: SLF001 - its own class
            fork._set_out(transcript)  # noqa: SLF001 - its own class
            fork.parent = self
            if client is not None:
                fork._set_client(client)  # noqa: SLF001 - its own class
            for edit in edits:
                fork._make(edit)
            self.branches.append(fork)
            parent = fork.transcript.parent
            assert parent is not None  # noqa: S101 - it was forked
            self._ledger.write(Forked(name=fork.name, at=parent.at))
        return fork

    def tree(self) -> Tree:
        """This run and the runs that were forked from it, as a tree to look at."""
        return self._tree(self.name)

    def _tree(self, line: str) -> Tree:
        transcript = self.transcript
        branches = enumerate(self.branches)
        return Tree(
            name=self.name,
            line=line,
            state=state_of(transcript),
            at=transcript.parent.at if transcript.parent else None,
            count=len(transcript.iterations),
            branches=tuple(b._tree(f"{line}.branches[{n}]") for n, b in branches),  # noqa: SLF001 - its own class
        )

    def diff(self, other: Run) -> Compared:
        """What differs between this run and another: where they part, and the ends.

        Args:
            other: Mostly a branch: `run.diff(run.branches[-1])`.
        """
        names = (self.name, other.name)
        return Compared.of(self.transcript, other.transcript, names)

    def _place(self, at: int | None) -> int | None:
        """The index of an iteration to fork at; None is the end.

        Raises:
            UsageError: There is no such iteration.
        """
        count = len(self.transcript.iterations)
        if at is None or at == count:
            return None
        if not -count <= at < count:
            raise UsageError(
                f"{self.name} has {counted(count, 'iteration')}, and none at {at}. "
                f"Name one from 0 to {max(count - 1, 0)}, or leave it out to fork at "
                "the end."
            )
        return at % count

    def _make(self, edit: Edit) -> None:
        checked = self._checked(edit)
        self._check_choice(checked)
        try_on(self.transcript, checked, by="code")
        self._ledger.write(EditApplied(edit=checked, by="code"))
