"""The disk is full: nothing acknowledged is lost, the original comes back, and writing resumes with the space."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole import Session, config
from keepwhole.errors import StoreError
from tests.faults import isolated
from tests.faults.outputs import BLOB, INLINE, KINDS, SIZES, Keeper, unfinished_files
from tests.torture import mounts
from tests.torture.checks import opened


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[mounts.Tmpfs]:
    with mounts.tmpfs(str(tmp_path / "disk"), "size=16m,mode=700") as disk:
        yield disk


@pytest.fixture
def keeper(disk: mounts.Tmpfs) -> Iterator[Keeper]:
    with opened(disk.store) as store:
        yield Keeper(Session("full", store=store))


@pytest.mark.root
@pytest.mark.parametrize("left", [0, 4_096, 150_000, 1_200_000])
def test_nothing_is_lost_on_a_full_disk_and_writing_resumes(disk: mounts.Tmpfs, keeper: Keeper, left: int) -> None:
    assert keeper.keep("str", INLINE)
    assert keeper.keep("iterator", BLOB)
    for _ in range(2):
        disk.fill(left)
        keeper.keep_every_kind()
        assert keeper.refused, "the disk was not full"
        keeper.check()
        assert unfinished_files(disk.store) == []
        disk.empty()
        for kind in KINDS:
            assert keeper.keep(kind, BLOB), "writing did not resume"
    keeper.check()


@pytest.mark.root
def test_another_process_can_read_while_the_disk_is_full(disk: mounts.Tmpfs, keeper: Keeper) -> None:
    assert keeper.keep("str", INLINE)
    assert keeper.keep("iterator", BLOB)
    disk.fill()
    with opened(disk.store) as store:
        keeper.check(Session("full", store=store))


@pytest.mark.root
def test_a_disk_that_was_full_from_the_start_can_be_used_once_it_is_not(disk: mounts.Tmpfs, keeper: Keeper) -> None:
    disk.fill()
    keeper.keep_every_kind()
    assert not keeper.acked
    disk.empty()
    assert keeper.keep("iterator", BLOB)
    keeper.check()


@pytest.mark.root
def test_a_purge_on_a_full_disk_is_done_or_refused_with_an_error_of_ours(disk: mounts.Tmpfs, keeper: Keeper) -> None:
    assert keeper.keep("iterator", BLOB)
    disk.fill()
    try:
        keeper.session.store.purge("full", 0)
    except StoreError:
        keeper.check()
    else:
        assert keeper.session.store.sessions() == []


@pytest.mark.root
@pytest.mark.parametrize("inodes", [0, 1, 2])
def test_nothing_is_lost_when_inodes_run_out(tmp_path: Path, inodes: int) -> None:
    disk_with_few = mounts.tmpfs(str(tmp_path / "disk"), "size=64m,nr_inodes=400,mode=700")
    with disk_with_few as disk, opened(disk.store) as store:
        keeper = Keeper(Session("full", store=store))
        assert keeper.keep("str", INLINE)
        names = use_up_inodes(disk.path, inodes)
        keeper.keep_every_kind()
        assert keeper.refused, "inodes did not run out"
        keeper.check()
        assert unfinished_files(disk.store) == []
        for name in names:
            os.unlink(name)
        assert keeper.keep("pipe", BLOB), "writing did not resume"
        keeper.check()


def use_up_inodes(folder: str, leave: int) -> list[str]:
    """Make empty files until only `leave` more can be made; their names."""
    names: list[str] = []
    try:
        while True:
            name = os.path.join(folder, f"empty-{len(names)}")
            with open(name, "xb"):
                names.append(name)
    except OSError:
        for _ in range(leave):
            os.unlink(names.pop())
        return names


def test_nothing_is_lost_when_files_may_not_grow_and_writing_resumes(tmp_path: Path) -> None:
    isolated.run(isolated.files_may_not_grow, str(tmp_path / "store"))


def test_what_could_not_be_stored_leaves_no_descriptor_open(tmp_path: Path) -> None:
    isolated.run(isolated.descriptors_come_back, str(tmp_path / "store"))


def test_a_session_over_its_quota_gives_the_original_back(tmp_path: Path) -> None:
    with opened(str(tmp_path / "store")) as store:
        settings = config.load(home=str(tmp_path / "store")).replace(session_quota=300_000)
        session = Session("small", store=store, settings=settings)
        keeper = Keeper(session)
        assert keeper.keep("iterator", BLOB)
        keeper.keep_every_kind()
        assert keeper.refused >= len(KINDS) * (len(SIZES) - 1)
        keeper.check()
        assert unfinished_files(store.folder) == []
