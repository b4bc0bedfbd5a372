"""JSON as a tree to cut: elements, keys and long strings, counted where they are left out. The view parses."""

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from keepwhole.canonical.json_members import Member, members, root_span
from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, length
from keepwhole.truncation.edges import joined
from keepwhole.truncation.notice import items_omitted, keys_omitted, omitted
from keepwhole.truncation.question import fold, hits_of
from keepwhole.truncation.tree import ChosenMembers, TreeCut

_HIGH_SURROGATES = ("d8", "d9", "da", "db")
_MOST_HITS, _MOST_SEARCHED = 400, 100_000
_NEAR = 4_096
"""Characters before a place that say whether it may be cut there."""
_OBJECT = 4_000
"""Most characters between the beginning of an object and a hit that belongs to it."""
_MOST_SHARED, _LEAST_SHARED = 6, 160
"""Most members that share the room, and the least room of each."""


class _Hit(NamedTuple):
    """A word of the question in the text, and where the innermost object around it begins."""

    at: int
    where: int
    term: str
    weight: float


class JsonCut(TreeCut):
    """One JSON text being cut."""

    def __init__(self, text: str, wanted: Iterable[str], max_depth: int, keep_keys: frozenset[str]) -> None:
        super().__init__(text, wanted, max_depth)
        self._keep_keys = keep_keys
        self._known: dict[int, int] = {}
        self._taken: dict[int, set[str]] = {}
        self._scored: dict[int, dict[int, float]] = {}
        """The scores of the members of each container, by where the first of them begins."""

    def cut(self, budget: int) -> Cut | None:
        """The cut within `budget`; None where not even the outermost brackets and a count fit."""
        start, stop = root_span(self.text)
        return self.cut_between(start, stop, budget)

    def inside(self, start: int, stop: int) -> Sequence[Member] | None:
        """The members of an array or object."""
        return members(self.text, start, stop, self._known) if self.text[start] in "[{" else None

    def is_named(self, start: int) -> bool:
        """Keys of an object say different things; elements of an array are alike."""
        return self.text[start] == "{"

    def always(self, start: int, inside: Sequence[Member]) -> list[int]:
        """The keys that `keep_keys` names."""
        if not self._keep_keys or self.text[start] != "{":
            return []
        return [at for at, member in enumerate(inside) if self._key(member) in self._keep_keys]

    @cached_property
    def _hits(self) -> list[_Hit]:
        """Where the text has words of the question that are rare enough to be telling, in order."""
        if not self._wanted:
            return []
        folded = fold(self.text)
        objects = folded.count("{") + 1
        found: list[_Hit] = []
        for term in self._wanted:
            places = hits_of(folded, term, min(_MOST_HITS, max(12, objects // 3)))
            weight = math.log(1 + objects / max(1, len(places)))
            found += [_Hit(at, folded.rfind("{", max(0, at - _OBJECT), at), term, weight) for at in places]
        return sorted(found)

    def _scores(self, inside: Sequence[Member]) -> dict[int, float]:
        """How much the best object in each member shares with the question; a member without objects counts as one."""
        if not self._hits or len(inside) > _MOST_SEARCHED:
            return {}
        begin = inside[0].start
        if begin not in self._scored:
            self._scored[begin] = self._score(inside)
        return self._scored[begin]

    def _score(self, inside: Sequence[Member]) -> dict[int, float]:
        first = bisect_left(self._hits, inside[0].start, key=lambda hit: hit.at)
        stop = bisect_left(self._hits, inside[-1].stop, key=lambda hit: hit.at)
        together: dict[tuple[int, int], dict[str, float]] = {}
        for hit in self._hits[first:stop]:
            member = bisect_right(inside, hit.at, key=lambda member: member.start) - 1
            together.setdefault((member, hit.where), {})[hit.term] = hit.weight
        scores: dict[int, float] = {}
        for (member, _), terms in together.items():
            scores[member] = max(scores.get(member, 0.0), math.fsum(terms.values()))
        return scores

    def _asked_for(self, start: int, inside: Sequence[Member]) -> list[int]:
        """Members by how much they are asked for, those that `keep_keys` names before all."""
        return list(dict.fromkeys([*self.always(start, inside), *self._best(inside, 1 / 3)[:50]]))

    def _best(self, inside: Sequence[Member], least: float) -> list[int]:
        scores = self._scores(inside)
        enough = least * max(scores.values(), default=0.0)
        return sorted((at for at in scores if scores[at] >= enough), key=lambda at: (-scores[at], at))

    def _choose(
        self, start: int, stop: int, inside: Sequence[Member], chosen: ChosenMembers, budget: int, depth: int
    ) -> None:
        """Share the room among the members asked for where they do not all fit whole; else take whole ones in order."""
        asked = self._best(inside, 1 / 2)[: min(_MOST_SHARED, budget // _LEAST_SHARED)]
        mark = len(self.mark(start, inside, len(inside), 1)) + 4
        size = sum(inside[at].stop - inside[at].start + mark for at in asked)
        if asked and size > budget - mark:
            others = stop - start - size if self.is_named(start) else 0
            for_others = max(0, min(budget // 4, others))
            room = for_others + self._share(inside, asked, chosen, budget - for_others, mark, depth)
            if chosen and self.is_named(start):
                self._shrink(start, inside, chosen, room, depth)
        if not chosen:
            super()._choose(start, stop, inside, chosen, budget, depth)

    def _share(
        self, inside: Sequence[Member], asked: Sequence[int], chosen: ChosenMembers, budget: int, mark: int, depth: int
    ) -> int:
        """Cut these members, with a mark after each; returns what is left of the budget."""
        room = budget - mark
        for left, at in zip(range(len(asked), 0, -1), asked, strict=True):
            member = inside[at]
            pieces = self.fit(member.value, member.stop, room // left - mark - (member.value - member.start), depth + 1)
            if pieces is not None:
                chosen[at] = [Segment("kept", member.start, member.value), *pieces]
                room -= length(chosen[at]) + mark
        return room

    def mark(self, start: int, inside: Sequence[Member], count: int, run: int) -> str:
        """A string in an array; a key of its own in an object."""
        if self.text[start] == "[":
            return json.dumps(items_omitted(count))
        key = "..." + "." * (run - 1)
        taken = self._dotted_keys(start, inside)
        while key in taken:
            key += "."
        return f"{json.dumps(key)}: {json.dumps(keys_omitted(count))}"

    def _dotted_keys(self, start: int, inside: Sequence[Member]) -> set[str]:
        """The keys of an object that a mark could repeat; looked for once, and only where there can be any."""
        if start not in self._taken:
            may_be = self.text.find('"...', start, inside[-1].stop) >= 0
            keys = (self._key(member) for member in inside if member.value - member.start < 200) if may_be else ()
            self._taken[start] = {key for key in keys if key.startswith("...")}
        return self._taken[start]

    def leaf(self, start: int, stop: int, budget: int) -> list[Piece] | None:
        """A long string with its middle left out, cut between two characters as JSON spells them."""
        if self.text[start] != '"':
            return None
        begin, end = start + 1, stop - 1
        room = budget - len(json.dumps(omitted(end - begin, end - begin)))
        if room < 0:
            return None
        first, last = self.ends_within(begin, end, room)
        words = json.dumps(omitted(self.text.count("\\n", first, last), last - first))[1:-1]
        return [
            Segment("kept", start, first),
            Inserted(words),
            Segment("gap", first, last),
            Segment("kept", last, stop),
        ]

    def _key(self, member: Member) -> str:
        return self.text[member.start + 1 : member.value].rpartition('"')[0]

    def may_cut(self, at: int, begin: int) -> bool:
        """Whether a cut before `at` splits neither an escape, nor a pair of them, nor a grapheme."""
        if at <= begin:
            return True
        for slash in range(at - 1, max(begin, at - 6) - 1, -1):
            if self.text[slash] == "\\" and self._begins_escape(slash, begin):
                width = 6 if self.text[slash + 1] == "u" else 2
                high = width == 6 and self.text[slash + 2 : slash + 4].lower() in _HIGH_SURROGATES
                return slash + width < at or (slash + width == at and not (high and self.text[at] == "\\"))
        base = max(begin, at - _NEAR)
        return not joined(self.text[base : at + 1], at - base, base == begin)

    def _begins_escape(self, slash: int, begin: int) -> bool:
        """Whether the backslash at `slash` begins an escape, rather than being the second half of one."""
        before = self.text[begin:slash]
        return (len(before) - len(before.rstrip("\\"))) % 2 == 0
