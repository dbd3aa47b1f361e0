"""A comm without a kernel: what a panel sends is shown and kept."""

from __future__ import annotations

import threading
from typing import Any

from comm.base_comm import BaseComm

from tests.panel.mini_dom import View

PATIENCE_S = 30
"""How long to wait for another thread before a test has failed."""


class RecordingComm(BaseComm):
    """A comm whose other end is a view in this process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.sent: list[dict[str, Any]] = []
        self.view = View()
        self.arrived = threading.Condition()
        self.breaks = False
        super().__init__(*args, **kwargs)

    def publish_msg(self, msg_type: str, data: Any = None, **_: Any) -> None:
        if msg_type != "comm_msg" or data["method"] != "custom":
            return
        with self.arrived:
            if self.breaks:
                self.breaks = False
                self.arrived.notify_all()
                message = "the connection broke"
                raise ConnectionError(message)
            self.sent.append(data["content"])
            self.view.take(data["content"])
            self.arrived.notify_all()

    def hear(self, content: Any) -> None:
        """What the kernel does with a message of the front end."""
        known = len(self.sent)
        data = {"method": "custom", "content": content}
        self.handle_msg({"content": {"data": data}, "buffers": []})
        if content["op" if "op" in content else "intent"] == "hello":
            assert self.has_answered(after=known)

    def has_answered(self, *, after: int = 0) -> bool:
        """Wait for the answer to a hello, after so many messages."""
        with self.arrived:
            return self.arrived.wait_for(lambda: self.answers(after=after), PATIENCE_S)

    def answers(self, *, after: int = 0) -> list[dict[str, Any]]:
        """The snapshots that were sent because a view had asked."""
        return [message for message in self.sent[after:] if message.get("answers")]

    def shows(self, words: str) -> bool:
        """Wait until the view shows these words."""
        with self.arrived:
            return self.arrived.wait_for(
                lambda: words in self.view.root.text, PATIENCE_S
            )
