"""The pieces of one log, decoded one by one, with a note of each piece that cannot be decoded.

Owns: decompression and its limits, the repair of lone surrogates and invalid UTF-8, counting what is broken.
Must not know: any client's format.

A piece is a line, or the whole file where a file is one document. Only one piece is in memory at a time. A line over
the limit is counted and left out; a packed file that unpacks to more than its share is not read.
"""

import gzip
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeAlias, TypeVar, cast

import msgspec

from keepwhole.canonical.value import Value
from keepwhole.store.regular_file import open_regular

Piece: TypeAlias = bytes | memoryview | msgspec.Raw
T = TypeVar("T")
NOT_JSON = "not JSON"
LONGEST_LINE, LONGEST_DOCUMENT = 64 * 1_048_576, 256 * 1_048_576
"""Bytes of a line, and of a file that is one document."""
MOST_UNPACKED, ALWAYS_UNPACKED = 100, 16 * 1_048_576
"""Times its size that a packed file may unpack to, and the bytes that any may."""
TOO_LONG = f"longer than {LONGEST_LINE // 1_048_576} MB"
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
READ_ERRORS = (OSError, EOFError, zlib.error)
"""The exceptions of opening and decompressing a file."""
DECODE_ERRORS = (ValueError, RecursionError)
"""The exceptions of decoding bytes that are not JSON, not UTF-8, or not of the wanted type."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_SURROGATE = re.compile(rb"\\\\|" + _PAIR + rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})")


class UnreadPart(Value):
    """What could not be read of one log, counted by reason."""

    path: Path
    why: str
    count: int = 1
    first_line: int | None = None
    """The first line with this problem; None where the log has no lines."""


class LogLines:
    """The pieces of one log in order."""

    def __init__(self, path: Path, pieces: Iterable[Piece | None] | None = None) -> None:
        self.path = path
        self._pieces = pieces
        self._number = 0
        self._unread: dict[str, tuple[int, int]] = {}

    def __iter__(self) -> Iterator[Piece]:
        """Yield every piece that is not blank; note it if the file breaks off."""
        try:
            for piece in read_lines(self.path) if self._pieces is None else self._pieces:
                self._number += 1
                if piece is None:
                    self.note_unreadable(TOO_LONG)
                elif not isinstance(piece, bytes) or not piece.isspace():
                    yield piece
        except READ_ERRORS as error:
            self._number += 1
            self.note_unreadable(read_error(error))

    def decode_all(self, decoder: msgspec.json.Decoder[T], what: str) -> Iterator[T]:
        """Yield the value of every piece of the decoder's type; `what` names that type in the notes of the others."""
        for piece in self:
            yield from self.decode(piece, decoder, what)

    def decode(self, piece: Piece, decoder: msgspec.json.Decoder[T], what: str) -> tuple[T, ...]:
        """Return the value of a piece or of a part of one; note it and return nothing if it has another type."""
        try:
            return (decode(piece, decoder),)
        except msgspec.ValidationError:
            self.note_unreadable(f"not {what}")
        except DECODE_ERRORS:
            self.note_unreadable(NOT_JSON)
        return ()

    def note_unreadable(self, why: str, count: int = 1) -> None:
        """Note that the current piece, or `count` parts of it, cannot be read."""
        before, first = self._unread.get(why, (0, self._number))
        self._unread[why] = (before + count, first)

    def unread(self) -> Iterator[UnreadPart]:
        """Yield the notes so far, one per reason."""
        for why, (count, first) in self._unread.items():
            yield UnreadPart(self.path, why, count, first or None)


def decode(piece: Piece, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the value of a piece; lone surrogates and bytes that are not UTF-8 become U+FFFD, as on a screen."""
    try:
        return decoder.decode(piece)
    except msgspec.ValidationError:
        raise
    except DECODE_ERRORS:
        repaired = repaired_characters(bytes(piece))
        if repaired is None:
            raise
        return decoder.decode(repaired)


def repaired_characters(line: bytes) -> bytes | None:
    """Return the line with valid characters only; None if all of them are valid already."""
    whole = line.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace").encode()
    if b"\\ud" in whole or b"\\uD" in whole:
        whole = _LONE_SURROGATE.sub(lambda found: b"\\ufffd" if found[1] else found[0], whole)
    return whole if whole != line else None


class UnpackedTooMuch(OSError):
    """A packed file unpacks to more than its share."""


class LogFile:
    """A log that is open for reading, decompressed if its content is gzip, whatever its name is."""

    def __init__(self, path: Path) -> None:
        self._file = open_regular(path)
        is_gzip = self._file.read(2) == _GZIP
        self._file.seek(0)
        self._unpacked = cast("IO[bytes]", gzip.GzipFile(fileobj=self._file)) if is_gzip else None

    def __enter__(self) -> "LogFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def refuse_bomb(self) -> None:
        """Unpack a packed file once; `UnpackedTooMuch` where that is too much. Damage is found when it is read."""
        with suppress(EOFError, gzip.BadGzipFile, zlib.error):
            while self._unpacked is not None and self._unpacked.read(_CHUNK):
                self._check_share()

    def read(self, most: int) -> bytes:
        """Up to `most` bytes, fewer only at the end; may raise `READ_ERRORS`."""
        parts: list[bytes] = []
        while most > 0 and (part := (self._unpacked or self._file).read(min(most, _CHUNK))):
            self._check_share()
            parts.append(part)
            most -= len(part)
        return b"".join(parts)

    def readline(self) -> bytes | None:
        """The next line, empty at the end; None for a line over the limit, which is skipped."""
        parts: list[bytes] = []
        size = 0
        while part := (self._unpacked or self._file).readline(_CHUNK):
            self._check_share()
            size += len(part)
            parts = [*parts, part] if size <= LONGEST_LINE else []
            if part.endswith(b"\n"):
                break
        return b"".join(parts) if size <= LONGEST_LINE else None

    def _check_share(self) -> None:
        if self._unpacked is None:
            return
        size = self._unpacked.tell()
        if size > ALWAYS_UNPACKED and size > MOST_UNPACKED * self._file.tell():
            raise UnpackedTooMuch(f"the file is more than {MOST_UNPACKED} times larger decompressed")


def read_lines(path: Path) -> Iterator[bytes | None]:
    """Yield the decompressed lines of a file, None for one over the limit; may raise `READ_ERRORS`."""
    with LogFile(path) as file:
        while (line := file.readline()) != b"":
            yield line


def read_error(error: BaseException) -> str:
    """Return the reason why a file cannot be read (further), for people."""
    if isinstance(error, UnpackedTooMuch):
        return str(error)
    if isinstance(error, EOFError):
        return "the compressed file is cut off"
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return "the compressed file is damaged"
    return f"the file cannot be read ({getattr(error, 'strerror', None) or error})"


def file_size(path: Path) -> int:
    """Return the number of bytes of a file; 0 if it does not exist or is no regular file."""
    try:
        found = path.stat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
