"""The tools of a request that no approver is asked about.

Those that the API or an MCP server runs never come by here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbrunner.core.blocks import Block
    from nbrunner.core.request import Settings

_RUN_HERE = ("custom", "bash_2", "computer_", "browser_", "memory_2", "text_editor_2")
"""How the types of tools begin that only a client can run."""


def ungated_in(settings: Settings) -> tuple[str, ...]:
    """What of a request's tools runs without asking, each as its name and kind."""
    tools = [named for tool in settings.tools if (named := _ungated(tool))]
    servers = settings.params.get("mcp_servers") or ()
    names = [f"{server.get('name')} (MCP server)" for server in servers]
    return tuple(dict.fromkeys([*tools, *names]))


def _ungated(tool: Block) -> str | None:
    kind = str(tool.get("type") or "custom")
    if kind.startswith(_RUN_HERE):
        return None
    if kind == "mcp_toolset":
        return f"{tool.get('mcp_server_name')} (MCP server)"
    return f"{tool.get('name') or kind} (server tool)"
