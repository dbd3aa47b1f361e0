"""The `%%toolrun` cell magic: parse the line, compose a run, show it, wait for it."""

from nbrunner.magic.extension import load, unload

__all__ = ["load", "unload"]
