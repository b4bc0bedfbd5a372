"""A sync fails: nothing is acknowledged, the original comes back, and the store trusts that disk no more.

After a failed sync the kernel may have dropped what it could not write and call it clean, so a second sync that
succeeds proves nothing. Only a store that tried the disk again, or was opened again, may write files.
"""

import errno
import os
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.errors import StoreError
from tests.faults.outputs import BLOB, INLINE, KINDS, Keeper, unfinished_files
from tests.torture.checks import opened

SYNCS_OF_A_FILE = 4
"""The name of `blobs`, the name of the shard, the file, its name."""


class FailingDisk:
    """`os.fsync` that fails at the n-th call, and remembers what was synced before and after."""

    def __init__(self, fail_at: int) -> None:
        self.calls = 0
        self.failed: tuple[int, int] | None = None
        self.again: list[tuple[int, int]] = []
        self._fail_at = fail_at
        self._fsync = os.fsync

    def fsync(self, fd: int) -> None:
        self.calls += 1
        status = os.fstat(fd)
        what = (status.st_dev, status.st_ino)
        if self.failed == what:
            self.again.append(what)
        if self.calls == self._fail_at:
            self.failed = what
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._fsync(fd)


def syncs_of_a_first_keep(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many syncs of ours the first result in a file takes."""
    disk = FailingDisk(0)
    with monkeypatch.context() as patch, opened(str(folder)) as store:
        patch.setattr(os, "fsync", disk.fsync)
        assert Keeper(Session("count", store=store)).keep("iterator", BLOB)
    return disk.calls


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_acknowledged_when_any_sync_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for number in range(1, syncs_of_a_first_keep(tmp_path / "counted", monkeypatch) + 1):
        folder = str(tmp_path / f"store-{number}")
        disk = FailingDisk(number)
        with monkeypatch.context() as patch, opened(folder) as store:
            patch.setattr(os, "fsync", disk.fsync)
            keeper = Keeper(Session("failing", store=store))
            assert not keeper.keep(kind, BLOB), f"acknowledged although sync {number} failed"
            assert unfinished_files(folder) == []
        with opened(folder) as store:
            assert [info.entries for info in store.sessions()] in ([], [0])


def test_a_store_whose_sync_failed_writes_no_more_files_until_the_disk_was_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, SYNCS_OF_A_FILE + 1):
        folder = str(tmp_path / f"store-{number}")
        disk = FailingDisk(number)
        with monkeypatch.context() as patch, opened(folder) as store:
            keeper = Keeper(Session("failing", store=store))
            assert keeper.keep("str", INLINE)
            patch.setattr(os, "fsync", disk.fsync)
            assert not keeper.keep("iterator", BLOB), "there are fewer syncs than there should be"
            for kind in KINDS:
                assert not keeper.keep(kind, BLOB), f"sync {number} failed, and another file was trusted"
            assert not disk.again, "what could not be synced was synced again"
            keeper.check()
        with opened(folder) as store:
            keeper = Keeper(Session("reopened", store=store))
            assert keeper.keep("iterator", BLOB)
            keeper.check()


def test_a_store_whose_name_could_not_be_synced_acknowledges_nothing_before_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FailingDisk(1)
    with opened(str(tmp_path / "store")) as store:
        keeper = Keeper(Session("failing", store=store))
        monkeypatch.setattr(os, "fsync", disk.fsync)
        assert not keeper.keep("iterator", BLOB)
        if keeper.keep("iterator", BLOB):
            assert disk.again, "the name of the store's folder was never synced"


def test_what_was_acknowledged_before_a_sync_failed_can_still_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(str(tmp_path / "store")) as store:
        keeper = Keeper(Session("failing", store=store))
        assert keeper.keep("iterator", BLOB)
        assert keeper.keep("str", INLINE)
        monkeypatch.setattr(os, "fsync", FailingDisk(1).fsync)
        assert not keeper.keep("pipe", BLOB)
        keeper.check()


def test_a_purge_whose_sync_fails_is_done_or_refused_with_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(str(tmp_path / "store")) as store:
        keeper = Keeper(Session("going", store=store))
        assert keeper.keep("iterator", BLOB)
    with opened(str(tmp_path / "store")) as store:
        monkeypatch.setattr(os, "fsync", FailingDisk(1).fsync)
        try:
            store.purge("going", 0)
        except StoreError:
            keeper.check(Session("going", store=store))
        else:
            assert store.sessions() == []
