"""A backup brought back into a record: every hash must come out the same, and a session comes whole or not at all.

Owns: that a file is read from end to end before anything of it is written, where it can be read twice; and that nothing
on record is overwritten or erased, and nothing that was erased comes back unasked.
Must not know: where the file lies, who watches.
"""

from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import BinaryIO, NamedTuple

from keepwhole.canonical.entry import GENESIS, Entry
from keepwhole.errors import Damaged, NotFound, UsageError
from keepwhole.store.protocol import Store, Tombstone
from keepwhole.transfer import archive
from keepwhole.transfer.backup_file import BackupFile, Kept
from keepwhole.transfer.copy import bury
from keepwhole.transfer.entry_writer import Incoming
from keepwhole.transfer.sync_state import Standing, record_head, standing_of, stones_of

OnEntry = Callable[[Entry], None]
_NAMED = 5
"""Sessions that an error names."""


class Restored(NamedTuple):
    """What came of a backup."""

    sessions: int
    entries: int
    """All that the sessions have here, those that were here before too."""
    head: str
    """One hash for all their heads."""
    kept_erased: tuple[str, ...]
    """Sessions that were erased here and were not brought back."""


def restore(
    store: Store,
    file: BinaryIO,
    *,
    only: Collection[str] = (),
    erased: bool = False,
    on_entry: OnEntry = lambda entry: None,
) -> Restored:
    """Bring back every session of a backup, or those named; with `erased`, also what was erased here.

    `UsageError` names the sessions that are here already and are not the same. Nothing has been changed then, nor
    where the file is `Damaged`. A stream that cannot be read twice is known to be whole only when it ends: the
    sessions that came before are there then.
    """
    if file.seekable():
        begin = file.tell()
        _Looking(store, only, erased).read(BackupFile(file))
        file.seek(begin)
    writing = _Writing(store, only, erased, on_entry)
    writing.read(BackupFile(file))
    return writing.proven()


class _Looking:
    """One pass over a backup in which nothing is written, to refuse it before anything is."""

    def __init__(self, store: Store, only: Collection[str], erased: bool) -> None:
        self._store, self._only, self._erased = store, only, erased
        self._stones = stones_of(store)
        self._there: dict[str, Standing] = {}
        self._seen: set[str] = set()
        self._refused: list[tuple[str, str]] = []
        self._sessions = 0

    def read(self, file: BackupFile) -> None:
        """Everything in the file; what is refused is named at the end."""
        try:
            for stone in file.tombstones():
                if not self._only or stone.name in self._only:
                    self._bury(stone, self._here(stone.name))
            for kept in file.sessions():
                self._session(file, kept)
        except archive.UNREADABLE as error:
            raise Damaged(f"The backup is not what was written ({error}). Use another one.") from error
        self._refuse_those()
        for name in self._only:
            if name not in self._seen:
                raise NotFound(f"There is no session `{name}` in this backup.")

    def _here(self, name: str) -> Standing:
        """Where a session stands here; with `erased`, one that was erased stands at the beginning."""
        here = standing_of(self._store, name, self._stones)
        return Standing() if self._erased and not here.entries else here

    def _bury(self, stone: Tombstone, here: Standing) -> None:
        self._seen.add(stone.name)
        if not here.entries:
            self._there[stone.name] = Standing(stone.seq, stone.chain, stone.seq, stone.chain)
        elif here.began < stone.seq:
            self._refuse(stone.name, "it was erased where the backup was made")

    def _session(self, file: BackupFile, kept: Kept) -> None:
        name = kept.info.name
        if self._only and name not in self._only:
            _pass_by(file)
            return
        self._seen.add(name)
        there = self._walk(file, kept, self._here(name))
        if there is not None:
            self._there[name] = there
            self._sessions += 1

    def _walk(self, file: BackupFile, kept: Kept, here: Standing) -> Standing | None:
        """All entries of a session, of which those that are missing here are taken; None if it was left out there."""
        name = kept.info.name
        if here.entries and here.began < kept.began:
            self._refuse(name, "it has entries that were erased where the backup was made")
            return _pass_by(file)
        while chain := file.next_entry():
            self._entry(file, kept, here)
            if file.seq == here.seq and chain != here.chain:
                self._refuse(name, f"entry {here.seq} is another")
                return _pass_by(file)
        there = file.end()
        if there is not None and here.entries and here.seq > there.seq:
            self._refuse(name, f"it has gone on here to entry {here.seq:,}")
        return there

    def _entry(self, file: BackupFile, kept: Kept, here: Standing) -> None:
        file.pass_over()

    def _refuse(self, name: str, why: str) -> None:
        self._refused.append((name, why))

    def _refuse_those(self) -> None:
        if self._refused:
            named = "; ".join(f"`{name}`: {why}" for name, why in self._refused[:_NAMED])
            more = len(self._refused) - _NAMED
            raise UsageError(
                f"Sessions of the backup are here already and are not the same ({named}"
                f"{f'; and {more:,} more' if more > 0 else ''}). Nothing of them was changed. Restore into an empty "
                "record with `--into`, or name those to bring with `--session`."
            )


class _Writing(_Looking):
    """The pass over a backup in which what is missing here is written."""

    def __init__(self, store: Store, only: Collection[str], erased: bool, on_entry: OnEntry) -> None:
        super().__init__(store, only, erased)
        self._on_entry = on_entry
        self._incoming: Incoming | None = None
        self._stack = ExitStack()
        self._kept_erased: list[str] = []

    def proven(self) -> Restored:
        """What came of it; `Damaged` if a head here is not that of the backup."""
        stones, entries = stones_of(self._store), 0
        for name, there in self._there.items():
            here = standing_of(self._store, name, stones)
            entries += here.entries
            if (here.seq, here.chain) != (there.seq, there.chain) and here.began <= there.seq:
                raise Damaged(f"Session `{name}` does not have the head that it has in the backup. Restore it again.")
        return Restored(self._sessions, entries, record_head(self._there.items()), tuple(self._kept_erased))

    def _bury(self, stone: Tombstone, here: Standing) -> None:
        super()._bury(stone, here)
        if here.seq < stone.seq:
            bury(self._store, None, stone)

    def _walk(self, file: BackupFile, kept: Kept, here: Standing) -> Standing | None:
        self._incoming, there = None, None
        try:
            with ExitStack() as self._stack:
                there = super()._walk(file, kept, here)
                if there is not None:
                    self._finish(kept, here)
        except (Damaged, UsageError, *archive.UNREADABLE):
            self._undo(kept, here)
            raise
        if there is None:
            self._undo(kept, here)
        return there

    def _undo(self, kept: Kept, here: Standing) -> None:
        """Take away what was brought of a session that was not here before; who was stopped goes on with it."""
        if self._incoming is not None and not here.entries:
            archive.undo(self._store, kept.info, self._stones.get(kept.info.name))

    def _entry(self, file: BackupFile, kept: Kept, here: Standing) -> None:
        if file.seq <= here.seq:
            file.pass_over()
            return
        if self._incoming is None:
            self._incoming = self._stack.enter_context(self._begin(kept, here))
        file.take(self._incoming)

    def _begin(self, kept: Kept, here: Standing) -> Incoming:
        """Open the session where it begins in the backup, or goes on here."""
        name, chain = kept.info.name, here.chain
        if here.seq < kept.began and kept.stone is not None:
            bury(self._store, kept.info, kept.stone)
            chain = kept.stone.chain
        self._store.open_session(kept.info.replace(ended_at=None))
        if self._erased and not here.seq and not kept.began and name in self._stones:
            self._store.restart(name, 0, GENESIS)
        return Incoming(self._store, name, chain, self._on_entry)

    def _finish(self, kept: Kept, here: Standing) -> None:
        """Make sure that everything is durable, and say how the session ended."""
        if here.began > kept.began:
            self._kept_erased.append(kept.info.name)
            if self._incoming is None:
                return
        incoming = self._incoming or self._begin(kept, here)
        incoming.finish()
        if kept.info.ended_at is not None:
            self._store.end(kept.info.name, kept.info.ended_at)

    def _refuse(self, name: str, why: str) -> None:
        super()._refuse(name, why)
        self._refuse_those()


def _pass_by(file: BackupFile) -> Standing | None:
    """Leave a session out."""
    while file.next_entry():
        file.pass_over()
    return file.end()
