"""`Marks`: how far a record has come, in a small file beside it, so that a record that went back in time is noticed.

Owns: the file `record.marks`, and the order in which it is written.
Must not know: why a mark and the record differ, or what to do about it (`sqlite.check`).

Theory of operation
-------------------
A database that lost its log, or was replaced by an older copy, is a valid database. Only somebody who remembers what it
had can tell. The file has a slot of 128 bytes for the record and one for each session, by its number:

    slot 0    id of the record; row id and hash of the entry that was stored last
    slot n    number and hash of the session's last entry; digest of its description; when it ended

For example, after entry 7 of session 2 was stored as row 31, slot 0 has (id, 31, h7) and slot 2 has (7, h7). A database
in which row 31 is missing, or has another hash, is not the one that acknowledged it.

Invariants:

- A mark never claims more than the record has, whenever the process is killed or the power fails. A mark that claims
  more than before is written after the commit. One that claims less is written and synced before the commit.
- Marks are written behind the turnstile, so they never go back because of another process.
- Every part has a checksum. A part that was never written, or is damaged, claims nothing.

After a commit the file is written, not synced: that costs a few microseconds, survives a killed process, and lags
behind after a power failure by what the kernel had not written yet. Then less is noticed, and nothing is wrongly
reported.
"""

import os
import struct
import zlib
from contextlib import suppress
from typing import Any, NamedTuple

from keepwhole.store.durable import sync

_SLOT = 128
_LAST = struct.Struct("<16sQ32s")
_HEAD, _HEAD_AT = struct.Struct("<Q32s"), 0
_DESCRIPTION, _DESCRIPTION_AT = struct.Struct("<32s"), 48
_ENDING, _ENDING_AT = struct.Struct("<q?"), 96
_CHECK = struct.Struct("<L")
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


class LastEntry(NamedTuple):
    """The entry of the record that was stored last."""

    record: bytes
    row: int
    chain: bytes


class MarkedHead(NamedTuple):
    """The last entry of a session."""

    seq: int
    chain: bytes


class MarkedEnding(NamedTuple):
    """When a session ended."""

    at: int
    is_committed: bool
    """Whether the ending is known to be in the record; if not, it may be."""


class Marks:
    """The file of marks, opened on first use."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1

    def exists(self) -> bool:
        """Return whether there is such a file."""
        return os.path.lexists(self.path)

    def last(self) -> LastEntry | None:
        """Return the entry of the record that was stored last; None if that is not known."""
        found = self._read(0, _LAST)
        return LastEntry(*found) if found else None

    def head(self, session: int) -> MarkedHead | None:
        """Return the last entry of the session with this number; None if it is not known or there is none."""
        found = self._read(session * _SLOT + _HEAD_AT, _HEAD)
        return MarkedHead(*found) if found and found[0] else None

    def description(self, session: int) -> bytes | None:
        """Return the digest of a session's description; None if it is not known."""
        found = self._read(session * _SLOT + _DESCRIPTION_AT, _DESCRIPTION)
        return found[0] if found else None

    def ending(self, session: int) -> MarkedEnding | None:
        """Return when a session ended; None if it did not, or that is not known."""
        found = self._read(session * _SLOT + _ENDING_AT, _ENDING)
        return MarkedEnding(*found) if found else None

    def sessions(self) -> range:
        """Return the numbers of sessions that may have a mark."""
        try:
            return range(1, os.stat(self.path).st_size // _SLOT + 1)
        except OSError:
            return range(0)

    def note_entry(self, record: bytes, row: int, session: int, seq: int, chain: bytes) -> None:
        """Remember an entry that was committed. The commit stands, so a failure to remember it is no error."""
        with suppress(OSError):
            self._write(session * _SLOT + _HEAD_AT, _HEAD.pack(seq, chain))
        self.note_last(LastEntry(record, row, chain))

    def note_last(self, last: LastEntry) -> None:
        """Remember the entry of the record that was stored last."""
        with suppress(OSError):
            self._write(0, _LAST.pack(*last))

    def note_description(self, session: int, digest: bytes) -> None:
        """Remember the description of a session that is being created."""
        with suppress(OSError):
            self._write(session * _SLOT + _DESCRIPTION_AT, _DESCRIPTION.pack(digest))

    def note_ending(self, session: int, at: int, is_committed: bool) -> None:
        """Remember that a session has ended, or is about to; on the disk on return."""
        self._write(session * _SLOT + _ENDING_AT, _ENDING.pack(at, is_committed))
        self.sync()

    def lower(self, session: int, last: LastEntry) -> None:
        """Forget a session that is about to be purged, after which `last` is the last entry; on the disk on return."""
        self._write(0, _LAST.pack(*last))
        self._write_bytes(session * _SLOT, bytes(_SLOT))
        self.sync()

    def clear(self) -> None:
        """Forget everything."""
        os.ftruncate(self._open(), 0)

    def sync(self) -> None:
        """Return only when the marks are on the disk."""
        sync(self._open())

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read(self, at: int, part: struct.Struct) -> tuple[Any, ...] | None:
        """Return a part; None where it was never written or is damaged."""
        try:
            data = os.pread(self._open(os.O_RDWR), part.size + _CHECK.size, at)
        except OSError:
            return None
        packed, check = data[: part.size], data[part.size :]
        return part.unpack(packed) if len(data) > part.size and check == _checked(packed) else None

    def _write(self, at: int, packed: bytes) -> None:
        self._write_bytes(at, packed + _checked(packed))

    def _write_bytes(self, at: int, data: bytes) -> None:
        if os.pwrite(self._open(), data, at) != len(data):
            raise OSError("the marks could not be written")

    def _open(self, flags: int = os.O_RDWR | os.O_CREAT) -> int:
        if self._fd < 0:
            self._fd = os.open(self.path, _FLAGS | flags, 0o600)
        return self._fd


def _checked(packed: bytes) -> bytes:
    """Return the checksum of a part; bytes that were never written do not have it."""
    return _CHECK.pack(zlib.crc32(packed, 1))
