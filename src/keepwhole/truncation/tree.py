"""Cutting nested data by structure: whole members where they fit, cut ones where they must be, a count for the rest.

Owns: which members are kept and how a budget is shared among nested values.
Must not know: JSON or XML. A subclass says where members are, what replaces those left out, and how a leaf is cut.

Theory of operation. `fit(value, budget)` returns the pieces that show a value in at most `budget` characters:

1. A value that fits is kept in full. A leaf (a string, an element with only text) that does not fit is cut by `leaf`.
2. For a container, members are taken whole in the order of `_order` while they fit: first those that the settings
   and the question ask for, then an object's keys in order, or an array's elements from both ends.
3. If a container's members have names, or fewer than two fit whole, the room that is left is shared among members
   that did not fit: each is cut by `fit` with its share, one level deeper.
4. Every run of members left out is replaced by one inserted member that counts them.

    {"id": 7, "rows": [1, 2, … 900], "ok": true}        in 160 characters
    {"id": 7, "rows": [1, 2, "... 897 items omitted ...", 900], "ok": true}
              └─ cut by step 3, its elements by step 2 ┘

An inserted member takes the place of the run, so the separators around it are those of the original. If the pieces
are too long all the same, the least wanted members are dropped again, the last one chosen first.

Invariants: no value is changed, re-typed or moved; the pieces cover the value once and in order; what is returned is
at most `budget` characters long, else None.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from keepwhole.canonical.json_members import Member
from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, length
from keepwhole.truncation.encoded import SHOWN, is_encoded
from keepwhole.truncation.question import fold

_LEAST = 40
"""A nested value gets at least this many characters, or is left out."""
_MOST_CUT = 64
"""At most this many members of one container are shown cut."""
_MOST_SEARCHED = 20_000
_HEAD_SHARE = 0.6
"""Share of the room for the beginning of a leaf of which both ends are kept."""


ChosenMembers = dict[int, list[Piece]]
"""The members to show, by number, each with its pieces; the last one put in is the least wanted."""


class TreeCut:
    """One text being cut. A subclass for a kind of data implements the methods at the end."""

    def __init__(self, text: str, wanted: Iterable[str], max_depth: int) -> None:
        self.text = text
        self._wanted = tuple(wanted)
        self._max_depth = max_depth

    def ends_within(self, begin: int, end: int, room: int) -> tuple[int, int]:
        """Where the kept beginning of a leaf's text stops and its kept end starts, both together in `room`."""
        if room > SHOWN and is_encoded(self.text, begin, end):
            room = SHOWN
        first = begin + int(room * _HEAD_SHARE)
        while not self.may_cut(first, begin):
            first -= 1
        last = end - (room - (first - begin))
        while last < end and not self.may_cut(last, begin):
            last += 1
        return first, last

    def cut_between(self, start: int, stop: int, budget: int) -> Cut | None:
        """The cut of a text whose one value is from `start` to `stop`; None where nothing fits."""
        pieces = self.fit(start, stop, budget - start - (len(self.text) - stop), 0)
        if pieces is None:
            return None
        return Cut(tuple(merged([Segment("kept", 0, start), *pieces, Segment("kept", stop, len(self.text))])))

    def fit(self, start: int, stop: int, budget: int, depth: int) -> list[Piece] | None:
        """The value from `start` to `stop` in at most `budget` characters, or None."""
        if stop - start <= budget:
            return [Segment("kept", start, stop)]
        inside = self.inside(start, stop)
        if not inside:
            return self.leaf(start, stop, budget) if inside is None else None
        chosen: ChosenMembers = {}
        if depth < self._max_depth:
            self._choose(start, stop, inside, chosen, budget, depth)
        pieces = self._container_pieces(start, stop, inside, chosen)
        while (over := length(pieces) - budget) > 0 and chosen:
            while over > 0 and chosen:
                over -= length(chosen.popitem()[1])
            pieces = self._container_pieces(start, stop, inside, chosen)
        return pieces if length(pieces) <= budget else None

    def _choose(
        self, start: int, stop: int, inside: Sequence[Member], chosen: ChosenMembers, budget: int, depth: int
    ) -> None:
        mark = len(self.mark(start, inside, len(inside), 1)) + 4
        room = budget - mark - (inside[0].start - start) - (stop - inside[-1].stop)
        named = self.is_named(start)
        for at in self._order(start, inside):
            lone = at - 1 not in chosen and at + 1 not in chosen
            cost = mark if lone and chosen else 0
            if cost < room:  # else nothing fits: of a large container, most members are never looked at
                member = inside[at]
                cost += member.stop - (inside[at - 1].stop if at else member.start)
                if cost <= room:
                    chosen[at] = [Segment("kept", member.start, member.stop)]
                    room -= cost
                    continue
            if not named and len(chosen) >= 2:
                break
        if named or len(chosen) < 2:
            self._shrink(start, inside, chosen, room, depth)

    def _shrink(self, start: int, inside: Sequence[Member], chosen: ChosenMembers, room: int, depth: int) -> None:
        """Cut members that do not fit whole: as many as possible of an object, the first two of an array."""
        waiting: list[int] = []
        for at in self._order(start, inside):
            if at not in chosen:
                waiting.append(at)
            if len(waiting) >= (_MOST_CUT if self.is_named(start) else 2):
                break
        while waiting and room // len(waiting) < _LEAST:
            waiting.pop()
        waiting.sort(key=lambda at: not self._is_encoded(inside[at]))  # what these need not goes to the others
        for left, at in zip(range(len(waiting), 0, -1), waiting, strict=True):
            member = inside[at]
            around = member.value - member.start + _separator(inside, at)
            pieces = self.fit(member.value, member.stop, room // left - around, depth + 1)
            if pieces is not None:
                chosen[at] = [Segment("kept", member.start, member.value), *pieces]
                room -= length(chosen[at]) + _separator(inside, at)

    def _is_encoded(self, member: Member) -> bool:
        return is_encoded(self.text, member.value + 1, member.stop - 1)

    def _order(self, start: int, inside: Sequence[Member]) -> Iterable[int]:
        """Members in the order in which they are wanted: those asked for, then by position, or from both ends."""
        asked = self._asked_for(start, inside)
        yield from asked
        rest = range(len(inside)) if self.is_named(start) else _from_both_ends(len(inside))
        seen = set(asked)
        yield from (at for at in rest if at not in seen)

    def _asked_for(self, start: int, inside: Sequence[Member]) -> list[int]:
        first = self.always(start, inside)
        if not self._wanted or len(inside) > _MOST_SEARCHED:
            return first
        base = inside[0].start
        folded = fold(self.text[base : inside[-1].stop])
        counts: dict[int, float] = {}
        for term in self._wanted:
            hits = _members_with(term, folded, base, inside, max(3, len(inside) // 4))
            for at in hits:
                counts[at] = counts.get(at, 0) + 1 / len(hits)
        best = sorted(counts, key=lambda at: (-counts[at], at))
        return first + [at for at in best[:50] if at not in first]

    def _container_pieces(self, start: int, stop: int, inside: Sequence[Member], chosen: ChosenMembers) -> list[Piece]:
        """The container with the chosen members, and one inserted member for every run that is left out.

        A member of one piece is shown in full together with the separators around it, so it adds no piece of its own.
        """
        pieces: list[Piece] = []
        at, runs, shown = start, 0, sorted(chosen)
        for before, number in zip([-1, *shown], [*shown, len(inside)], strict=True):
            if number - before > 1:
                first, last = inside[before + 1], inside[number - 1]
                runs += 1
                words = self.mark(start, inside, number - before - 1, runs)
                pieces += [Segment("kept", at, first.start), Inserted(words), Segment("gap", first.start, last.stop)]
                at = last.stop
            if number < len(inside) and len(chosen[number]) > 1:
                member = inside[number]
                pieces += [Segment("kept", at, member.start), *chosen[number]]
                at = member.stop
        pieces.append(Segment("kept", at, stop))
        return pieces

    def inside(self, start: int, stop: int) -> Sequence[Member] | None:
        """The members of the value at `start`; None for a leaf."""
        raise NotImplementedError

    def mark(self, start: int, inside: Sequence[Member], count: int, run: int) -> str:
        """What replaces `count` members left out, the `run`-th such run of this container."""
        raise NotImplementedError

    def leaf(self, start: int, stop: int, budget: int) -> list[Piece] | None:
        """A leaf that is too long, cut; None where it cannot be."""
        return None

    def may_cut(self, at: int, begin: int) -> bool:
        """Whether the text of a leaf, which starts at `begin`, may be cut before `at`."""
        raise NotImplementedError

    def is_named(self, start: int) -> bool:
        """Whether the members of this container have names, so that even a short part of each is useful."""
        return False

    def always(self, start: int, inside: Sequence[Member]) -> list[int]:
        """The members that the settings ask for by name."""
        return []


def _members_with(term: str, folded: str, base: int, inside: Sequence[Member], most: int) -> list[int]:
    """The members that contain a term, if at most `most` do; `folded` is their text, which begins at `base`."""
    hits: list[int] = []
    number, last = 0, len(inside) - 1
    at = folded.find(term)
    while at >= 0:
        if number < last and inside[number + 1].start <= at + base:
            number = bisect_right(inside, at + base, number + 2, key=_start) - 1
        member = inside[number]
        if member.start <= at + base and at + base + len(term) <= member.stop:
            hits.append(number)
            if len(hits) > most:
                return []
            at = member.stop - base - 1
            number = min(number + 1, last)
        at = folded.find(term, at + 1)
    return hits


def _start(member: Member) -> int:
    return member.start


def _separator(inside: Sequence[Member], at: int) -> int:
    return inside[at].start - inside[at - 1].stop if at else 0


def _from_both_ends(size: int) -> Iterable[int]:
    """0, last, 1, 2, last but one, …: three from the front for two from the back."""
    front, back = 0, size - 1
    for turn in range(size):
        if turn % 5 in (1, 4):
            yield back
            back -= 1
        else:
            yield front
            front += 1


def merged(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with adjacent ones of the same kind joined and empty ones dropped."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if isinstance(piece, Segment):
            if piece.start == piece.stop:
                continue
            if isinstance(last, Segment) and last.part == piece.part and last.stop == piece.start:
                found[-1] = Segment(piece.part, last.start, piece.stop)
                continue
        found.append(piece)
    return found
