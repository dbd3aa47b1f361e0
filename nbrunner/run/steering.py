"""Every hand on the loop: each click of the panel is one of these lines of Python."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, get_args

from nbrunner.core.apply import settings_after
from nbrunner.core.blocks import content_of, text_of, well_formed
from nbrunner.core.commands import (
    Answer,
    Approve,
    By,
    Command,
    Inject,
    Pause,
    Reject,
    Resume,
    Retry,
    Step,
    Submit,
    Withdraw,
    WithdrawEdit,
)
from nbrunner.core.edits import ChangeTools, Edit, SetParams, SetTools
from nbrunner.core.events import CommandRefused
from nbrunner.core.offers import offer_named, offers_of
from nbrunner.core.redact import redact
from nbrunner.core.request import NAMED_SETTINGS
from nbrunner.errors import UnknownParameter, UnknownTool, UsageError
from nbrunner.loop._sdk import checked_parameters, plain
from nbrunner.loop.controls import why_not_again
from nbrunner.loop.results import content_of_error, content_of_return
from nbrunner.run.asking import ask_about_next
from nbrunner.run.note import Note
from nbrunner.run.running import Running
from nbrunner.run.waiting_edit import WaitingEdit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbrunner.core.blocks import Block

_ids = itertools.count(1)
_EDITS = get_args(get_args(Edit)[0])
# As parameters they would go out beside what the run keeps, gates and page included.
_OTHER_HANDS = {
    "messages": "messages is no parameter of a run: change it with SetMessages(...).",
    "system": "system is no parameter of a run: change it with SetSystem(...).",
    "tools": "tools is no parameter of a run: change it with SetTools(...).",
}


class Steering(Running):
    """A branch that can be steered while it runs, from any thread."""

    def inject(self, text: str, *, by: By = "code") -> Note:
        """Send a message with the next request, behind the tool results.

        Raises:
            UsageError: The text is empty, which the API refuses.
        """
        if not text.strip():
            raise UsageError("The message is empty: there is nothing to send.")
        return self._inject(Inject(note_id=_new_id("note"), text=well_formed(text)), by)

    def withdraw(self, waiting_id: str, *, by: By = "code") -> bool:
        """Take back what waits; False if it has gone out or is made already.

        Args:
            waiting_id: The id of a message or of an edit.
            by: Who takes it back.
        """
        with self._ledger.lock:
            if any(note.id == waiting_id for note in self.transcript.waiting):
                self._ask(Withdraw(note_id=waiting_id), by)
                return True
            if any(it.edit_id == waiting_id for it in self.transcript.submitted):
                self._ask(WithdrawEdit(edit_id=waiting_id), by)
                return True
            return False

    def submit(self, edit: Edit, *, by: By = "code") -> WaitingEdit:
        """Make an edit to the next request, at the next safe point.

        Raises:
            UnknownParameter: A parameter that the SDK does not know.
            NotATool: Something among the tools is not a tool.
            UnknownTool: A tool is named that the run does not have.
            Ungated: With an approver, a tool would run without asking it.
        """
        checked = self._checked(edit)
        self._check_choice(checked)
        return self._submit(checked, by)

    def pause(self, *, by: By = "code") -> None:
        """Halt before the next request."""
        self._ask(Pause(), by)

    def resume(self, *, by: By = "code") -> None:
        """Go on, after a pause or after an end."""
        self._set_going(Resume(), by)

    def step(self, *, by: By = "code") -> None:
        """Do one iteration, then halt."""
        self._set_going(Step(), by)

    def retry(self, *, attempt: str | None = None, by: By = "code") -> None:
        """Ask again: drop the last reply, or send a failed request once more.

        The tools of a reply that is dropped do not run. Those that have run have run,
        and their results are dropped with it. While a reply streams, it is broken off.

        Args:
            attempt: Which attempt is meant, by the name in `Iteration.attempt`; if it
                is not the newest any more, nothing happens.
            by: Who asks.
        """
        retry = Retry(attempt=attempt)
        with self._ledger.lock:
            reason = why_not_again(self.transcript, attempt)
            if reason is None:
                self._set_going(retry, by)
            else:
                self._ledger.write(CommandRefused(command=retry, reason=reason))

    def approve(
        self,
        call_id: str,
        *,
        for_rest: bool = False,
        digest: str | None = None,
        by: By = "code",
        **changed: Any,
    ) -> None:
        """Let a call run that waits for a decision.

        Args:
            call_id: The `tool_use` id.
            for_rest: Let every later call of this tool run without asking.
            digest: Stands for the input that was looked at; another one is refused.
            by: Who decides.
            **changed: `input=`: what it is to run with instead.
        """
        if changed.keys() - {"input"}:
            raise UsageError(f"approve() takes input=, not {', '.join(changed)}=.")
        approve = Approve(
            call_id=call_id,
            digest=digest,
            input=plain(changed.get("input")),
            is_modified="input" in changed,
            for_rest=for_rest,
        )
        self._ask(approve, by)

    def reject(
        self,
        call_id: str,
        reason: str = "",
        *,
        digest: str | None = None,
        by: By = "code",
    ) -> None:
        """Do not let a call run; Claude reads the reason."""
        reject = Reject(call_id=call_id, digest=digest, reason=well_formed(reason))
        self._ask(reject, by)

    def answer(
        self,
        call_id: str,
        result: Any,
        *,
        is_error: bool = False,
        digest: str | None = None,
        by: By = "code",
    ) -> None:
        """Give a call its result by hand; its tool does not run.

        Args:
            call_id: The `tool_use` id of a call that has not begun.
            result: A str, a list of content blocks, or what becomes JSON.
            is_error: Whether Claude reads it as an error.
            digest: Stands for the input that was looked at; another one is refused.
            by: Who answers.
        """
        read = content_of_error if is_error else content_of_return
        content, _ = read(result, call_id)
        answer = Answer(
            call_id=call_id, digest=digest, content=content, is_error=is_error
        )
        self._ask(answer, by)

    def _ask_person(self) -> bool:
        return ask_about_next(self)

    def _submit(self, checked: Edit, by: By) -> WaitingEdit:
        submit = Submit(edit=checked, edit_id=_new_id("edit"))
        self._ask(submit, by)
        return WaitingEdit(self, submit.edit_id, checked)

    def _inject(self, inject: Inject, by: By) -> Note:
        self._ask(inject, by)
        return Note(self, inject.note_id, inject.text)

    def _inject_message(self, message: Mapping[str, Any], by: By = "code") -> Note:
        text = text_of(content_of(dict(message)))
        return self._inject(
            Inject(note_id=_new_id("note"), text=text, message=dict(message)), by
        )

    def _checked(self, edit: Edit) -> Edit:
        """The edit, if it can be made; tool objects in it are kept: they run."""
        if not isinstance(edit, _EDITS):
            names = ", ".join(kind.__name__ for kind in _EDITS)
            raise UsageError(
                f"{redact(repr(edit)):.200} is not an edit. Give one of {names}: "
                'SetSystem("..."), say.'
            )
        checked = self._with_known_parts(edit)
        if isinstance(checked, SetTools | SetParams):
            self._check_gates(settings_after(self.transcript.settings, checked))
        if isinstance(checked, ChangeTools):
            settings = self.transcript.settings
            all_tools = SetTools((*settings.tools, *checked.added))
            self._check_gates(settings_after(settings, all_tools))
        return checked

    def _check_choice(self, edit: Edit) -> None:
        """Refuse a `tool_choice` that names no tool of the next request."""
        choice = edit.params.get("tool_choice") if isinstance(edit, SetParams) else None
        if not isinstance(choice, dict) or choice.get("type") != "tool":
            return
        offers = offers_of(self.transcript)
        names = [offer.name for offer in offers if offer.is_on]
        # Of a toolset the names of its members are not known here.
        has_toolset = any(offer.is_fixed for offer in offers)
        if choice.get("name") not in names and not has_toolset:
            raise UnknownTool("tool_choice", str(choice.get("name")), names)

    def _with_known_parts(self, edit: Edit) -> Edit:
        if isinstance(edit, SetTools):
            return SetTools(self._tools.learn(edit.tools))
        if isinstance(edit, ChangeTools):
            return ChangeTools(added=self._added(edit.added), removed=edit.removed)
        if isinstance(edit, SetParams):
            own = {k: v for k, v in edit.params.items() if k in NAMED_SETTINGS}
            others = {k: v for k, v in edit.params.items() if k not in own}
            for name in _OTHER_HANDS.keys() & others.keys():
                raise UnknownParameter(name, (), _OTHER_HANDS[name])
            return SetParams({**own, **plain(checked_parameters(others))})
        return edit

    def _added(self, given: Iterable[Any]) -> tuple[Block, ...]:
        """The definitions of tools that are added; a name is one that the run has.

        Raises:
            UnknownTool: The run has no tool of a name.
        """
        named: dict[str, Block] = {}
        for name in (tool for tool in given if isinstance(tool, str)):
            if (offer := offer_named(self.transcript, name)) is None:
                known = [o.name for o in offers_of(self.transcript) if not o.is_fixed]
                raise UnknownTool("add_tools", name, known)
            named[name] = offer.definition
        # What runs for a name stays: only a new tool takes its place.
        learned = iter(
            self._tools.learn_added(t for t in given if not isinstance(t, str))
        )
        return tuple(named[t] if isinstance(t, str) else next(learned) for t in given)

    def _set_going(self, command: Command, by: By) -> None:
        with self._ledger.lock:
            self._ask(command, by)
            if not self.is_running:
                self.start()


def _new_id(kind: str) -> str:
    return f"{kind}_{next(_ids)}"
