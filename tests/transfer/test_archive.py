"""Imports that fail because of the disk, not because of the archive."""

import errno
from pathlib import Path

import pytest

from keepwhole import MemoryStore, SqliteStore
from keepwhole.errors import Damaged, NotStored
from keepwhole.store.blobs import folder
from keepwhole.transfer.archive import export_session, import_session
from tests.contracts.store_contract import filled


def test_a_full_disk_during_an_import_is_not_blamed_on_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    store = MemoryStore()
    filled(store)
    other = SqliteStore(str(tmp_path))
    monkeypatch.setattr(folder, "sync", sync)
    with pytest.raises(NotStored) as failure:
        import_session(other, export_session(store, store.sessions()[0]))
    assert not isinstance(failure.value, Damaged)
    assert other.sessions() == []
    other.close()


def test_an_archive_is_read_and_written_a_piece_at_a_time() -> None:
    store = MemoryStore()
    filled(store)
    exporting = export_session(store, store.sessions()[0])
    longest = max(len(line) for line in exporting)
    assert longest < 300_000
