r"""A cut: which parts of a text are shown, which are left out, and which words are inserted between them.

Owns: the cut as a value, its invariants, its stored form, and the one renderer.
Must not know: why a strategy chose these parts, artifacts, limits.

Theory of operation. A strategy never returns text. It returns a cut, and `render` writes the text from the cut and
the original. So no strategy can invent, reorder or lose anything, and a stored cut shows the same text forever.
For the original "one\ntwo\nthree\nfour\n" (19 characters), shown without its second and third line:

    Segment("kept", 0, 4)       "one\n"           as it is
    Inserted("[2 lines] …\n")                     words of Keepwhole
    Segment("gap", 4, 14)                         left out, and the notice beside it says so
    Segment("kept", 14, 19)     "four\n"          as it is

A third kind of segment, `elided`, is noise that is left out without a notice, such as color codes.

Invariants: offsets count characters of the original; the segments cover the original once, in order, without holes
(`Cut.covers`), so putting the gaps back in their places gives the original; everything else that is shown is in an
`Inserted`, or in `above` and `below`, the notices around the body. The one exception is an image: it has no text to
cut, so its cut has the bytes themselves that are sent in its place (`Cut.image`), and leaves out all of the original.
"""

import json
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

from keepwhole.canonical.body import BodyFacts
from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Path
from keepwhole.canonical.utf8 import encode, showable
from keepwhole.canonical.value import Value
from keepwhole.errors import Damaged

Part: TypeAlias = Literal["kept", "gap", "elided"]
_CODES: dict[str, str] = {"kept": "k", "gap": "g", "elided": "e"}
_PARTS: dict[str, Part] = {"k": "kept", "g": "gap", "e": "elided"}


class Source(Protocol):
    """A text of known size whose parts can be read without loading the rest."""

    @property
    def chars(self) -> int:
        """Characters in all."""
        ...

    @property
    def lines(self) -> int:
        """Lines in all; a last one without its line end counts."""
        ...

    @property
    def eol(self) -> str:
        """The character that ends a line."""
        ...

    def text(self, start: int, stop: int) -> str:
        """The characters from `start` up to `stop`."""
        ...

    def ends_before(self, offset: int) -> int:
        """How many line ends are before character `offset`."""
        ...

    def byte_at(self, char: int) -> int:
        """The byte at which character `char` begins."""
        ...


class Segment(Value):
    """A part of the original: shown (`kept`), left out with a notice (`gap`), or left out as noise (`elided`)."""

    part: Part
    start: int
    stop: int

    def __init__(self, part: Part, start: int, stop: int) -> None:
        values = self.__dict__
        values["part"] = part
        values["start"] = start
        values["stop"] = stop


class Inserted(Value):
    """Words of Keepwhole between two segments."""

    text: str

    def __init__(self, text: str) -> None:
        self.__dict__["text"] = text


Piece: TypeAlias = Segment | Inserted


class ArgumentCut(NamedTuple):
    """How one long value among the arguments of the call is shown: by its beginning."""

    path: Path
    """Where it is in the arguments; empty where these are one text."""
    shown: int
    """Characters at the beginning that are shown."""
    chars: int
    """Characters in all."""


class Cut(Value):
    """How one original is shown: pieces in order, the notices around them, and what is cut of the call's arguments."""

    pieces: tuple[Piece, ...]
    above: str = ""
    below: str = ""
    arguments: tuple[ArgumentCut, ...] = ()
    """Only in requests as they go to a provider: `truncation/arguments.py`."""
    image: MediaBytes | None = None
    """What is sent in place of an image, where that is an image too."""

    def __init__(
        self,
        pieces: tuple[Piece, ...],
        above: str = "",
        below: str = "",
        arguments: tuple[ArgumentCut, ...] = (),
        image: MediaBytes | None = None,
    ) -> None:
        values = self.__dict__
        values["pieces"] = pieces
        values["above"] = above
        values["below"] = below
        if arguments:
            values["arguments"] = arguments
        if image is not None:
            values["image"] = image

    @property
    def segments(self) -> list[Segment]:
        """The pieces that are parts of the original."""
        return [piece for piece in self.pieces if isinstance(piece, Segment)]

    @property
    def gaps(self) -> list[Segment]:
        """The parts that are left out with a notice."""
        return [segment for segment in self.segments if segment.part == "gap"]

    @property
    def left_out(self) -> list[Segment]:
        """The parts that are not shown, with a notice or without."""
        return [segment for segment in self.segments if segment.part != "kept"]

    @property
    def kept(self) -> list[Segment]:
        """The parts that are shown, verbatim."""
        return [segment for segment in self.segments if segment.part == "kept"]

    def covers(self, chars: int) -> bool:
        """Whether the segments cover an original of `chars` characters once, in order, with nothing between."""
        at = 0
        for segment in self.segments:
            if segment.start != at or segment.stop < segment.start:
                return False
            at = segment.stop
        return at == chars


class InvalidCut(ValueError):
    """What a strategy returned is not a cut of its source."""


def check_cut(cut: Cut, chars: int) -> None:
    """Raise `InvalidCut` unless `cut` is one of an original of `chars` characters, down to the types of its fields.

    Strategies come from anybody, so nothing that their signature promises is taken for granted.
    """
    if not isinstance(cut, Cut) or not isinstance(cut.pieces, tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidCut("it is not a `Cut`, or its pieces are not a tuple")
    texts: list[object] = [cut.above, cut.below]
    for piece in cut.pieces:
        if isinstance(piece, Inserted):
            texts.append(piece.text)
        elif not isinstance(piece, Segment) or piece.part not in _CODES:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidCut("a piece is neither a segment nor an insertion")
        elif type(piece.start) is not int or type(piece.stop) is not int:
            raise InvalidCut("an offset is not a whole number")
    if not all(isinstance(text, str) for text in texts):
        raise InvalidCut("words are not text")
    if not cut.covers(chars):
        raise InvalidCut("its segments do not cover the text once and in order")


def whole(chars: int) -> Cut:
    """The cut that leaves nothing out."""
    return Cut((Segment("kept", 0, chars),))


def nothing(chars: int) -> Cut:
    """The cut that leaves everything out: what a strategy returns where nothing of a text fits its rules."""
    return Cut((Segment("gap", 0, chars),))


def behind(cut: Cut, chars: int) -> Cut:
    """The same cut of a text that has `chars` more characters before it, which are kept."""
    moved = (
        Segment(piece.part, piece.start + chars, piece.stop + chars) if isinstance(piece, Segment) else piece
        for piece in cut.pieces
    )
    return cut.replace(pieces=(Segment("kept", 0, chars), *moved))


def render(cut: Cut, source: Source) -> str:
    """The view that `cut` gives of `source`, notices included."""
    return cut.above + render_body(cut, source) + cut.below


def render_body(cut: Cut, source: Source) -> str:
    """The view without the notices around it: kept text verbatim, inserted words, lone surrogates as U+FFFD."""
    return showable("".join(_texts(cut.pieces, source)))


def _texts(pieces: Iterable[Piece], source: Source) -> Iterable[str]:
    for piece in pieces:
        if isinstance(piece, Inserted):
            yield piece.text
        elif piece.part == "kept":
            yield source.text(piece.start, piece.stop)


def length(pieces: Iterable[Piece]) -> int:
    """Characters that these pieces show."""
    total = 0
    for piece in pieces:
        if isinstance(piece, Inserted):
            total += len(piece.text)
        elif piece.part == "kept":
            total += piece.stop - piece.start
    return total


def encode_cut(cut: Cut) -> bytes:
    """The canonical bytes of a cut, as a decision stores them: one line of JSON, and behind it the bytes of an image
    that is sent in place of another."""
    rows: list[object] = [
        piece.text if isinstance(piece, Inserted) else [_CODES[piece.part], piece.start, piece.stop]
        for piece in cut.pieces
    ]
    written: list[object] = [cut.above, rows, cut.below]
    if cut.arguments or cut.image is not None:
        written.append(cut.arguments)
    if cut.image is not None:
        written.append(cut.image.media_type)
    line = json.dumps(written, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return line if cut.image is None else line + b"\n" + cut.image.data


def decode_cut(raw: bytes) -> Cut:
    """The cut that `encode_cut` wrote; `Damaged` for anything else."""
    line, has_image, data = raw.partition(b"\n")
    try:
        above, rows, below, *more = json.loads(line)
        if not isinstance(above, str) or not isinstance(below, str) or not isinstance(rows, list):
            raise ValueError("no cut")
        if len(more) > 2 or (len(more) == 2) != bool(has_image):
            raise ValueError("no cut")
        arguments = tuple(map(_argument_cut, more[0])) if more else ()
        image = MediaBytes(str(more[1]), data) if has_image else None
        return Cut(tuple(_piece(row) for row in cast("list[object]", rows)), above, below, arguments, image)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise Damaged(f"A stored cut cannot be read ({error}). Run `keepwhole sessions verify`.") from error


def _piece(row: object) -> Piece:
    if isinstance(row, str):
        return Inserted(row)
    code, start, stop = cast("list[object]", row)
    if type(start) is not int or type(stop) is not int:
        raise ValueError("an offset is not a number")
    return Segment(_PARTS[cast("str", code)], start, stop)


def _argument_cut(row: list[Any]) -> ArgumentCut:
    path, shown, chars = row
    if type(shown) is not int or type(chars) is not int or not all(type(key) in (str, int) for key in path):
        raise ValueError("no cut of an argument")
    return ArgumentCut(tuple(path), shown, chars)


class TextSource:
    """A text in memory as a `Source`."""

    def __init__(self, text: str, facts: BodyFacts | None = None) -> None:
        """`facts` of the text, where it was measured, need not be found out again."""
        self._text = text
        self.chars = len(text)
        if facts is None:
            self.eol = "\n" if "\n" in text or "\r" not in text else "\r"
            self.lines = text.count(self.eol) + (text != "" and not text.endswith(self.eol))
        else:
            self.eol, self.lines = facts.eol, facts.lines
        self._ends = self.lines - (text != "" and not text.endswith(self.eol))
        self._known = {0: 0, self.chars: self._ends}
        self._last = 0

    def text(self, start: int, stop: int) -> str:
        """The characters from `start` up to `stop`."""
        return self._text[start:stop]

    def ends_before(self, offset: int) -> int:
        """How many line ends are before character `offset`."""
        offset = max(0, min(offset, self.chars))
        found = self._known.get(offset)
        if found is None:
            near = self._last
            if offset < near // 2:
                near = 0
            elif self.chars - offset < abs(offset - near):
                near = self.chars
            low, high = sorted((near, offset))
            count = self._text.count(self.eol, low, high)
            found = self._known[near] + (count if offset > near else -count)
            self._known[offset] = found
        self._last = offset
        return found

    def byte_at(self, char: int) -> int:
        """The byte at which character `char` begins."""
        return len(encode(self._text[:char])[0])
