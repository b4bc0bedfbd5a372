"""The record cannot be written at all: a read-only disk, something in the way. The original still comes back."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keepwhole import KeepwholeError, Session, SqliteStore
from tests.faults.outputs import BLOB, INLINE, Keeper
from tests.torture import mounts
from tests.torture.checks import opened


def refuses_everything(folder: str) -> None:
    """Whatever is kept comes back whole with the reason, and nothing else is raised."""
    session = Session("refused", store=SqliteStore(folder))
    keeper = Keeper(session)
    keeper.keep_every_kind()
    assert not keeper.acked
    session.store.close()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[tuple[mounts.Tmpfs, Keeper]]:
    """A store with data on a disk that has become read-only."""
    with mounts.tmpfs(str(tmp_path / "disk"), "size=64m,mode=700") as disk:
        with opened(disk.store) as store:
            keeper = Keeper(Session("before", store=store))
            assert keeper.keep("str", INLINE)
            assert keeper.keep("iterator", BLOB)
        disk.remount("ro")
        yield disk, keeper


@pytest.mark.root
def test_a_read_only_disk_gives_the_original_back(read_only: tuple[mounts.Tmpfs, Keeper]) -> None:
    refuses_everything(read_only[0].store)


@pytest.mark.root
def test_a_read_only_disk_with_no_store_yet_gives_the_original_back(tmp_path: Path) -> None:
    with mounts.tmpfs(str(tmp_path / "disk"), "size=64m,mode=700") as disk:
        os.mkdir(disk.store, 0o755)
        disk.remount("ro")
        refuses_everything(disk.store)
        refuses_everything(os.path.join(disk.path, "new"))


@pytest.mark.root
def test_what_is_on_a_read_only_disk_is_read_or_refused_with_an_error_of_ours(
    read_only: tuple[mounts.Tmpfs, Keeper],
) -> None:
    disk, keeper = read_only
    with opened(disk.store) as store, contextlib.suppress(KeepwholeError):
        keeper.check(Session("before", store=store))


@pytest.mark.root
def test_a_disk_that_is_writable_again_takes_everything(read_only: tuple[mounts.Tmpfs, Keeper]) -> None:
    disk, before = read_only
    with opened(disk.store) as store:
        keeper = Keeper(Session("again", store=store))
        assert not keeper.keep("iterator", BLOB)
        disk.remount("rw")
        assert keeper.keep("iterator", BLOB)
        keeper.check()
        before.check(Session("before", store=store))


def a_file_for_the_folder(folder: Path) -> None:
    folder.write_text("in the way")


def a_file_above_the_folder(folder: Path) -> None:
    folder.parent.rmdir()
    folder.parent.write_text("in the way")


def a_folder_for_the_record(folder: Path) -> None:
    (folder / "record.db").mkdir(parents=True)


def a_folder_for_the_lock(folder: Path) -> None:
    (folder / "record.lock").mkdir(parents=True)


def something_else_for_the_record(folder: Path) -> None:
    folder.mkdir()
    (folder / "record.db").write_bytes(b"these are not the bytes of a database\n" * 100)


IN_THE_WAY = (
    a_file_for_the_folder,
    a_file_above_the_folder,
    a_folder_for_the_record,
    a_folder_for_the_lock,
    something_else_for_the_record,
)


@pytest.mark.parametrize("put", IN_THE_WAY, ids=lambda put: put.__name__)
def test_something_in_the_way_of_the_store_gives_the_original_back(tmp_path: Path, put: Callable[[Path], None]) -> None:
    folder = tmp_path / "above" / "store"
    folder.parent.mkdir()
    put(folder)
    refuses_everything(str(folder))


def test_a_file_in_the_way_of_the_bodies_refuses_only_large_ones(tmp_path: Path) -> None:
    with opened(str(tmp_path / "store")) as store:
        keeper = Keeper(Session("mixed", store=store))
        assert keeper.keep("str", INLINE)
        (tmp_path / "store" / "blobs").write_text("in the way")
        assert not keeper.keep("str", BLOB)
        assert not keeper.keep("iterator", BLOB)
        assert not keeper.keep("pipe", BLOB)
        assert keeper.keep("iterator", INLINE)
        keeper.check()
