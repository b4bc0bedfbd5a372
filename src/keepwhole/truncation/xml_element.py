"""XML as a tree to cut: elements, counted in a comment where they are left out. What is left is well-formed.

Entities are never expanded: a text that declares any is not cut as XML.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import overload
from xml.parsers import expat

from keepwhole.canonical.json_members import Member
from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment
from keepwhole.truncation.edges import joined
from keepwhole.truncation.notice import elements_omitted, text_omitted
from keepwhole.truncation.tree import TreeCut

_TAG = re.compile(r"""<[^>"']*+(?>(?:"[^"]*+"[^>"']*+|'[^']*+'[^>"']*+)*)>""")
_NO_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)", re.S)
_LARGEST = 1_000_000
_DEEPEST = 101
_PIECE = 16_384
_NEAR = 256
"""Characters before a place that say whether it may be cut there."""


class NotXml(Exception):
    """The text is not XML that can be cut by structure."""


class Tags:
    """All tags of a text: where each begins, and how many elements are open after it.

    Both are flat: no object is made for an element that nobody looks into. Inside an element that leaves `d` open when
    it begins, a child ends wherever a tag leaves `d` open; the next one begins with the tag after that.
    """

    def __init__(self, text: str) -> None:
        _check(text)
        self.text = text
        self._between = array("I")
        depths = bytearray((0,))
        bare = _NO_TAG.sub(_blank, text) if "<!" in text or "<?" in text else text
        at = bare.find("<")
        while at >= 0:
            stop = bare.find("<", at + _PIECE)
            part = bare[at + 1 : stop if stop >= 0 else None]
            found = part.split("<")
            self._between += array("I", list(accumulate(map(len, found), initial=at - len(self._between)))[:-1])
            depths += _depths(found, depths[-1], "/>" in part)
            at = stop
        self.depths = bytes(depths[1:])

    def children(self, first: int, last: int) -> "Children | None":
        """The children of the element from tag `first` to tag `last`; None where it has none."""
        if last - first < 2:
            return None
        inner = self.depths[first + 1 : last].split(self.depths[first : first + 1])
        inner.pop()
        ends = array("I", accumulate(map((1).__add__, map(len, inner)), initial=first))
        return Children(self, ends)

    def __len__(self) -> int:
        """How many tags there are."""
        return len(self._between)

    def first_from(self, place: int) -> int:
        """The first tag that begins at a place or after it."""
        return bisect_left(range(len(self)), place, key=self.start)

    def start(self, tag: int) -> int:
        """Where a tag begins: what stands between the tags before it, and a `<` for each of them."""
        return self._between[tag] + tag

    def stop(self, tag: int) -> int:
        """Where a tag ends."""
        match = _TAG.match(self.text, self.start(tag))
        if match is None:
            raise NotXml
        return match.end()


class Children(Sequence[Member]):
    """The children of one element, by the tags that end them; each is made when it is looked at."""

    def __init__(self, tags: Tags, ends: Sequence[int]) -> None:
        self._tags, self._ends = tags, ends

    def __len__(self) -> int:
        """How many there are."""
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> Member: ...
    @overload
    def __getitem__(self, number: slice) -> list[Member]: ...
    def __getitem__(self, number: int | slice) -> Member | list[Member]:
        """One child, or several."""
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        if number < 0:
            number += len(self)
        start = self._tags.start(self._ends[number] + 1)
        return Member(start, start, self._tags.stop(self._ends[number + 1]))


class XmlCut(TreeCut):
    """One XML text being cut."""

    def __init__(self, text: str, wanted: Iterable[str], max_depth: int) -> None:
        super().__init__(text, wanted, max_depth)
        self._tags = Tags(text)

    def cut(self, budget: int) -> Cut | None:
        """The cut within `budget`; None where it cannot be."""
        return self.cut_between(self._tags.start(0), self._tags.stop(len(self._tags) - 1), budget)

    def inside(self, start: int, stop: int) -> Sequence[Member] | None:
        """The children of an element; None where it has only text."""
        return self._tags.children(self._tags.first_from(start), self._tags.first_from(stop) - 1)

    def leaf(self, start: int, stop: int, budget: int) -> list[Piece] | None:
        """An element with only text that is too long: its tags, both ends of its text, and a comment between them."""
        opening = _TAG.match(self.text, start)
        end = self.text.rfind("</", start, stop)
        if opening is None or end < opening.end():
            return None
        begin = opening.end()
        room = budget - (begin - start) - (stop - end) - len(text_omitted(end - begin))
        if room < 0:
            return None
        first, last = begin, end
        if self.text.find("<", begin, end) < 0:  # else there are comments or sections, which cannot be split
            first, last = self.ends_within(begin, end, room)
        return [
            Segment("kept", start, first),
            Inserted(text_omitted(last - first)),
            Segment("gap", first, last),
            Segment("kept", last, stop),
        ]

    def may_cut(self, at: int, begin: int) -> bool:
        """Whether a cut before `at` splits neither a reference such as `&amp;` nor a grapheme."""
        if at <= begin:
            return True
        base = max(begin, at - _NEAR)
        reference = self.text.rfind("&", base, at)
        if reference >= 0 and self.text.find(";", reference, at) < 0:
            return False
        return not joined(self.text[base : at + 1], at - base, base == begin)

    def mark(self, start: int, inside: Sequence[Member], count: int, run: int) -> str:
        """A comment with the count."""
        return elements_omitted(count)


def is_xml(text: str) -> bool:
    """Whether a text is XML that can be cut by structure."""
    try:
        _check(text)
    except NotXml:
        return False
    return True


def _check(text: str) -> None:
    """`NotXml` for anything but one well-formed document without declarations of its own."""
    if len(text) > _LARGEST or not text.lstrip().startswith("<") or "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise NotXml
    parser = expat.ParserCreate("utf-8")
    try:
        for at in range(0, len(text), _PIECE):
            parser.Parse(text[at : at + _PIECE].encode(), False)
        parser.Parse(b"", True)
    except (expat.ExpatError, UnicodeEncodeError):
        raise NotXml from None


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def _depths(found: list[str], depth: int, may_be_empty: bool) -> bytes:
    """How many elements are open after each tag, given what follows each `<` and how many were open before.

    `may_be_empty` says whether any of the tags may be one of an empty element, such as `<br/>`.
    """
    steps = [-1 if rest[0] == "/" else 1 for rest in found]
    for number, rest in enumerate(found) if may_be_empty else ():
        if "/>" in rest and (tag := _TAG.match("<" + rest)) and tag[0].endswith("/>"):
            steps[number] = 0
    depths = list(accumulate(steps, initial=depth))[1:]
    if max(depths) > _DEEPEST:
        raise NotXml
    return bytes(depths)
