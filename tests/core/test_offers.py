"""Which tools the next request offers, as a person chooses among them."""

from __future__ import annotations

from typing import Any

from nbrunner.core.commands import Submit
from nbrunner.core.edits import ChangeTools, SetParams, SetTools
from nbrunner.core.offers import beta_edit, offer_named, offers_of, settings_to_come
from nbrunner.core.request import Settings
from nbrunner.core.tool_changes import NEEDED_BETA, addition_of, removal_of
from nbrunner.core.transcript import Transcript

ADD, GIVE = {"name": "add"}, {"name": "give"}
BROWSER = {"type": "browser_toolset_20260801"}
SERVER = {"type": "mcp_toolset", "mcp_server_name": "tracker"}


def run(*told: Any, asked: Any = (), **given: Any) -> Transcript:
    """A run with two tools that was told of these changes."""
    fields = {"model": "m", "max_tokens": 9, "tools": (ADD, GIVE), **given}
    messages = [{"role": "user", "content": "?"}]
    messages += [{"role": "system", "content": list(told)}] if told else []
    return Transcript(
        settings=Settings(**fields),
        messages=tuple(messages),
        asked=tuple(Submit(edit=edit) for edit in asked),
    )


def offered(transcript: Transcript) -> dict[str, bool]:
    return {offer.name: offer.is_on for offer in offers_of(transcript)}


def test_a_tool_that_was_taken_stays_in_its_place_in_the_list() -> None:
    assert offered(run(removal_of("add"))) == {"add": False, "give": True}
    assert list(offered(run(removal_of("add")))) == ["add", "give"]


def test_a_tool_that_was_given_in_mid_run_joins_with_its_newest_definition() -> None:
    newer = {"name": "add", "description": "Otherwise."}
    told = run(addition_of({"name": "new"}), removal_of("add"), addition_of(newer))
    assert offered(told) == {"add": True, "give": True, "new": True}
    offer = offer_named(told, "add")
    assert offer is not None
    assert offer.definition == newer


def test_changes_that_have_not_gone_out_count() -> None:
    pending = run().model_copy(update={"tool_changes": (removal_of("give"),)})
    assert offered(pending) == {"add": True, "give": False}


def test_an_edit_that_waits_counts_as_made_and_is_told() -> None:
    transcript = run(asked=[ChangeTools(removed=("add",))])
    assert offered(transcript) == {"add": False, "give": True}
    assert [offer.waits for offer in offers_of(transcript)] == [True, False]
    assert offered(run(asked=[SetTools([GIVE])])) == {"give": True}


def test_toolsets_are_each_listed_on_and_are_nobodys_to_change() -> None:
    transcript = run(tools=(BROWSER, ADD, SERVER, {**SERVER}), asked=())
    names = [offer.name for offer in offers_of(transcript)]
    assert names == ["browser_toolset_20260801", "add", "tracker", "tracker"]
    fixed = [(offer.is_on, offer.is_fixed) for offer in offers_of(transcript)]
    assert fixed == [(True, True), (True, False), (True, True), (True, True)]
    assert offer_named(transcript, "tracker") is None


def test_the_beta_is_added_to_those_there_and_asked_for_once() -> None:
    assert beta_edit(run()) == SetParams(betas=[NEEDED_BETA])
    one = run(params={"betas": ["files"]})
    assert beta_edit(one) == SetParams(betas=["files", NEEDED_BETA])
    assert beta_edit(run(params={"betas": [NEEDED_BETA]})) is None
    assert beta_edit(run(asked=[SetParams(betas=[NEEDED_BETA])])) is None


def test_the_settings_to_come_have_the_edits_in_their_order() -> None:
    asked = [SetParams(model="a", top_k=1), SetParams(model="b", top_k=None)]
    settings = settings_to_come(run(asked=asked))
    assert (settings.model, settings.params) == ("b", {})
