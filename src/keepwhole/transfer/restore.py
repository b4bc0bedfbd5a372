"""Restoring a backup into a record: every hash must be the same, and a session is restored whole or not at all.

Owns: that nothing stored is overwritten or erased, and nothing that was erased comes back unless asked for.
Must not know: where the file is, how progress is shown.

Theory of operation
-------------------
A file that can be read twice is read twice. The first pass (`_DryRun`) writes nothing: it reads to the trailer, which
proves that no byte is missing, and collects the sessions that are here already and are not the same. If there is a
reason to refuse, nothing has been changed. The second pass (`_RestoreRun`) reads the same way and writes what is
missing. A stream can be read only once, so its sessions are written as they come, each undone if it turns out damaged.

For each session the last entry here decides, while the entries of the backup go by:

    backup 1..9, here nothing          1..9 are written
    backup 1..9, here 1..5             1..5 are skipped; the hash of 5 must be the same; 6..9 are written
    backup 1..5, here 1..9             refused: it continues here
    backup 1..9, here another 5        refused: entry 5 differs
    backup 1..9, here erased up to 7   8..9 are written; all of it with `erased`

Invariants: an interrupted restore can be repeated, and continues after the last entry that was written; at the end the
head of every session here is compared with the one in the backup (`prove`).
"""

from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import BinaryIO, NamedTuple

from keepwhole.canonical.entry import GENESIS, Entry
from keepwhole.errors import Damaged, NotFound, UsageError
from keepwhole.store.protocol import Store, Tombstone
from keepwhole.transfer import archive
from keepwhole.transfer.backup_file import BackedUpSession, BackupFile
from keepwhole.transfer.copy import write_tombstone
from keepwhole.transfer.entry_writer import EntryWriter
from keepwhole.transfer.sync_state import SyncState, read_state, record_head, tombstones_by_name

OnEntry = Callable[[Entry], None]
_NAMED = 5
"""How many sessions an error names."""


class Restored(NamedTuple):
    """The result of restoring a backup."""

    sessions: int
    entries: int
    """Entries of these sessions here, including those that were here before."""
    head: str
    """One hash for all their heads."""
    kept_erased: tuple[str, ...]
    """Sessions that were erased here and were not restored."""


def restore(
    store: Store,
    file: BinaryIO,
    *,
    only: Collection[str] = (),
    erased: bool = False,
    on_entry: OnEntry = lambda entry: None,
) -> Restored:
    """Restore every session of a backup, or those named; with `erased`, also what was erased here.

    `UsageError` names the sessions that are here already and are not the same; nothing has been changed then, nor if
    the file is `Damaged`. A stream is known to be complete only when it ends: sessions before its damage are restored.
    """
    if file.seekable():
        begin = file.tell()
        _DryRun(store, only, erased).read(BackupFile(file))
        file.seek(begin)
    run = _RestoreRun(store, only, erased, on_entry)
    run.read(BackupFile(file))
    return run.prove()


class _DryRun:
    """A pass over a backup that writes nothing, to find the reasons to refuse it."""

    def __init__(self, store: Store, only: Collection[str], erased: bool) -> None:
        self._store, self._only, self._erased = store, only, erased
        self._stones = tombstones_by_name(store)
        self._there: dict[str, SyncState] = {}
        self._seen: set[str] = set()
        self._refused: list[tuple[str, str]] = []
        self._sessions = 0

    def read(self, file: BackupFile) -> None:
        """Read the whole file; raise an error that names the refused sessions at the end."""
        try:
            for stone in file.tombstones():
                if not self._only or stone.name in self._only:
                    self._handle_tombstone(stone, self._state_here(stone.name))
            for kept in file.sessions():
                self._session(file, kept)
        except archive.UNREADABLE as error:
            raise Damaged(f"The backup is not what was written ({error}). Use another one.") from error
        self._raise_refused()
        for name in self._only:
            if name not in self._seen:
                raise NotFound(
                    f"There is no session `{name}` in this backup. Leave out `--session` to restore all of them."
                )

    def _state_here(self, name: str) -> SyncState:
        """Return the state of a session here; with `erased`, one that was erased is at the beginning."""
        here = read_state(self._store, name, self._stones)
        return SyncState() if self._erased and not here.entries else here

    def _handle_tombstone(self, stone: Tombstone, here: SyncState) -> None:
        self._seen.add(stone.name)
        if not here.entries:
            self._there[stone.name] = SyncState(stone.seq, stone.chain, stone.seq, stone.chain)
        elif here.start_seq < stone.seq:
            self._refuse(stone.name, "it was erased where the backup was made")

    def _session(self, file: BackupFile, kept: BackedUpSession) -> None:
        name = kept.info.name
        if self._only and name not in self._only:
            _skip_session(file)
            return
        self._seen.add(name)
        there = self._read_session(file, kept, self._state_here(name))
        if there is not None:
            self._there[name] = there
            self._sessions += 1

    def _read_session(self, file: BackupFile, kept: BackedUpSession, here: SyncState) -> SyncState | None:
        """Read all entries of a session and return its state in the backup; None if the backup left it out."""
        name = kept.info.name
        if here.entries and here.start_seq < kept.start_seq:
            self._refuse(name, "it has entries that were erased where the backup was made")
            return _skip_session(file)
        while chain := file.next_entry():
            self._entry(file, kept, here)
            if file.seq == here.seq and chain != here.chain:
                self._refuse(name, f"entry {here.seq} differs")
                return _skip_session(file)
        there = file.finish_session()
        if there is not None and here.entries and here.seq > there.seq:
            self._refuse(name, f"it continues here up to entry {here.seq:,}")
        return there

    def _entry(self, file: BackupFile, kept: BackedUpSession, here: SyncState) -> None:
        file.skip_body()

    def _refuse(self, name: str, why: str) -> None:
        self._refused.append((name, why))

    def _raise_refused(self) -> None:
        if self._refused:
            named = "; ".join(f"`{name}`: {why}" for name, why in self._refused[:_NAMED])
            more = len(self._refused) - _NAMED
            raise UsageError(
                f"Sessions of the backup are here already and are not the same ({named}"
                f"{f'; and {more:,} more' if more > 0 else ''}). Nothing of them was changed. Restore into an empty "
                "record with `--into`, or name those to bring with `--session`."
            )


class _RestoreRun(_DryRun):
    """The pass over a backup that writes what is missing here."""

    def __init__(self, store: Store, only: Collection[str], erased: bool, on_entry: OnEntry) -> None:
        super().__init__(store, only, erased)
        self._on_entry = on_entry
        self._writer: EntryWriter | None = None
        self._stack = ExitStack()
        self._kept_erased: list[str] = []

    def prove(self) -> Restored:
        """Return the result; `Damaged` if a head here is not that of the backup."""
        stones, entries = tombstones_by_name(self._store), 0
        for name, there in self._there.items():
            here = read_state(self._store, name, stones)
            entries += here.entries
            if (here.seq, here.chain) != (there.seq, there.chain) and here.start_seq <= there.seq:
                raise Damaged(f"Session `{name}` does not have the head that it has in the backup. Restore it again.")
        return Restored(self._sessions, entries, record_head(self._there.items()), tuple(self._kept_erased))

    def _handle_tombstone(self, stone: Tombstone, here: SyncState) -> None:
        super()._handle_tombstone(stone, here)
        if here.seq < stone.seq:
            write_tombstone(self._store, None, stone)

    def _read_session(self, file: BackupFile, kept: BackedUpSession, here: SyncState) -> SyncState | None:
        self._writer, there = None, None
        try:
            with ExitStack() as self._stack:
                there = super()._read_session(file, kept, here)
                if there is not None:
                    self._finish(kept, here)
        except (Damaged, UsageError, *archive.UNREADABLE):
            self._undo(kept, here)
            raise
        if there is None:
            self._undo(kept, here)
        return there

    def _undo(self, kept: BackedUpSession, here: SyncState) -> None:
        """Remove what was written of a session that was not here before."""
        if self._writer is not None and not here.entries:
            archive.undo_import(self._store, kept.info, self._stones.get(kept.info.name))

    def _entry(self, file: BackupFile, kept: BackedUpSession, here: SyncState) -> None:
        if file.seq <= here.seq:
            file.skip_body()
            return
        if self._writer is None:
            self._writer = self._stack.enter_context(self._begin(kept, here))
        file.copy_entry(self._writer)

    def _begin(self, kept: BackedUpSession, here: SyncState) -> EntryWriter:
        """Open the session where it starts in the backup, or continues here."""
        name, chain = kept.info.name, here.chain
        if here.seq < kept.start_seq and kept.stone is not None:
            write_tombstone(self._store, kept.info, kept.stone)
            chain = kept.stone.chain
        self._store.open_session(kept.info.replace(ended_at=None))
        if self._erased and not here.seq and not kept.start_seq and name in self._stones:
            self._store.restart(name, 0, GENESIS)
        return EntryWriter(self._store, name, chain, self._on_entry)

    def _finish(self, kept: BackedUpSession, here: SyncState) -> None:
        """Append what is pending, and record when the session ended."""
        if here.start_seq > kept.start_seq:
            self._kept_erased.append(kept.info.name)
            if self._writer is None:
                return
        writer = self._writer or self._begin(kept, here)
        writer.finish()
        if kept.info.ended_at is not None:
            self._store.end(kept.info.name, kept.info.ended_at)

    def _refuse(self, name: str, why: str) -> None:
        super()._refuse(name, why)
        self._raise_refused()


def _skip_session(file: BackupFile) -> SyncState | None:
    """Skip the rest of a session and return its state in the backup."""
    while file.next_entry():
        file.skip_body()
    return file.finish_session()
