"""Noise in a view: color codes, overwritten progress frames, base64, the rest of very long lines.

Owns: finding noise in kept text, leaving it out, and filling the room with more text.
Must not know: which strategy chose the text. Nothing here touches a text that fits, or the record.
"""

from typing import cast

from keepwhole.canonical.lazy_pattern import lazy_pattern
from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, Source, length
from keepwhole.truncation.edges import whole_before
from keepwhole.truncation.encoded import SHOWN, encoded_runs
from keepwhole.truncation.notice import omitted
from keepwhole.truncation.skeleton import SEQUENCES
from keepwhole.truncation.strategy import ITruncationStrategy, StrategyOptions

_ESCAPES = lazy_pattern(SEQUENCES)
_BARE_RETURN = lazy_pattern(r"\r(?!\n)")
_PASSES = 4
_FULL = 0.85
"""A view this full is left as it is."""
_MOST = 64
"""How many times its budget a strategy may be given: so the work depends on the budget, not on the text."""


def without_noise(strategy: ITruncationStrategy, source: Source, budget: int, options: StrategyOptions) -> Cut:
    """The strategy's cut with its noise left out, and with as much more text as that makes room for."""
    best: Cut | None = None
    allowance = budget
    for _ in range(_PASSES):
        cut = strategy(source, allowance, options)
        tidy = tidied(cut, source, options.line_cap)
        size = length(tidy.pieces)
        if tidy is cut and allowance == budget:
            return cut
        if size > budget:
            allowance -= size - budget
            continue
        if best is None or size > length(best.pieces):
            best = tidy
        if size > budget * _FULL or not tidy.gaps:
            break
        allowance = min(_MOST * budget, int(allowance * min(8.0, 0.98 * budget / max(size, 1))))
    return best if best is not None else strategy(source, budget, options)


def tidied(cut: Cut, source: Source, line_cap: int) -> Cut:
    """The cut without the noise in its kept parts; the cut itself where there is none."""
    pieces: list[Piece] = []
    noisy = False
    for piece in cut.pieces:
        if isinstance(piece, Segment) and piece.part == "kept":
            text = source.text(piece.start, piece.stop)
            quiet = _quiet_pieces(text, piece.start, source, line_cap)
            if quiet is not None:
                pieces += quiet
                noisy = True
                continue
        pieces.append(piece)
    return cut.replace(pieces=tuple(_joined_gaps(pieces, source))) if noisy else cut


def _joined_gaps(pieces: list[Piece], source: Source) -> list[Piece]:
    """The pieces with gaps that follow each other as one, which is counted once."""
    found: list[Piece] = []
    for piece in pieces:
        found.append(piece)
        if [_part_of(each) for each in found[-4:]] == ["words", "gap", "words", "gap"]:
            start, stop = cast("Segment", found[-3]).start, cast("Segment", piece).stop
            words = omitted(source.ends_before(stop) - source.ends_before(start), stop - start)
            found[-4:] = [Inserted(words), Segment("gap", start, stop)]
    return found


def _part_of(piece: Piece) -> str:
    return piece.part if isinstance(piece, Segment) else "words"


def _quiet_pieces(text: str, base: int, source: Source, line_cap: int) -> list[Piece] | None:
    """The kept text as pieces with its noise left out; None where there is none."""
    spans = _escapes(text) if "\x1b" in text else []
    if "\r" in text and source.eol == "\n":
        spans += _frames(text)
    long = _long_lines(text, source, line_cap, spans)
    long += [(start + SHOWN if start or not base else 0, stop) for start, stop in encoded_runs(text)]
    if not spans and not long:
        return None
    pieces: list[Piece] = []
    at = 0
    for start, stop, is_gap in sorted([(*span, False) for span in spans] + [(*span, True) for span in long]):
        if stop <= at:
            continue
        start = max(start, at)
        pieces.append(Segment("kept", base + at, base + start))
        if is_gap:
            pieces.append(Inserted(omitted(text.count(source.eol, start, stop), stop - start)))
        pieces.append(Segment("gap" if is_gap else "elided", base + start, base + stop))
        at = stop
    pieces.append(Segment("kept", base + at, base + len(text)))
    return [piece for piece in pieces if isinstance(piece, Inserted) or piece.stop > piece.start]


def _escapes(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _ESCAPES.finditer(text)]


def _frames(text: str) -> list[tuple[int, int]]:
    """What a carriage return overwrote: all of a line before its last one that is not part of a CRLF."""
    found: list[tuple[int, int]] = []
    bare = _BARE_RETURN.search(text)
    while bare is not None:
        at = bare.start()
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        last = text.rfind("\r", at, stop - 1 if text[stop - 1 : stop] == "\r" else stop)
        if last >= 0 and last + 1 < stop:
            found.append((text.rfind("\n", 0, at) + 1, last + 1))
        bare = _BARE_RETURN.search(text, stop)
    return found


def _has_long_line(text: str, eol: str, line_cap: int) -> bool:
    """Whether any line is longer than the cap; looks at one line end in `line_cap` characters."""
    at = 0
    while len(text) - at > line_cap:
        at = text.rfind(eol, at, at + line_cap + 1) + 1
        if at == 0:
            return True
    return False


def _long_lines(text: str, source: Source, line_cap: int, noise: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The rest of lines over the cap, noise not counted, where other lines need the room."""
    if len(text) <= line_cap or source.lines < 3:
        return []
    if not _has_long_line(text, source.eol, line_cap):
        return []
    found: list[tuple[int, int]] = []
    start, quiet = 0, _QuietLength(noise)
    while start < len(text):
        stop = text.find(source.eol, start)
        stop = len(text) if stop < 0 else stop
        if stop - start > line_cap:
            over = quiet.between(start, stop) - line_cap
            if over > 0:
                found.append((whole_before(text, stop - over, start, stop - start), stop))
        start = stop + 1
    return found


class _QuietLength:
    """How much of a text is no noise, for stretches that are asked for in order."""

    def __init__(self, noise: list[tuple[int, int]]) -> None:
        self._noise = sorted(noise)
        self._next = 0

    def between(self, start: int, stop: int) -> int:
        """Characters from `start` up to `stop` that are not in a span of noise which begins there."""
        size, noise = stop - start, self._noise
        while self._next < len(noise) and noise[self._next][0] < stop:
            begin, end = noise[self._next]
            if begin >= start:
                size -= end - begin
            self._next += 1
        return size
