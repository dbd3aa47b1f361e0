"""The request that asks for a summary in place of the conversation.

What the SDK's `compact_before_next_turn()` sends: the whole conversation, without the
parameters that only shape a reply, since none comes but the summary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbrunner.core.blocks import Block, Message

SUMMARIZE: Block = {"type": "summarize"}
"""What is asked for where nothing else is."""

SUMMARY_BETA = "compact-2026-09-04"
"""Without it the API takes no such request; the SDK does not add it by itself."""

_SHAPES_A_REPLY = ("context_management", "stop_sequences", "output_format")


def compacting(head: Mapping[str, Any], compaction: Block) -> dict[str, Any]:
    """The body of a request, messages apart, as one that asks for a summary."""
    body = {k: v for k, v in head.items() if k not in _SHAPES_A_REPLY}
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        del body["tool_choice"]
    if body.get("output_config"):
        body["output_config"] = _without_format(body["output_config"])
    if isinstance(body.get("fallbacks"), list):
        body["fallbacks"] = [_fallback(fallback) for fallback in body["fallbacks"]]
    return {**body, "compaction": compaction}


def is_summary(message: Message) -> bool:
    """Whether a reply holds a summary; one without leaves the conversation as it is."""
    blocks = message["content"]
    return any(b.get("type") == "compaction" and b.get("content") for b in blocks)


def has_compaction_edit(params: Mapping[str, Any]) -> bool:
    """Whether the API itself is asked to compact, which it takes no second way of."""
    management = params.get("context_management") or {}
    kinds = [edit.get("type", "") for edit in management.get("edits") or ()]
    return any(kind.startswith("compact_") for kind in kinds)


def _without_format(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "format"}


def _fallback(fallback: Any) -> Any:
    if not (isinstance(fallback, dict) and fallback.get("output_config")):
        return fallback
    return {**fallback, "output_config": _without_format(fallback["output_config"])}
