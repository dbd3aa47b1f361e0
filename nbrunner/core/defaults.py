"""What a run is given where nobody says anything.

In a module of their own, so that the magic can name them without loading the SDK.
"""

DEFAULT_MODEL = "claude-opus-5"
DEFAULT_MAX_TOKENS = 4096
