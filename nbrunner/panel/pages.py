"""The pages that look at a panel: which said hello, and which is the cell's own.

A page says hello for the panel's widget, by an id that it makes up when it loads the
notebook. All views of an output in one page share that id. A page that is loaded anew
has another one, and is a stranger to the cell: what Jupyter still hears of the cell's
execution, the final output among it, goes to the page that began it.
"""

from __future__ import annotations

import threading
from typing import Any, Literal

from pydantic import Field, ValidationError

from nbrunner.core.blocks import Value

_LONGEST_ID = 64


class Greeting(Value):
    """A page has opened its first view of the panel, or closed its last."""

    op: Literal["hello", "bye"]
    page: str = Field(default="", max_length=_LONGEST_ID)


def read_greeting(message: Any) -> Greeting | None:
    """The greeting that a front-end message states, if it states one."""
    try:
        return Greeting.model_validate(message, strict=True)
    except ValidationError:
        return None


class Pages:
    """Which pages a panel has heard of.

    Attributes:
        home: The page whose hello came first: the one that began the cell.
    """

    def __init__(self) -> None:
        self.home: str | None = None
        self._lock = threading.Lock()
        self._looking: set[str] = set()
        self._strangers: set[str] = set()

    def take(self, greeting: Greeting) -> None:
        """Note who has come or gone; any thread may call this."""
        with self._lock:
            if greeting.op == "bye":
                self._looking.discard(greeting.page)
                return
            if self.home is None:
                self.home = greeting.page
            self._looking.add(greeting.page)
            if greeting.page != self.home:
                self._strangers.add(greeting.page)

    @property
    def has_greeted(self) -> bool:
        """Whether any page has been heard."""
        return self.home is not None

    @property
    def has_strangers(self) -> bool:
        """Whether a page came that did not begin the cell: after a reload, say."""
        return bool(self._strangers)

    @property
    def have_left(self) -> bool:
        """Whether pages looked at the panel, and none does any longer."""
        return self.has_greeted and not self._looking
