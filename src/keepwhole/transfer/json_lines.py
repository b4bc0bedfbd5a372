"""The lines of archives and backups: one JSON object each, written and read in bounded memory.

Must not know: what the objects say.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, cast

PIECE = 3 * 65_536
"""Bytes of a body on one line; a multiple of three, so that the lines' base64 has no padding in between."""
_LONGEST = 64 << 20
"""No line is longer; a header has the arguments of a call in it."""


def line_of(record: dict[str, Any]) -> bytes:
    """A record as a line."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def piece_of(data: bytes) -> bytes:
    """A piece of a body as a line."""
    return b'{"body":"' + base64.b64encode(data) + b'"}\n'


def lines_in(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; one without an end in sight is refused."""
    while line := file.readline(_LONGEST):
        if len(line) == _LONGEST:
            raise ValueError("a line is too long to be ours")
        yield line


class Records:
    """The records of an archive, one ahead. `ValueError` for what is no record, or not the one that must come."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self._next = self._read()

    def next_is(self, key: str) -> bool:
        """Whether the next record is of this kind."""
        return key in self._next

    def at_end(self) -> bool:
        """Whether nothing more comes."""
        return not self._next

    def take(self, key: str) -> dict[str, Any]:
        """The next record, which must be of this kind."""
        record = self._next
        if key not in record:
            raise ValueError(f"there is no `{key}` where one must be")
        self._next = self._read()
        return record

    def bodies(self) -> Iterator[bytes]:
        """The pieces of a body, up to the next record of another kind."""
        while self.next_is("body"):
            yield base64.b64decode(self.take("body")["body"], validate=True)

    def body(self, size: int) -> bytes:
        """The same in one; `ValueError` if it is not of this size."""
        pieces: list[bytes] = []
        for piece in self.bodies():
            pieces.append(piece)
            size -= len(piece)
            if size < 0:
                break
        if size:
            raise ValueError("a body has another size than its entry says")
        return b"".join(pieces)

    def pass_over(self) -> None:
        """Leave a body out."""
        while self.next_is("body"):
            self.take("body")

    def _read(self) -> dict[str, Any]:
        try:
            record = json.loads(next(self._lines, b"{}"))
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise ValueError("a line is no JSON object")
        return cast("dict[str, Any]", record)
