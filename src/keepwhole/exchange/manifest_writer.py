"""Requests that were sent a short while ago, to write the next one against: what it shares is not stored again.

Owns: choosing the base, and the pieces of a manifest.
Must not know: the record. Where a text is on record is asked of a function.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from keepwhole.canonical.manifest import CopiedPiece, LiteralPiece, Piece, ShownPiece, spelling_of
from keepwhole.record.text_origins import Origin
from keepwhole.wire.request_parts import as_bytes, string_of, strings

_REMEMBERED = 8
"""Requests to choose from: the newest of as many conversations side by side."""
_LONGEST = 256
"""Requests that are written one against the other; then one stands by itself, so that damage goes no further."""
_ALIKE = 0.9
"""Share of a request that makes an earlier one of its branch its base without a look at the others."""
_WORTH = 0.1
"""Share of a request below which an earlier one is no base."""

Find = Callable[[str], Origin | None]


class Part:
    """One part of a request that was sent, and the pieces it was made of."""

    __slots__ = ("first", "pieces", "text")

    def __init__(self, text: str, first: int, pieces: Sequence[str]) -> None:
        self.text = text
        self.first = first
        """The number of its first piece in the manifest."""
        self.pieces = pieces


class Known:
    """A request as it is remembered: its parts in order, and where each of its pieces is."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self.texts = [part.text for part in parts]
        self.by_text = {part.text: part for part in parts}
        self._by_piece: dict[str, int] | None = None
        self.seq, self.branch, self.depth = 0, "", 0

    def piece(self, text: str) -> int | None:
        """The number of the piece with this text."""
        if self._by_piece is None:
            pairs = ((piece, part.first + at) for part in self.parts for at, piece in enumerate(part.pieces))
            self._by_piece = dict(pairs)
        return self._by_piece.get(text)

    def shared(self, texts: Sequence[str]) -> float:
        """How much of a request is in this one too, from 0 to 1."""
        known = self.by_text
        return sum(len(text) for text in texts if text in known) / (sum(map(len, texts)) or 1)


class Written(NamedTuple):
    """A request taken apart for its manifest."""

    known: Known
    pieces: list[Piece]
    same: int
    """Parts at its beginning that are those of the base."""


class Bases:
    """The requests that one session sent last."""

    def __init__(self) -> None:
        self._known: list[Known] = []

    def forget(self) -> None:
        """Let none be a base."""
        self._known = []

    def like(self, branch: str) -> Sequence[str]:
        """The parts of the request that the next one of a branch is most likely to go on from."""
        known = next((one for one in reversed(self._known) if one.branch == branch), None)
        return known.texts if known else ()

    def best_for(self, texts: Sequence[str], branch: str) -> Known | None:
        """The request that shares most with these parts; the newest of several."""
        best, most = None, _WORTH
        for known in sorted(reversed(self._known), key=lambda known: known.branch != branch):
            share = known.shared(texts) if known.depth < _LONGEST else 0.0
            if share > most:
                best, most = known, share
            if most >= _ALIKE and known.branch == branch:
                break
        return best

    def add(self, known: Known, seq: int, branch: str, base: Known | None) -> None:
        """Remember a request that is on record now; it stands for the one it goes on from."""
        known.seq, known.branch, known.depth = seq, branch, base.depth + 1 if base else 0
        others = [one for one in self._known if one is not base or one.branch != branch]
        self._known = [*others, known][-_REMEMBERED:]


def written(texts: Sequence[str], base: Known | None, find: Find) -> Written:
    """The manifest of a request with these parts."""
    parts = _same(texts, base)
    same, count = len(parts), _stop(parts[-1]) if parts else 0
    pieces: list[Piece] = [CopiedPiece(0, count)] if parts else []
    for at, text in enumerate(texts[same:], same):
        earlier = _earlier(text, at - len(texts), base)
        if earlier is None:
            part = Part(text, count, strings(text))
            pieces += [_piece(one, number % 2 == 1, base, find) for number, one in enumerate(part.pieces)]
        else:
            part = Part(earlier.text, count, earlier.pieces)
            pieces.append(CopiedPiece(earlier.first, _stop(earlier)))
        parts.append(part)
        count = _stop(part)
    return Written(Known(parts), list(_joined(pieces)), same)


def _same(texts: Sequence[str], base: Known | None) -> list[Part]:
    """The parts at the beginning that are those of the base."""
    same = 0
    for text, part in zip(texts, base.parts if base else (), strict=False):
        if text is not part.text and text != part.text:
            break
        same += 1
    return base.parts[:same] if base else []


def _stop(part: Part) -> int:
    """The number of the piece after a part."""
    return part.first + len(part.pieces)


def _earlier(text: str, from_end: int, base: Known | None) -> Part | None:
    """The part of the base with this text: the one as far from the end if it is, for runs are written together."""
    if base is None:
        return None
    if -from_end <= len(base.parts) and base.parts[from_end].text == text:
        return base.parts[from_end]
    return base.by_text.get(text)


def _piece(text: str, is_string: bool, base: Known | None, find: Find) -> Piece:
    said = string_of(text) if is_string else None
    origin = find(said) if said is not None else None
    if said is not None and origin is not None and (spelling := spelling_of(said, text)):
        return ShownPiece(origin.trace_id, origin.decision, spelling)
    number = base.piece(text) if base is not None and len(text) > 16 else None
    return LiteralPiece(as_bytes(text)) if number is None else CopiedPiece(number, number + 1)


def _joined(pieces: list[Piece]) -> Iterator[Piece]:
    """The pieces with runs of copied ones as one."""
    run: CopiedPiece | None = None
    for piece in pieces:
        if not isinstance(piece, CopiedPiece):
            if run is not None:
                yield run
            run = None
            yield piece
        elif run is not None and run.stop == piece.first:
            run = CopiedPiece(run.first, piece.stop)
        else:
            if run is not None:
                yield run
            run = piece
    if run is not None:
        yield run
