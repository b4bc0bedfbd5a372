"""`MachineMarks`: what this machine stored last in a record on a server, so that one that went back in time is noticed.

Owns: the file `postgres.marks` in the home.
Must not know: why a mark and the record differ, or what to do about it (`postgres.check`).

Theory of operation
-------------------
A database that was restored from an older dump is a valid database. Only somebody who remembers what it had can tell.
The file has 512 slots of 256 bytes. Which slot a session has is a hash of the record's id and the session's name; of
two sessions with the same slot, the one that was written to last has it. So the file remembers the newest sessions of
this machine, which are those that an older dump lacks:

    record's id, session's name    number and hash of its last entry    digest of its description    when it ended

Invariants:

- A mark never claims more than the record had: it is written after the commit, by whoever was told of it.
- A mark of a session is replaced only by one with a greater number. A session that goes on from an earlier entry
  therefore stays noticed.
- Every slot has a checksum. One that was never written, or is damaged, claims nothing.

The file is written and not synced, and a failure to write it is no error: then less is noticed, and nothing is wrongly
reported. Processes of one machine share it, for all records that they use; each slot is written with one call.
"""

import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from keepwhole.errors import StoreError
from keepwhole.store.durable import make_folder

_SLOTS, _SLOT = 512, 256
_MARK = struct.Struct("<32s128sQ32s32sq")
_CHECK = struct.Struct("<L")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Mark(NamedTuple):
    """What is remembered of one session."""

    record: str
    session: str
    seq: int = 0
    """The number of its last entry; 0 if that is not known."""
    chain: bytes = b""
    description: bytes = b""
    """The digest of its description; empty if that is not known."""
    ended_at: int = 0
    """When it ended; 0 if that is not known."""


class MachineMarks:
    """The marks of one record, in a file that is opened on first use."""

    def __init__(self, path: str, record_id: Callable[[], str]) -> None:
        """`record_id` returns the id of the record."""
        self._path, self._record_id = path, record_id
        self._fd = -1
        self._lock = threading.Lock()

    def find(self, session: str) -> Mark | None:
        """Return the mark of a session; None if it has none."""
        record = self._record_id()
        mark = self._read(_slot_of(record, session))
        return mark if mark is not None and mark[:2] == (record, session) else None

    def all(self) -> Iterator[Mark]:
        """Yield the marks of all sessions."""
        record = self._record_id()
        for slot in range(_SLOTS):
            mark = self._read(slot)
            if mark is not None and mark.record == record:
                yield mark

    def note_entry(self, session: str, seq: int, chain: bytes) -> None:
        """Remember an entry that was committed, if it is after the one that is remembered."""
        with suppress(OSError, StoreError):
            mark = self._mark_of(session)
            if seq > mark.seq:
                self._write(mark._replace(seq=seq, chain=chain))

    def note_description(self, session: str, digest: bytes) -> None:
        """Remember the description of a session that was created."""
        with suppress(OSError, StoreError):
            self._write(self._mark_of(session)._replace(description=digest, ended_at=0))

    def note_ending(self, session: str, at: int) -> None:
        """Remember when a session ended."""
        with suppress(OSError, StoreError):
            self._write(self._mark_of(session)._replace(ended_at=at))

    def drop(self, session: str) -> None:
        """Forget a session."""
        with suppress(OSError, StoreError):
            if self.find(session) is not None:
                os.pwrite(self._open(), bytes(_SLOT), _slot_of(self._record_id(), session) * _SLOT)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _read(self, slot: int) -> Mark | None:
        try:
            data = os.pread(self._open(), _MARK.size + _CHECK.size, slot * _SLOT)
        except OSError:
            return None
        packed, check = data[: _MARK.size], data[_MARK.size :]
        if len(check) != _CHECK.size or check != _checked(packed):
            return None
        record, session, seq, chain, description, ended_at = _MARK.unpack(packed)
        names = (record.rstrip(b"\0").decode("utf-8", "replace"), session.rstrip(b"\0").decode("utf-8", "replace"))
        return Mark(*names, seq, chain, description if any(description) else b"", ended_at)

    def _mark_of(self, session: str) -> Mark:
        """Return the mark of a session, or one that claims nothing."""
        return self.find(session) or Mark(self._record_id(), session)

    def _write(self, mark: Mark) -> None:
        names = (mark.record.encode(), mark.session.encode("utf-8", "replace"))
        packed = _MARK.pack(*names, mark.seq, mark.chain, mark.description, mark.ended_at)
        os.pwrite(self._open(), packed + _checked(packed), _slot_of(mark.record, mark.session) * _SLOT)

    def _open(self) -> int:
        with self._lock:
            if self._fd < 0:
                make_folder(os.path.dirname(self._path))
                self._fd = os.open(self._path, _FLAGS, 0o600)
            return self._fd


def _slot_of(record: str, session: str) -> int:
    return zlib.crc32(f"{record}/{session}".encode("utf-8", "replace")) % _SLOTS


def _checked(packed: bytes) -> bytes:
    """Return the checksum of a mark; bytes that were never written do not have it."""
    return _CHECK.pack(zlib.crc32(packed, 1))
