"""`BackupFile`: a backup that is read, session by session, and checked at its end to be complete.

Must not know: where the entries are written.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, cast

from keepwhole.canonical.ids import is_session_id
from keepwhole.errors import Damaged, UsageError
from keepwhole.store.protocol import SessionInfo, Tombstone
from keepwhole.transfer.archive import checked_moment, checked_number, copy_entry, parse_beginning, parse_hash
from keepwhole.transfer.entry_writer import EntryWriter
from keepwhole.transfer.json_lines import RecordReader, lines_in
from keepwhole.transfer.sync_state import SyncState, record_head

_TRAILER = b'{"trailer"'
_CUT_OFF = "The backup was cut off or changed: it is not what was written. Use another one."
_NOT_OURS = "This is not a backup of a record; make one with `keepwhole store backup FILE`."


class BackedUpSession(NamedTuple):
    """The description of a session in a backup."""

    info: SessionInfo
    stone: Tombstone | None
    """The tombstone that it starts after, if any."""

    @property
    def start_seq(self) -> int:
        """The number that it starts after."""
        return self.stone.seq if self.stone else 0


class BackupFile:
    """A backup, read once from its beginning. Raises `ValueError` and the like for what no Keepwhole wrote."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._records = RecordReader(())
        self._digest = ""
        self._heads: dict[str, SyncState] = {}
        self._name = ""
        self._entry: dict[str, Any] = {}
        self._at = SyncState()

    @property
    def seq(self) -> int:
        """The number of the entry that was read last."""
        return self._at.seq

    def tombstones(self) -> Iterator[Tombstone]:
        """Yield the tombstones of sessions that no longer existed; to be read first."""
        self._records = RecordReader(self._lines())
        if not self._records.next_is("backup") or self._records.read("backup").get("keepwhole") != 1:
            raise UsageError(_NOT_OURS)
        while self._records.next_is("tombstone"):
            stone = _parse_tombstone(self._records.read("tombstone")["tombstone"])
            self._add(stone.name, SyncState(stone.seq, stone.chain, stone.seq, stone.chain))
            yield stone

    def sessions(self) -> Iterator[BackedUpSession]:
        """Yield the sessions; before the next, all entries are copied or skipped and `finish_session` is called."""
        while self._records.next_is("session"):
            kept = _parse_session(self._records.read("session"))
            start_seq, start_chain = (kept.stone.seq, kept.stone.chain) if kept.stone else (0, SyncState().start_chain)
            self._name, self._at = kept.info.name, SyncState(start_seq, start_chain, start_seq, start_chain)
            yield kept
        trailer = self._records.read("trailer")["trailer"]
        fits = trailer["digest"] == self._digest and trailer["head"] == record_head(self._heads.items())
        if not fits or not self._records.at_end():
            raise Damaged(_CUT_OFF)

    def next_entry(self) -> bytes | None:
        """Read the next entry of the session and return its hash; its body is then copied or skipped."""
        if not self._records.next_is("entry"):
            return None
        self._entry = self._records.read("entry")["entry"]
        chain = parse_hash(self._entry["chain"])
        self._at = self._at._replace(seq=self._at.seq + 1, chain=chain)
        return chain

    def copy_entry(self, writer: EntryWriter) -> None:
        """Write the entry with its body, unless the backup left the session out in the middle of it."""
        try:
            copy_entry(writer, self._entry, self._records)
        except ValueError:
            if not self._records.next_is("left_out"):
                raise

    def skip_body(self) -> None:
        """Skip the body of the entry."""
        self._records.skip_body()

    def finish_session(self) -> SyncState | None:
        """Read the end of the session and return its state; None if it was left out of the backup."""
        if self._records.next_is("left_out"):
            self._records.read("left_out")
            return None
        end = self._records.read("end")["end"]
        if end["entries"] != self._at.entries or parse_hash(end["head"]) != self._at.chain:
            raise ValueError("entries are missing at the end of a session")
        self._add(self._name, self._at)
        return self._at

    def _add(self, name: str, state: SyncState) -> None:
        if name in self._heads:
            raise ValueError("a session is in it twice")
        self._heads[name] = state

    def _lines(self) -> Iterator[bytes]:
        digest, begun = hashlib.sha256(), False
        with gzip.GzipFile(fileobj=self._file, mode="rb") as file:
            try:
                for line in lines_in(cast("BinaryIO", file)):
                    if line.startswith(_TRAILER):
                        self._digest = digest.hexdigest()
                    digest.update(line)
                    begun = True
                    yield line
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise Damaged(_CUT_OFF) if begun else UsageError(_NOT_OURS) from error


def _parse_tombstone(record: dict[str, Any]) -> Tombstone:
    name = record["name"]
    if not is_session_id(name):
        raise ValueError("a session has an invalid name")
    counts = {key: checked_number(record[key]) for key in ("seq", "entries", "stored")}
    return Tombstone(name=name, chain=parse_hash(record["chain"]), at=checked_moment(record["at"]), **counts)


def _parse_session(first: dict[str, Any]) -> BackedUpSession:
    info, seq, chain = parse_beginning(first)
    about = first["session"]
    ended_at, erased_at = (about[key] for key in ("ended_at", "erased_at"))
    stone = Tombstone(name=info.name, seq=seq, chain=chain, at=checked_moment(erased_at or 0), entries=0, stored=0)
    info = info.replace(
        ephemeral=about["ephemeral"] is True, ended_at=None if ended_at is None else checked_moment(ended_at)
    )
    return BackedUpSession(info, stone if seq else None)
