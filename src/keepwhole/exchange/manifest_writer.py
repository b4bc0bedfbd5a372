"""Writes a request as a manifest: references to the record and to an earlier request, and literal bytes for the rest.

Theory of operation. A request repeats nearly all of the one before it. So it is split into parts (messages, large
fields, what is between), and each part is written as one of three pieces:

    CopiedPiece(first, stop)    pieces first..stop of the manifest of an earlier request, its *base*
    ShownPiece(trace, decision) a long string that the record produces: a result, whole or as a decision shows it
    LiteralPiece(bytes)         anything else

Example. Request 7 is request 6 and two messages more:

    [CopiedPiece(0, 12), LiteralPiece(', {"role": …'), ShownPiece(tr_9, 0), …]

Invariants: the pieces put together are the request, byte for byte; a chain of bases is at most `_LONGEST_CHAIN` long,
so that damage to one request spoils no more than that many.

Owns: choosing the base, and the pieces. Must not know: the record; where a text comes from is asked of a function.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from keepwhole.canonical.manifest import CopiedPiece, LiteralPiece, Piece, ShownPiece, spelling_of
from keepwhole.record.journal import Origin
from keepwhole.wire.request_parts import as_bytes, string_of, strings

_REMEMBERED = 8
"""Requests to choose from: the newest of as many conversations side by side."""
_LONGEST_CHAIN = 256
_NEAR = 0.9
"""Share of a request that makes an earlier one of its branch the base without a look at the others."""
_WORTH = 0.1
"""Share of a request below which an earlier one is no base."""

FindOrigin = Callable[[str], Origin | None]


class RequestPart:
    """One part of a request that was sent, and the strings it was split into."""

    __slots__ = ("first", "pieces", "text")

    def __init__(self, text: str, first: int, pieces: Sequence[str]) -> None:
        self.text = text
        self.first = first
        """The number of its first piece in the manifest."""
        self.pieces = pieces

    @property
    def stop(self) -> int:
        """The number of the piece after it."""
        return self.first + len(self.pieces)


class EarlierRequest:
    """A request as it is remembered: its parts in order, and where each of its pieces is."""

    def __init__(self, parts: list[RequestPart]) -> None:
        self.parts = parts
        self.texts = [part.text for part in parts]
        self.by_text = {part.text: part for part in parts}
        self._by_piece: dict[str, int] | None = None
        self.seq, self.branch, self.chain_length = 0, "", 0

    def piece_number(self, text: str) -> int | None:
        """The number of the piece with this text."""
        if self._by_piece is None:
            self._by_piece = {piece: part.first + at for part in self.parts for at, piece in enumerate(part.pieces)}
        return self._by_piece.get(text)

    def share_of(self, texts: Sequence[str]) -> float:
        """How much of a request is in this one too, from 0 to 1."""
        return sum(len(text) for text in texts if text in self.by_text) / (sum(map(len, texts)) or 1)


class ManifestPieces(NamedTuple):
    """A request split for its manifest."""

    request: EarlierRequest
    pieces: list[Piece]
    same: int
    """Parts at its beginning that are those of the base."""


class EarlierRequests:
    """The requests that one session sent last."""

    def __init__(self) -> None:
        self._remembered: list[EarlierRequest] = []

    def forget(self) -> None:
        """Let none be a base."""
        self._remembered = []

    def parts_of_branch(self, branch: str) -> Sequence[str]:
        """The parts of the newest request of a branch, which the next one most likely continues."""
        newest = next((one for one in reversed(self._remembered) if one.branch == branch), None)
        return newest.texts if newest else ()

    def best_base(self, texts: Sequence[str], branch: str) -> EarlierRequest | None:
        """The request that shares most with these parts; the newest of several."""
        best, most = None, _WORTH
        for earlier in sorted(reversed(self._remembered), key=lambda earlier: earlier.branch != branch):
            share = earlier.share_of(texts) if earlier.chain_length < _LONGEST_CHAIN else 0.0
            if share > most:
                best, most = earlier, share
            if most >= _NEAR and earlier.branch == branch:
                break
        return best

    def add(self, request: EarlierRequest, seq: int, branch: str, base: EarlierRequest | None) -> None:
        """Remember a request that is on record now; it replaces the one it continues."""
        request.seq, request.branch, request.chain_length = seq, branch, base.chain_length + 1 if base else 0
        others = [one for one in self._remembered if one is not base or one.branch != branch]
        self._remembered = [*others, request][-_REMEMBERED:]


def split_into_pieces(texts: Sequence[str], base: EarlierRequest | None, find_origin: FindOrigin) -> ManifestPieces:
    """The manifest of a request with these parts."""
    parts = _same_parts(texts, base)
    same, count = len(parts), parts[-1].stop if parts else 0
    pieces: list[Piece] = [CopiedPiece(0, count)] if parts else []
    for at, text in enumerate(texts[same:], same):
        earlier = _earlier_part(text, at - len(texts), base)
        if earlier is None:
            part = RequestPart(text, count, strings(text))
            for number, one in enumerate(part.pieces):  # every second one is a string
                pieces.append(_piece(one, number % 2 == 1, base, find_origin))
        else:
            part = RequestPart(earlier.text, count, earlier.pieces)
            pieces.append(CopiedPiece(earlier.first, earlier.stop))
        parts.append(part)
        count = part.stop
    return ManifestPieces(EarlierRequest(parts), list(_join_runs(pieces)), same)


def _same_parts(texts: Sequence[str], base: EarlierRequest | None) -> list[RequestPart]:
    """The parts at the beginning that are those of the base."""
    same = 0
    for text, part in zip(texts, base.parts if base else (), strict=False):
        if text is not part.text and text != part.text:
            break
        same += 1
    return base.parts[:same] if base else []


def _earlier_part(text: str, from_end: int, base: EarlierRequest | None) -> RequestPart | None:
    """The part of the base with this text; the one as far from the end, if it is, so that runs become one piece."""
    if base is None:
        return None
    if -from_end <= len(base.parts) and base.parts[from_end].text == text:
        return base.parts[from_end]
    return base.by_text.get(text)


def _piece(text: str, is_string: bool, base: EarlierRequest | None, find_origin: FindOrigin) -> Piece:
    value = string_of(text) if is_string else None
    origin = find_origin(value) if value is not None else None
    if value is not None and origin is not None and (spelling := spelling_of(value, text)):
        return ShownPiece(origin.trace_id, origin.decision, spelling)
    number = base.piece_number(text) if base is not None and len(text) > 16 else None
    return LiteralPiece(as_bytes(text)) if number is None else CopiedPiece(number, number + 1)


def _join_runs(pieces: list[Piece]) -> Iterator[Piece]:
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
