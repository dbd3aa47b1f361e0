"""A tree of keyed elements, changed by the panel's messages as panel.js does it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_VOID = ("br", "hr", "img")


@dataclass
class Node:
    """An element; its children are elements and texts."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def append(self, child: Node | str) -> None:
        """Add a child; texts side by side are one."""
        if isinstance(child, str) and self.children and self.children[-1:] != [""]:
            last = self.children[-1]
            if isinstance(last, str):
                self.children[-1] = last + child
                return
        if child != "":
            self.children.append(child)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def find(self, key: str) -> Node | None:
        keyed = (node for node in self.walk() if node.attributes.get("data-key") == key)
        return next(keyed, None)

    @property
    def text(self) -> str:
        parts = (c.text if isinstance(c, Node) else c for c in self.children)
        return "".join(parts)

    def replace(self, old: Node, new: Node) -> None:
        for node in self.walk():
            node.children = [new if c is old else c for c in node.children]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.path = [Node("root")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        self.path[-1].append(node)
        if tag not in _VOID:
            self.path.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.path.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.path[-1].append(data)


def tree(html: str) -> Node:
    """The elements of some HTML, below a root."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert len(builder.path) == 1
    return builder.path[0]


class View:
    """What a view shows after the messages it was sent; it trusts their order."""

    def __init__(self) -> None:
        self.root = Node("root")
        self.sequence: int | None = None

    def take(self, message: dict[str, Any]) -> None:
        if message["op"] == "snapshot":
            self.root = tree(message["html"])
            self.sequence = message["seq"]
        elif self.sequence is not None:
            assert message["seq"] == self.sequence + 1, "a gap"
            self.sequence = message["seq"]
            for change in message.get("changes", ()):
                self._show(change)

    def _show(self, change: dict[str, str]) -> None:
        old = self.root.find(change["key"])
        if "text" in change:
            assert old is not None, f"no element of key {change['key']}"
            old.append(change["text"])
            return
        (new,) = tree(change["html"]).children
        assert isinstance(new, Node)
        if old is None:
            into = self.root.find(change.get("into", ""))
            assert into is not None, f"no place for {change['key']}"
            into.append(new)
        elif change["key"] == "send":
            # The box is kept, with the caret in it.
            old.attributes.pop("hidden", None)
            old.attributes |= {k: v for k, v in new.attributes.items() if k == "hidden"}
        else:
            self.root.replace(old, new)
