"""`Run` and `tool_runner`: the loop, the views and the panel joined for a user."""

from nbrunner.run.run import Run
from nbrunner.run.tool_runner import tool_runner

__all__ = ["Run", "tool_runner"]
