"""Writes a request as a manifest: references to the record and to an earlier request, and literal bytes for the rest.

Theory of operation. A request repeats nearly all of the one before it. So it is split into parts (messages, large
fields, what is between), and each part is written as one of three pieces:

    CopiedPiece(first, stop)    pieces first..stop of the manifest of an earlier request, its *base*
    ShownPiece(trace, decision) a long string that the record produces: a result, whole or as a decision shows it, with
                                the frame that its client put around it; of an image, the base64 of its bytes, if
                                encoding them again gives exactly that string
    LiteralPiece(bytes)         anything else

Example. Request 7 is request 6 and two messages more:

    [CopiedPiece(0, 12), LiteralPiece(', {"role": …'), ShownPiece(tr_9, 0), …]

Invariants: the pieces put together are the request, byte for byte; a chain of bases is at most `_LONGEST_CHAIN` long,
so that damage to one request spoils no more than that many.

A message's part begins where the one before ends, so that one more message leaves all others as they are.

Owns: where parts begin and end, choosing the base, and the pieces.
Must not know: the record; where a text comes from is asked of a function.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

from keepwhole.canonical.base64_text import base64_in
from keepwhole.canonical.json_steps import expect, skip_space, value_stop
from keepwhole.canonical.json_text import find_strings
from keepwhole.canonical.manifest import (
    BYTES,
    CopiedPiece,
    LiteralPiece,
    Piece,
    ShownPiece,
    spelled_bytes,
    spelling_of,
)
from keepwhole.record.known_result import Origin
from keepwhole.wire.frames import split_frame
from keepwhole.wire.media import decoded
from keepwhole.wire.request_body import read_request

LONG = 256
"""Characters of a field or a string that is a part of its own."""


def split(data: bytes, like: Sequence[str] = ()) -> list[str]:
    """The parts of a request: messages, large fields, and what lies between; one part if we cannot read it.

    What it has in common at either end with an earlier request, whose parts are `like`, is not read again.

    >>> split(b'{"model": "m", "messages": [{"role": "user"}, {"role": "user"}]}')
    ['{"model": "m", "messages": [', '{"role": "user"}', ', {"role": "user"}', ']}']
    """
    text = as_text(data)
    known = _split_alike(text, like) if like else None
    return known or _split_anew(data, text)


def _split_anew(data: bytes, text: str) -> list[str]:
    request = read_request(data)
    if request is None:
        return [text]
    places = {0, len(text), *request.starts[:1], *request.stops}
    places.update(place for span in request.spans.values() if span[1] - span[0] >= LONG for place in span)
    return [text[start:stop] for start, stop in pairwise(sorted(places))]


def _split_alike(text: str, like: Sequence[str]) -> list[str] | None:
    """The parts where all that is new are messages; None where it is something else.

    A part that is cut elsewhere than it would be anew is as right: it only makes for a longer manifest.
    """
    front, start = 0, 0
    for part in like:
        if not text.startswith(part, start):
            break
        front, start = front + 1, start + len(part)
    back, stop = len(like), len(text)
    while back > front and stop - len(like[back - 1]) >= start and text.endswith(like[back - 1], start, stop):
        back, stop = back - 1, stop - len(like[back - 1])
    new = _messages(text, start, stop) if front else None
    return None if new is None else [*like[:front], *new, *like[back:]]


def _messages(text: str, at: int, stop: int) -> list[str] | None:
    """The messages of a stretch of a list, each with the comma before it; None if it is not made of such."""
    found: list[str] = []
    while at < stop:
        try:
            start = skip_space(text, expect(text, skip_space(text, at), ","))
            end = value_stop(text, start)
        except (ValueError, StopIteration, IndexError, RecursionError):
            return None
        if end > stop:
            return None
        found.append(text[at:end])
        at = end
    return found


def strings(part: str) -> list[str]:
    """A part taken apart at its long strings, quotes included; they are every second one, the first is none."""
    found: list[str] = []
    at = 0
    if len(part) >= LONG:
        for start, stop in find_strings(part):
            if stop - start >= LONG:
                found += (part[at:start], part[start:stop])
                at = stop
    return [*found, part[at:]]


def string_of(written: str) -> str | None:
    """The text that a JSON string stands for; None if it is none."""
    try:
        return cast("str", json.loads(written))
    except ValueError:
        return None


class EncodedBytes(NamedTuple):
    """Bytes that are base64 in a JSON string."""

    before: str
    """What is before the base64: the beginning of a `data:` URL, or nothing."""
    data: bytes
    spelling: str


def bytes_in(value: str, written: str) -> EncodedBytes | None:
    """The bytes in a JSON string that is `written` so; None where encoding them does not give it again exactly."""
    data = decoded(value)
    before = value[: len(value) - len(base64_in(value))]
    spellings = (name for name in BYTES if data and spelled_bytes(data, name, before) == written)
    spelling = next(spellings, None)
    return EncodedBytes(before, data, spelling) if data and spelling is not None else None


def as_text(data: bytes) -> str:
    """Any bytes as text."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(part: str) -> bytes:
    """The bytes of a part."""
    return part.encode("utf-8", "surrogateescape")


_REMEMBERED = 8
"""Requests to choose from: the newest of as many conversations side by side."""
_LONGEST_CHAIN = 256
_NEAR = 0.9
"""Share of a request that makes an earlier one of its branch the base without a look at the others."""
_WORTH = 0.1
"""Share of a request below which an earlier one is no base."""

FindOrigins = Callable[[Collection[str | bytes]], Mapping[str | bytes, Origin]]
"""Return which entries produce these texts and bytes; one question for all of them, since each may be a round trip."""


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


def split_into_pieces(texts: Sequence[str], base: EarlierRequest | None, find_origins: FindOrigins) -> ManifestPieces:
    """The manifest of a request with these parts."""
    parts = _same_parts(texts, base)
    same, count = len(parts), parts[-1].stop if parts else 0
    pieces: list[Piece] = [CopiedPiece(0, count)] if parts else []
    rest = [(text, _earlier_part(text, at - len(texts), base)) for at, text in enumerate(texts[same:], same)]
    split_up = {text: strings(text) for text, earlier in rest if earlier is None}
    values = {written: string_of(written) for split in split_up.values() for written in split[1::2]}
    encoded = {
        written: found for written, value in values.items() if value and (found := bytes_in(value, written)) is not None
    }
    framed = {
        written: split_frame(value) for written, value in values.items() if value is not None and written not in encoded
    }
    shown = {text for parts in framed.values() for text in ("".join(parts), parts[1])}
    origins = find_origins({*shown, *(found.data for found in encoded.values())})
    for text, earlier in rest:
        if earlier is None:
            part = RequestPart(text, count, split_up[text])
            pieces += (_piece(one, framed.get(one), encoded.get(one), base, origins) for one in part.pieces)
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


def _piece(
    text: str,
    framed: tuple[str, str, str] | None,
    encoded: EncodedBytes | None,
    base: EarlierRequest | None,
    origins: Mapping[str | bytes, Origin],
) -> Piece:
    """The piece for a text; where it is a string, `framed` is what it stands for: a frame, a text, a frame; or
    `encoded`, where that is base64."""
    origin = None if encoded is None else origins.get(encoded.data)
    if origin is not None and encoded is not None:
        return ShownPiece(origin.trace_id, origin.decision, encoded.spelling, encoded.before)
    if framed is not None:
        value = "".join(framed)
        for before, shown, behind in (("", value, ""), framed):
            origin = origins.get(shown)
            if origin is not None and (spelling := spelling_of(value, text)):
                return ShownPiece(origin.trace_id, origin.decision, spelling, before, behind)
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
