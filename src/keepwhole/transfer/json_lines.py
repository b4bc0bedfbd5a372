"""The lines of archives and backups: one JSON object each, written and read in bounded memory.

Must not know: what the objects mean.
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
    """Return a record as a line."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def piece_of(data: bytes) -> bytes:
    """Return a piece of a body as a line."""
    return b'{"body":"' + base64.b64encode(data) + b'"}\n'


def lines_in(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; `ValueError` for a line that is too long."""
    while line := file.readline(_LONGEST):
        if len(line) == _LONGEST:
            raise ValueError("a line is longer than Keepwhole writes")
        yield line


class RecordReader:
    """Reads the records of an archive, one ahead. `ValueError` for a line that is no record or not the expected one."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self._next = self._next_record()

    def next_is(self, key: str) -> bool:
        """Return whether the next record has this key."""
        return key in self._next

    def at_end(self) -> bool:
        """Return whether all records were read."""
        return not self._next

    def read(self, key: str) -> dict[str, Any]:
        """Read the next record, which must have this key."""
        record = self._next
        if key not in record:
            raise ValueError(f"there is no `{key}` where one must be")
        self._next = self._next_record()
        return record

    def read_pieces(self) -> Iterator[bytes]:
        """Yield the pieces of a body, up to the next record of another kind."""
        while self.next_is("body"):
            yield base64.b64decode(self.read("body")["body"], validate=True)

    def read_body(self, size: int) -> bytes:
        """Read a whole body; `ValueError` if it is not of this size."""
        pieces: list[bytes] = []
        for piece in self.read_pieces():
            pieces.append(piece)
            size -= len(piece)
            if size < 0:
                break
        if size:
            raise ValueError("the size of a body is not the one in its entry")
        return b"".join(pieces)

    def skip_body(self) -> None:
        """Skip a body."""
        while self.next_is("body"):
            self.read("body")

    def _next_record(self) -> dict[str, Any]:
        try:
            record = json.loads(next(self._lines, b"{}"))
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise ValueError("a line is not a JSON object")
        return cast("dict[str, Any]", record)
