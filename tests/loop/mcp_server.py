"""A real MCP server over stdio, for tests: run by Python, spoken to by pipes."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("weather", log_level="CRITICAL")
PNG = b"\x89PNG\r\n\x1a\n"


@server.tool()
def get_weather(location: str, days: int = 1) -> str:
    """Get the weather in a place."""
    return f"{days} sunny days in {location}"


@server.tool()
def draw(location: str) -> Image:
    """Draw the weather in a place."""
    assert location
    return Image(data=PNG, format="png")


@server.tool()
def fail(location: str) -> str:
    """Fail."""
    message = f"no station in {location}"
    raise ToolError(message)


if __name__ == "__main__":
    server.run("stdio")
