"""The pieces of one log, decoded one by one, with a note of each that cannot be.

Owns: unpacking, mending what JavaScript and cut-off characters leave behind, counting what is broken.
Must not know: any client's format.

A piece is a line, or a whole document where a file is one. Only one is held at a time.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TypeAlias, TypeVar, cast

import msgspec

from keepwhole.canonical.value import Value

Piece: TypeAlias = bytes | memoryview | msgspec.Raw
T = TypeVar("T")
NO_JSON = "no JSON"
_GZIP = b"\x1f\x8b"
TROUBLE = (OSError, EOFError, zlib.error)
"""What opening and unpacking raise."""
BAD = (ValueError, RecursionError)
"""What decoding raises for bytes that are no JSON, no UTF-8, or no value of the wanted type."""
_MARK = b"\xef\xbb\xbf"
"""What some editors begin a file with."""
_PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE = re.compile(rb"\\\\|" + _PAIR + rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})")


class Unread(Value):
    """What could not be read of one log, counted by reason."""

    path: Path
    why: str
    count: int = 1
    first_line: int | None = None
    """Where it was met first; None where there are no lines."""


class Lines:
    """The pieces of one log in order."""

    def __init__(self, path: Path, pieces: Iterable[Piece] | None = None) -> None:
        self.path = path
        self._pieces = pieces
        self._number = 0
        self._unread: dict[str, tuple[int, int]] = {}

    def __iter__(self) -> Iterator[Piece]:
        """Every piece that is not blank; a file that breaks off ends here, and that is noted."""
        try:
            for piece in lines_of(self.path) if self._pieces is None else self._pieces:
                self._number += 1
                if not isinstance(piece, bytes) or not piece.isspace():
                    yield piece
        except TROUBLE as error:
            self._number += 1
            self.unreadable(trouble(error))

    def decoded(self, decoder: msgspec.json.Decoder[T], what: str) -> Iterator[T]:
        """Every piece that is of the decoder's type; `what` names what the others are not."""
        for piece in self:
            yield from self.decode(piece, decoder, what)

    def decode(self, piece: Piece, decoder: msgspec.json.Decoder[T], what: str) -> tuple[T, ...]:
        """The value of a piece, or of a part of one; none where it is not of the decoder's type, which is noted."""
        try:
            return (decode(piece, decoder),)
        except msgspec.ValidationError:
            self.unreadable(f"not {what}")
        except BAD:
            self.unreadable(NO_JSON)
        return ()

    def unreadable(self, why: str, count: int = 1) -> None:
        """Note that the piece at hand, or that many things in it, cannot be read."""
        before, first = self._unread.get(why, (0, self._number))
        self._unread[why] = (before + count, first)

    def unread(self) -> Iterator[Unread]:
        """What was noted so far."""
        for why, (count, first) in self._unread.items():
            yield Unread(self.path, why, count, first or None)


def decode(piece: Piece, decoder: msgspec.json.Decoder[T]) -> T:
    """The value; half a surrogate pair and bytes that are no UTF-8 become U+FFFD, as they show on a screen."""
    try:
        return decoder.decode(piece)
    except msgspec.ValidationError:
        raise
    except BAD:
        mended = _mended(bytes(piece))
        if mended is None:
            raise
        return decoder.decode(mended)


def _mended(line: bytes) -> bytes | None:
    """The line with what can be mended mended; None where there is nothing to mend."""
    whole = line.removeprefix(_MARK).decode("utf-8", "replace").encode()
    if b"\\ud" in whole or b"\\uD" in whole:
        whole = _LONE.sub(lambda found: b"\\ufffd" if found[1] else found[0], whole)
    return whole if whole != line else None


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, unpacked; raises what opening and unpacking raise."""
    with opened(path) as file:
        yield from file


def opened(path: Path) -> IO[bytes]:
    """The file for reading, unpacked where it is packed, whatever its name says."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    return cast("IO[bytes]", gzip.open(path, "rb")) if packed else path.open("rb", buffering=1 << 20)


def trouble(error: BaseException) -> str:
    """Why a file cannot be read (further), in plain words."""
    if isinstance(error, EOFError):
        return "the packed file is cut off"
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return "the packed file is damaged"
    return f"the file cannot be read ({getattr(error, 'strerror', None) or error})"
