"""JSON as a tree to cut: elements, keys, and long strings, counted where they are left out. What is left parses."""

import json
from collections.abc import Iterable, Sequence

from holdfast.truncation.cut import Cut, Inserted, Piece, Segment
from holdfast.truncation.edges import joined
from holdfast.truncation.json_spans import members, root_span
from holdfast.truncation.notice import items_omitted, keys_omitted, omitted
from holdfast.truncation.tree import Member, TreeCut

_HEAD_SHARE = 0.6
_HIGH_SURROGATES = ("d8", "d9", "da", "db")


class JsonCut(TreeCut):
    """One JSON text being cut."""

    def __init__(self, text: str, wanted: Iterable[str], max_depth: int, keep_keys: frozenset[str]) -> None:
        super().__init__(text, wanted, max_depth)
        self._keep_keys = keep_keys

    def cut(self, budget: int) -> Cut | None:
        """The cut within `budget`; None where not even the outermost brackets and a count fit."""
        return self.cut_between(*root_span(self.text), budget)

    def inside(self, start: int, stop: int) -> Sequence[Member] | None:
        """The members of an array or object."""
        return members(self.text, start, stop) if self.text[start] in "[{" else None

    def is_named(self, start: int) -> bool:
        """Keys of an object tell something each; elements of an array are alike."""
        return self.text[start] == "{"

    def always(self, start: int, inside: Sequence[Member]) -> list[int]:
        """The keys that `keep_keys` names."""
        if not self._keep_keys or self.text[start] != "{":
            return []
        return [at for at, member in enumerate(inside) if self._key(member) in self._keep_keys]

    def mark(self, start: int, inside: Sequence[Member], count: int, run: int) -> str:
        """A string in an array; a key of its own in an object."""
        if self.text[start] == "[":
            return json.dumps(items_omitted(count))
        key = "..." + "." * (run - 1)
        taken = {self._key(member) for member in inside if member.value - member.start < 200}
        while key in taken:
            key += "."
        return f"{json.dumps(key)}: {json.dumps(keys_omitted(count))}"

    def leaf(self, start: int, stop: int, budget: int) -> list[Piece] | None:
        """A long string with its middle left out, cut between two characters as JSON spells them."""
        if self.text[start] != '"':
            return None
        begin, end = start + 1, stop - 1
        room = budget - len(json.dumps(omitted(end - begin, end - begin)))
        if room < 0:
            return None
        first = begin + int(room * _HEAD_SHARE)
        while not self._may_cut(first, begin):
            first -= 1
        last = end - (room - (first - begin))
        while last < end and not self._may_cut(last, begin):
            last += 1
        words = json.dumps(omitted(self.text.count("\\n", first, last), last - first))[1:-1]
        return [
            Segment("kept", start, first),
            Inserted(words),
            Segment("gap", first, last),
            Segment("kept", last, stop),
        ]

    def _key(self, member: Member) -> str:
        return self.text[member.start + 1 : member.value].rpartition('"')[0]

    def _may_cut(self, at: int, begin: int) -> bool:
        """Whether a cut before `at` splits neither an escape, nor a pair of them, nor a grapheme."""
        if at <= begin:
            return True
        for slash in range(at - 1, max(begin, at - 6) - 1, -1):
            if self.text[slash] == "\\" and self._begins_escape(slash, begin):
                width = 6 if self.text[slash + 1] == "u" else 2
                high = width == 6 and self.text[slash + 2 : slash + 4].lower() in _HIGH_SURROGATES
                return slash + width < at or (slash + width == at and not (high and self.text[at] == "\\"))
        return not joined(self.text, at)

    def _begins_escape(self, slash: int, begin: int) -> bool:
        """Whether the backslash at `slash` begins an escape, rather than being the second half of one."""
        run = 0
        while slash - run > begin and self.text[slash - run - 1] == "\\":
            run += 1
        return run % 2 == 0
