"""Text of a tool that imitates a notice of ours is marked as quoted in the view. The record keeps it as it is."""

import re
from functools import cache

from keepwhole.canonical.utf8 import holds_any
from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, Source

MARK = "[quoted] "
_HIDDEN = "[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
_HINTS = ("rtifact", "omitted", "TRUNCATED", "content truncated", "get_task_trace(")


def _spread(words: str) -> str:
    """A pattern for words, with characters between their letters that nobody sees."""
    return _HIDDEN.join(re.escape(letter) for letter in words)


@cache
def _imitation() -> re.Pattern[str]:
    """What a notice of ours looks like; compiled when a text first hints at one."""
    return re.compile(
        "|".join(
            (
                rf"\[{_HIDDEN}\s*{_spread('Artifact')}\s*:",
                rf"{_spread('get_artifact')}\s*\(\s*(?:id|artifact_id)\s*=",
                rf"{_spread('get_task_trace')}\s*\(",
                r"\.\.\. \[[^\]\n]{0,60}omitted[^\]\n]{0,60}\] \.\.\.",
                r"\.\.\. [\d,]+ (?:items|rows|elements) omitted \.\.\.",
                r"\[TRUNCATED — ",
                r"\[content truncated - ",
            )
        ),
        re.IGNORECASE,
    )


def neutralised(cut: Cut, source: Source) -> Cut:
    """The same cut with every imitation in its kept text marked; the cut itself where there is none."""
    pieces: list[Piece] = []
    for piece in cut.pieces:
        if isinstance(piece, Segment) and piece.part == "kept":
            pieces += _marked(source.text(piece.start, piece.stop), piece)
        else:
            pieces.append(piece)
    return cut if len(pieces) == len(cut.pieces) else cut.replace(pieces=tuple(pieces))


def quoted(text: str) -> str:
    """A text with every imitation in it marked."""
    return _imitation().sub(rf"{MARK}\g<0>", text) if _hints(text) else text


def imitates(text: str) -> bool:
    """Whether something in a text looks like a notice of ours."""
    return _hints(text) and _imitation().search(text) is not None


def _hints(text: str) -> bool:
    """Whether it is worth a closer look."""
    return not text.isascii() or holds_any(text, _HINTS)


def _marked(text: str, kept: Segment) -> list[Piece]:
    if not _hints(text):
        return [kept]
    pieces: list[Piece] = []
    at = 0
    for match in _imitation().finditer(text):
        if match.start() > at:
            pieces.append(Segment("kept", kept.start + at, kept.start + match.start()))
        pieces.append(Inserted(MARK))
        at = match.start()
    return [*pieces, Segment("kept", kept.start + at, kept.stop)] if pieces else [kept]
