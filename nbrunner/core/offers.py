"""The tools that the next request offers, and those that were taken from Claude.

Edits that wait for a safe point count as made: who looks at the list sees what was
asked for, and can take it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nbrunner.core.apply import settings_after, tool_changes_of
from nbrunner.core.edits import ChangeTools, SetParams, SetSystem, SetTools
from nbrunner.core.history import survey
from nbrunner.core.tool_changes import NEEDED_BETA, declared, name_in, offered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbrunner.core.blocks import Block
    from nbrunner.core.request import Request, Settings
    from nbrunner.core.transcript import Transcript


class Offer(NamedTuple):
    """A tool that the run has.

    Attributes:
        name: Its name; of a toolset, which has none, what stands for it.
        definition: How it was declared last.
        is_on: Whether the next request offers it.
        is_fixed: Whether it is a toolset, which can be neither taken nor given back.
        waits: Whether an edit waits that takes it or gives it back.
    """

    name: str
    definition: Block
    is_on: bool
    is_fixed: bool
    waits: bool


def offers_of(transcript: Transcript) -> list[Offer]:
    """Every tool that the run has, offered or not, in the order it was given."""
    asked = [
        change
        for edit in transcript.asked_edits
        if isinstance(edit, ChangeTools)
        for change in tool_changes_of(edit)
    ]
    told = (
        settings_to_come(transcript).tools,
        transcript.known,
        (*transcript.tool_changes, *asked),
    )
    on = {tool.get("name") for tool in offered(*told)}
    waiting = {name_in(change) for change in asked}
    return [
        Offer(
            name=_called(tool),
            definition=tool,
            is_on=tool.get("name") in on,
            is_fixed="name" not in tool,
            waits="name" in tool and tool["name"] in waiting,
        )
        for tool in declared(*told)
    ]


def offer_named(transcript: Transcript, name: str) -> Offer | None:
    """The tool of that name, if the run has one that can be taken and given back."""
    named = (o for o in offers_of(transcript) if o.name == name and not o.is_fixed)
    return next(named, None)


def offered_in(request: Request) -> Sequence[Block]:
    """The tools that a request offers, with what its messages say of them."""
    tools = request.settings.tools
    known = request.known
    if len(known) != len(request.messages):
        known = survey(request.messages, known)
    # A page asks this of each of a thousand requests, of which few say anything.
    if not any(f.role == "system" or f.starts_with == "compaction" for f in known):
        return tools
    return offered(tools, known)


def settings_to_come(transcript: Transcript) -> Settings:
    """The settings with the edits made that wait for a safe point."""
    settings = transcript.settings
    for edit in transcript.asked_edits:
        if isinstance(edit, SetSystem | SetTools | SetParams):
            settings = settings_after(settings, edit)
    return settings


def beta_edit(transcript: Transcript, beta: str = NEEDED_BETA) -> SetParams | None:
    """The edit without which the API does not take what is asked; None if it is made.

    Args:
        transcript: The run.
        beta: The beta that the API wants: for a change of tools, if none is named.
    """
    betas = settings_to_come(transcript).params.get("betas") or ()
    return None if beta in betas else SetParams(betas=[*betas, beta])


def _called(tool: Block) -> str:
    kinds = (tool.get(key) for key in ("name", "mcp_server_name", "type"))
    return str(next(kind for kind in (*kinds, "a tool") if kind))
