"""One pass over a body: size, characters, lines, block index and digest.

Owns: what is known of a body without loading it, and the block index that lets any range be found and
checked by itself.
Must not know: where a body is stored.

A body is hashed in blocks of 64 KB and its digest is the SHA-256 of the blocks' SHA-256s. So a range can be
verified without reading the rest, a damaged block is never served, and blocks can be hashed side by side.
"""

import hashlib
import struct
from array import array
from collections.abc import Iterable
from itertools import accumulate
from sys import byteorder
from typing import Any

from keepwhole.canonical import utf8
from keepwhole.canonical.utf8 import Encoding
from keepwhole.canonical.value import Value

BLOCK = 65_536
LANES = 16
CHUNK = LANES * BLOCK
GUARD = 3
"""Room before a chunk for an unfinished character carried over."""

_ROW = struct.Struct("<32sII")

bytes(CHUNK)  # once: malloc then keeps what a body took for the next one, instead of asking the kernel each time


class BodyFacts(Value):
    """What is known of a body without loading it."""

    size: int
    chars: int
    lines: int
    eol: str
    """The character that ends a line: newline, or carriage return where there is no newline at all."""
    encoding: Encoding
    digest: bytes
    blocks: bytes = b""
    """The block index; empty where one block holds the body."""


class BlockIndex:
    """The block index of one body, ready for look-ups by line and by character."""

    def __init__(self, facts: BodyFacts) -> None:
        self._blocks = facts.blocks
        self.count = len(facts.blocks) // _ROW.size or 1
        numbers = array("I", facts.blocks)
        if byteorder == "big":
            numbers.byteswap()
        self.ends_before: list[int] = [0, *accumulate(numbers[8::10] if facts.blocks else (0,))]
        self.chars_before: list[int] = [0, *accumulate(numbers[9::10] if facts.blocks else (facts.chars,))]

    def digest(self, block: int) -> bytes:
        """The digest of one block."""
        return self._blocks[block * _ROW.size : block * _ROW.size + 32]


def digest_of(blocks: Iterable[bytes]) -> bytes:
    """The digest of a body whose blocks have these digests."""
    return hashlib.sha256(b"".join(blocks)).digest()


def digest_of_bytes(data: bytes) -> bytes:
    """The digest of a body that is in memory already, without its other facts.

    >>> digest_of_bytes(b"one") == measure(b"one").digest
    True
    """
    view = memoryview(data)
    return digest_of(hashlib.sha256(view[at : at + BLOCK]).digest() for at in range(0, len(data), BLOCK))


def measure(data: bytes, encoding: Encoding = "utf-8") -> BodyFacts:
    """The facts of a body that is in memory already.

    >>> measure(b"one\\ntwo").lines
    2
    """
    if len(data) > BLOCK:
        return _measure_in_chunks(data, encoding)
    ends = data.count(b"\n")
    eol = "\n" if ends or b"\r" not in data else "\r"
    if eol == "\r":
        ends = data.count(b"\r")
    chars, encoding = (len(data), encoding) if data.isascii() else utf8.count_by_decoding(memoryview(data), encoding)
    return BodyFacts(
        size=len(data),
        chars=chars,
        lines=_lines(ends, data[-1:], eol),
        eol=eol,
        encoding=encoding,
        digest=digest_of([hashlib.sha256(data).digest()] if data else []),
    )


def _measure_in_chunks(data: bytes, encoding: Encoding) -> BodyFacts:
    measurer = Measurer(encoding, len(data))
    for start in range(0, len(data), CHUNK):
        piece = data[start : start + CHUNK]
        measurer.space[: len(piece)] = piece
        measurer.take(len(piece))
    return measurer.finish()


def _lines(ends: int, last: bytes, eol: str) -> int:
    """Lines as a person counts them: a last line without its line end counts too."""
    return ends + (last not in (b"", eol.encode()))


class Measurer:
    """Owns a buffer of at most a chunk; fill `space`, then `take` what was filled, until `finish`.

    All but the last must fill the buffer, so that blocks begin where the index says they do.
    """

    def __init__(self, encoding: Encoding = "utf-8", expected: int = CHUNK) -> None:
        self._buffer = bytearray(GUARD + max(BLOCK, min(CHUNK, -(-expected // BLOCK) * BLOCK)))
        self._view = memoryview(self._buffer)
        self.space = self._view[GUARD:]
        self.encoding: Encoding = encoding
        self._size = 0
        self._carry = 0
        self._digests: list[bytes] = []
        self._newlines: list[int] = []
        self._returns: list[int] = []
        self._seen_newline = False
        self._chars: list[int] = []
        self._chars_as_bytes: list[int] = []
        self._last = b""

    def take(self, filled: int) -> None:
        """Measure the first `filled` bytes of `space`."""
        if not filled:
            return
        stop = GUARD + filled
        blocks = [(start, min(start + BLOCK, stop)) for start in range(GUARD, stop, BLOCK)]
        self._hash(blocks)
        self._count_ends(blocks)
        self._count_chars(blocks)
        self._size += filled
        self._last = bytes(self._view[stop - 1 : stop])
        self._buffer[GUARD - self._carry : GUARD] = self._buffer[stop - self._carry : stop]

    def finish(self) -> BodyFacts:
        """The facts of everything taken."""
        if self._carry:
            self._count_as_bytes()
            self._chars[-1] += self._carry
        ends, eol = self._ends()
        return BodyFacts(
            size=self._size,
            chars=sum(self._chars),
            lines=_lines(sum(ends), self._last, eol),
            eol=eol,
            encoding=self.encoding,
            digest=digest_of(self._digests),
            blocks=b"".join(map(_ROW.pack, self._digests, ends, self._chars)) if len(ends) > 1 else b"",
        )

    def _ends(self) -> tuple[list[int], str]:
        if not self._seen_newline and any(self._returns):
            return self._returns, "\r"
        return self._newlines, "\n"

    def _hash(self, blocks: list[tuple[int, int]]) -> None:
        zilla: Any = utf8.stringzilla()
        views = [self._view[start:stop] for start, stop in blocks]
        if zilla is not None and len(views) == LANES and hasattr(zilla, "Sha256s"):
            self._digests.extend(bytes(digest) for digest in zilla.Sha256s(LANES).update(views).digest())
        else:
            self._digests.extend(hashlib.sha256(view).digest() for view in views)

    def _count_ends(self, blocks: list[tuple[int, int]]) -> None:
        zilla: Any = utf8.stringzilla()
        for start, stop in blocks:
            if zilla is None:
                newlines = self._buffer.count(b"\n", start, stop)
            else:
                newlines = zilla.count(self._view[start:stop], b"\n")
            self._newlines.append(newlines)
            self._seen_newline = self._seen_newline or newlines > 0
            if not self._seen_newline:
                self._returns.append(self._buffer.count(b"\r", start, stop))

    def _count_chars(self, blocks: list[tuple[int, int]]) -> None:
        for start, stop in blocks:
            text = self._view[start - self._carry : stop]  # what is before it in the buffer may be of an earlier chunk
            carry = utf8.count_unfinished(text, len(text))
            text = text[: len(text) - carry]
            chars, encoding = utf8.count_by_decoding(text, self.encoding)
            self._chars.append(chars)
            surrogates = encoding == "surrogates"
            self._chars_as_bytes.append(len(utf8.decode(text, "bytes")) if surrogates else chars)
            if encoding == "bytes":
                self._count_as_bytes()
            self._carry = carry

    def _count_as_bytes(self) -> None:
        """Count again as bytes: a lone surrogate is one character of a text, but three beside invalid bytes."""
        if self.encoding != "bytes":
            self.encoding = "bytes"
            self._chars = list(self._chars_as_bytes)
