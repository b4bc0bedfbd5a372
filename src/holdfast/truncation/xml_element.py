"""XML as a tree to cut: elements, counted in a comment where they are left out. What is left is well-formed.

Entities are never expanded: a text that declares any is not cut as XML.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from xml.parsers import expat

from holdfast.truncation.cut import Cut, Inserted, Piece, Segment, length
from holdfast.truncation.notice import elements_omitted, text_omitted
from holdfast.truncation.tree import Member, TreeCut

_TAG = re.compile(r"""<[^>"']*(?:"[^"]*"[^>"']*|'[^']*'[^>"']*)*>""")
_LARGEST = 1_000_000
_DEEPEST = 100


class NotXml(Exception):
    """The text is not XML that can be cut by structure."""


class Node(Member):
    """One element: its span, and its children."""

    __slots__ = ("children",)

    def __init__(self, start: int) -> None:
        super().__init__(start, start, start)
        self.children: list[Node] = []


class XmlCut(TreeCut):
    """One XML text being cut."""

    def __init__(self, text: str, wanted: Iterable[str], max_depth: int) -> None:
        super().__init__(text, wanted, max_depth)
        self._root = parse(text)
        self._nodes = {node.start: node for node in _all_nodes(self._root)}

    def cut(self, budget: int) -> Cut | None:
        """The cut within `budget`; None where it cannot be."""
        return self.cut_between(self._root.start, self._root.stop, budget)

    def inside(self, start: int, stop: int) -> Sequence[Member] | None:
        """The children of an element; None where it has only text."""
        return self._nodes[start].children or None

    def leaf(self, start: int, stop: int, budget: int) -> list[Piece] | None:
        """An element with only text that is too long: its tags, and a comment in place of the text."""
        opening = _TAG.match(self.text, start)
        end = self.text.rfind("</", start, stop)
        if opening is None or end < opening.end():
            return None
        pieces: list[Piece] = [
            Segment("kept", start, opening.end()),
            Inserted(text_omitted(end - opening.end())),
            Segment("gap", opening.end(), end),
            Segment("kept", end, stop),
        ]
        return pieces if length(pieces) <= budget else None

    def mark(self, start: int, inside: Sequence[Member], count: int, run: int) -> str:
        """A comment with the count."""
        return elements_omitted(count)


def parse(text: str) -> Node:
    """The root element; `NotXml` for anything but one well-formed document without declarations of its own."""
    if len(text) > _LARGEST or "<!DOCTYPE" in text or "<!ENTITY" in text or not text.lstrip().startswith("<"):
        raise NotXml
    roots: list[Node] = []
    waiting: list[Node] = []
    parser = expat.ParserCreate("utf-8")

    def start(name: str, attributes: object) -> None:
        if len(waiting) > _DEEPEST:
            raise NotXml
        node = Node(parser.CurrentByteIndex)
        (waiting[-1].children if waiting else roots).append(node)
        waiting.append(node)

    def end(name: str) -> None:
        waiting.pop().stop = parser.CurrentByteIndex

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(text.encode(), True)
    except (expat.ExpatError, UnicodeEncodeError):
        raise NotXml from None
    _to_characters(text, roots[0])
    return roots[0]


def _all_nodes(root: Node) -> Iterable[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def _to_characters(text: str, root: Node) -> None:
    """The parser counts bytes and says where a last tag begins; we count characters and want to know where it ends."""
    at: dict[int, int] | None = None
    if not text.isascii():
        widths = (len(char.encode()) for char in text)
        at = {byte: number for number, byte in enumerate([0, *accumulate(widths)])}
    for node in _all_nodes(root):
        if at is not None:
            node.start, node.stop = at[node.start], at[node.stop]
        node.value = node.start
        if text.startswith("</", node.stop):
            match = _TAG.match(text, node.stop)
            if match is None:
                raise NotXml
            node.stop = match.end()
