"""Answers that are held to be read, within limits: a few packed bytes can be a very large answer.

Owns: how much of an answer is held and unpacked. Must not know: what becomes of an answer that is larger.
"""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

MOST_HELD = 64 * 1024 * 1024
"""Bytes of an answer that are held, packed or not."""
_MOST_RATIO = 100
"""How many times its packed size an answer may be, above the least size."""
_LEAST = 1024 * 1024
_PIECE = 256 * 1024
_UNPACKED = ("", "identity")


class AnswerTooLarge(Exception):
    """An answer is larger than is held."""


class Unreadable(Exception):
    """An answer is packed in an unknown or broken way."""


def can_unpack(encoding: str) -> bool:
    """Whether a content encoding is one that is unpacked here."""
    return encoding.lower() in ("gzip", "x-gzip", "deflate")


class Unpacker:
    """Unpacks a stream in pieces of bounded size, however much each packed byte stands for."""

    def __init__(self, encoding: str) -> None:
        self._zlib = zlib.decompressobj(47) if can_unpack(encoding) else None
        self._packed = self._size = 0

    @property
    def is_too_large(self) -> bool:
        """Whether more came out than is held and read."""
        return self._size > MOST_HELD or self._size > max(_LEAST, self._packed * _MOST_RATIO)

    def feed(self, data: bytes) -> Iterable[bytes]:
        """What comes out of some more bytes, in pieces; `zlib.error` where they are broken."""
        self._packed += len(data)
        if self._zlib is not None:
            return self._unpack(self._zlib, data)
        self._size += len(data)
        return (data,) if data else ()

    def _unpack(self, packed: Any, data: bytes) -> Iterator[bytes]:
        while data:
            piece, data = packed.decompress(data, _PIECE), packed.unconsumed_tail
            self._size += len(piece)
            if piece:
                yield piece


class AnswerBuffer:
    """An upstream's answer, held as it came to be read and recorded at its end."""

    def __init__(self, encoding: str = "") -> None:
        self.pieces: list[bytes] = []
        self._size = 0
        self._encoding = encoding
        self.last = b""
        """The last four bytes."""

    @property
    def is_too_large(self) -> bool:
        """Whether the answer is larger than is held."""
        return self._size > MOST_HELD

    def would_be_too_large(self, piece: bytes) -> bool:
        """Whether the answer is larger than is held, with one piece more."""
        return self._size + len(piece) > MOST_HELD

    def add(self, piece: bytes) -> None:
        """Add a piece; of an answer that is too large nothing is held."""
        self.last = piece[-4:] if len(piece) >= 4 else (self.last + piece)[-4:]
        self._size += len(piece)
        if self._size <= MOST_HELD:
            self.pieces.append(piece)
        else:
            self.pieces.clear()

    def unpacked(self) -> bytes:
        """The whole answer; `AnswerTooLarge` or `Unreadable` where there is none to read."""
        if self.is_too_large:
            raise AnswerTooLarge
        if not can_unpack(self._encoding):
            if self._encoding.lower() not in _UNPACKED:
                raise Unreadable
            return b"".join(self.pieces)
        unpacker, out = Unpacker(self._encoding), list[bytes]()
        try:
            for packed in self.pieces:
                for piece in unpacker.feed(packed):
                    out.append(piece)
                    if unpacker.is_too_large:
                        raise AnswerTooLarge
        except zlib.error as error:
            raise Unreadable from error
        return b"".join(out)

    def data(self) -> bytes:
        """The whole answer; nothing where it is too large or cannot be read: it could hide a key from being masked."""
        try:
            return self.unpacked()
        except (AnswerTooLarge, Unreadable):
            return b""
