"""Reading a backup: its sessions one after the other, and proof at its end that none of its bytes is missing.

Must not know: what becomes of what is read.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, cast

from keepwhole.canonical.ids import is_session_id
from keepwhole.errors import Damaged, UsageError
from keepwhole.store.protocol import SessionInfo, Tombstone
from keepwhole.transfer.archive import beginning, hash_of, number, take_entry
from keepwhole.transfer.entry_writer import Incoming
from keepwhole.transfer.json_lines import Records, lines_in
from keepwhole.transfer.sync_state import Standing, record_head

_TRAILER = b'{"trailer"'
_CUT_OFF = "The backup was cut off or changed: it is not what was written. Use another one."
_NOT_OURS = "This is no backup of a record; make one with `keepwhole store backup FILE`."


class Kept(NamedTuple):
    """A session as a backup has it."""

    info: SessionInfo
    stone: Tombstone | None
    """What it begins after, if anything."""

    @property
    def began(self) -> int:
        """The number it begins after."""
        return self.stone.seq if self.stone else 0


class BackupFile:
    """A backup, read once from its beginning. `ValueError` and the like for what no Keepwhole wrote."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._records = Records(())
        self._digest = ""
        self._heads: dict[str, Standing] = {}
        self._name = ""
        self._entry: dict[str, Any] = {}
        self._at = Standing()

    @property
    def seq(self) -> int:
        """The number of the entry that was read last."""
        return self._at.seq

    def tombstones(self) -> Iterator[Tombstone]:
        """What stayed of sessions that were no more; to be read first."""
        self._records = Records(self._lines())
        if not self._records.next_is("backup") or self._records.take("backup").get("keepwhole") != 1:
            raise UsageError(_NOT_OURS)
        while self._records.next_is("tombstone"):
            stone = _stone(self._records.take("tombstone")["tombstone"])
            self._add(stone.name, Standing(stone.seq, stone.chain, stone.seq, stone.chain))
            yield stone

    def sessions(self) -> Iterator[Kept]:
        """The sessions; all entries of one are read, or passed over, and its `end`, before the next."""
        while self._records.next_is("session"):
            kept = _kept(self._records.take("session"))
            began, origin = (kept.stone.seq, kept.stone.chain) if kept.stone else (0, Standing().origin)
            self._name, self._at = kept.info.name, Standing(began, origin, began, origin)
            yield kept
        trailer = self._records.take("trailer")["trailer"]
        fits = trailer["digest"] == self._digest and trailer["head"] == record_head(self._heads.items())
        if not fits or not self._records.at_end():
            raise Damaged(_CUT_OFF)

    def next_entry(self) -> bytes | None:
        """The hash of the next entry of the session, whose body is then to be taken or passed over."""
        if not self._records.next_is("entry"):
            return None
        self._entry = self._records.take("entry")["entry"]
        chain = hash_of(self._entry["chain"])
        self._at = self._at._replace(seq=self._at.seq + 1, chain=chain)
        return chain

    def take(self, incoming: Incoming) -> None:
        """Take the entry with its body, unless it turns out that the session was left out in the middle of it."""
        try:
            take_entry(incoming, self._entry, self._records)
        except ValueError:
            if not self._records.next_is("left_out"):
                raise

    def pass_over(self) -> None:
        """Leave the body of the entry out."""
        self._records.pass_over()

    def end(self) -> Standing | None:
        """Where the session stood when all its entries were read; None if it was left out of the backup."""
        if self._records.next_is("left_out"):
            self._records.take("left_out")
            return None
        end = self._records.take("end")["end"]
        if end["entries"] != self._at.entries or hash_of(end["head"]) != self._at.chain:
            raise ValueError("entries are missing at the end of a session")
        self._add(self._name, self._at)
        return self._at

    def _add(self, name: str, standing: Standing) -> None:
        if name in self._heads:
            raise ValueError("a session is in it twice")
        self._heads[name] = standing

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


def _stone(record: dict[str, Any]) -> Tombstone:
    name = record["name"]
    if not is_session_id(name):
        raise ValueError("a session cannot have that name")
    counts = {key: number(record[key]) for key in ("seq", "at", "entries", "stored")}
    return Tombstone(name=name, chain=hash_of(record["chain"]), **counts)


def _kept(first: dict[str, Any]) -> Kept:
    info, seq, chain = beginning(first)
    about = first["session"]
    ended_at, erased_at = (about[key] for key in ("ended_at", "erased_at"))
    stone = Tombstone(name=info.name, seq=seq, chain=chain, at=number(erased_at or 0), entries=0, stored=0)
    info = info.replace(ephemeral=about["ephemeral"] is True, ended_at=None if ended_at is None else number(ended_at))
    return Kept(info, stone if seq else None)
