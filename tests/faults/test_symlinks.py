"""Somebody puts symbolic links into the store's folder: they are never followed, for reading or for writing."""

import ctypes
import os
import random
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.errors import Damaged
from tests.faults.outputs import BLOB, INLINE, KINDS, Keeper
from tests.faults.watching import Decoy
from tests.torture.bodies import text
from tests.torture.checks import opened

AT_FDCWD, EXCHANGE = -100, 2
SHARDS = list("0123456789abcdef")


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    with opened(str(tmp_path / "store")) as store:
        keeper = Keeper(Session("real", store=store))
        assert keeper.keep("str", INLINE)
        assert keeper.keep("iterator", BLOB)
        yield keeper


def replace_by_link(path: Path, decoy: Path) -> None:
    """Move `path` to `decoy`, byte for byte the same, and leave a link in its place."""
    decoy.parent.mkdir(exist_ok=True)
    shutil.move(path, decoy)
    path.symlink_to(decoy)


def blob_of(tmp_path: Path) -> Path:
    return next(path for path in (tmp_path / "store" / "blobs").rglob("*") if path.is_file())


def refuses_the_large_one(keeper: Keeper) -> None:
    """The result in the file is refused, the other is not, and `verify` says so."""
    small, large = keeper.acked
    with pytest.raises(Damaged):
        keeper.session.recall_bytes(large)
    assert keeper.session.recall_bytes(small)
    assert not keeper.session.verify().whole


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path, keeper: Keeper) -> None:
    replace_by_link(blob_of(tmp_path), tmp_path / "decoy" / "file")
    with Decoy(str(tmp_path / "decoy")) as decoy:
        refuses_the_large_one(keeper)
        assert decoy.touched() == []


def test_a_link_in_place_of_a_shard_is_not_followed(tmp_path: Path, keeper: Keeper) -> None:
    replace_by_link(blob_of(tmp_path).parent, tmp_path / "decoy" / "shard")
    with Decoy(str(tmp_path / "decoy")) as decoy:
        refuses_the_large_one(keeper)
        assert decoy.touched() == []


def test_links_in_place_of_all_shards_are_not_written_through(tmp_path: Path, keeper: Keeper) -> None:
    blobs, outside = tmp_path / "store" / "blobs", tmp_path / "decoy"
    outside.mkdir()
    for name in SHARDS:
        shutil.rmtree(blobs / name, ignore_errors=True)
        (blobs / name).symlink_to(outside)
    with Decoy(str(outside)) as decoy:
        for kind in KINDS:
            assert not keeper.keep(kind, BLOB)
        assert keeper.keep("iterator", INLINE)
        assert decoy.touched() == []


def test_a_link_in_place_of_the_folder_of_files_is_not_followed(tmp_path: Path, keeper: Keeper) -> None:
    replace_by_link(tmp_path / "store" / "blobs", tmp_path / "decoy")
    with Decoy(str(tmp_path / "decoy")) as decoy, opened(str(tmp_path / "store")) as store:
        late = Keeper(Session("real", store=store))
        late.acked = keeper.acked
        refuses_the_large_one(late)
        for kind in KINDS:
            assert not late.keep(kind, BLOB)
        assert decoy.touched() == []


@pytest.mark.parametrize("link", ["blobs", "shard"])
def test_the_collector_follows_no_link(tmp_path: Path, keeper: Keeper, link: str) -> None:
    """An old file elsewhere that looks like an orphan of ours is nobody's orphan."""
    outside = tmp_path / "decoy" / "a"
    outside.mkdir(parents=True)
    stranger = outside / ("ab" * 16)
    stranger.write_text("somebody else's")
    blobs = tmp_path / "store" / "blobs"
    if link == "blobs":
        shutil.rmtree(blobs)
        blobs.symlink_to(tmp_path / "decoy")
    else:
        shutil.rmtree(blobs / "a", ignore_errors=True)
        (blobs / "a").symlink_to(outside)
    with Decoy(str(tmp_path / "decoy")) as decoy, opened(str(tmp_path / "store")) as store:
        try:
            store.blobs.own.remove([*store.blobs.own.orphans(set(), time.time() + 7_200), stranger.name])
        except OSError:
            pass
        assert decoy.touched() == []
    assert stranger.exists()


@pytest.mark.parametrize("name", ["record.lock", "session-2.lock"])
def test_a_link_in_place_of_a_lock_is_not_followed_and_the_original_comes_back(
    tmp_path: Path, keeper: Keeper, name: str
) -> None:
    outside = tmp_path / "decoy"
    outside.mkdir()
    (outside / "lock").write_text("not yours")
    (tmp_path / "store" / name).unlink(missing_ok=True)
    (tmp_path / "store" / name).symlink_to(outside / "lock")
    with Decoy(str(outside)) as decoy, opened(str(tmp_path / "store")) as store:
        late = Keeper(Session("late", store=store, ephemeral=True))
        for kind in KINDS:
            for size in (INLINE, BLOB):
                assert not late.keep(kind, size)
        keeper.check(Session("real", store=store))
        assert decoy.touched() == []
    assert (outside / "lock").read_text() == "not yours"


@contextmanager
def swapping(blobs: Path, links: Path) -> Iterator[None]:
    """Exchange shards and links to a decoy, at random and without a pause; at the end all shards are back."""
    libc = ctypes.CDLL(None, use_errno=True)
    swapped: set[str] = set()
    stop = threading.Event()

    def exchange(name: str) -> None:
        one, other = os.fsencode(blobs / name), os.fsencode(links / name)
        assert libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, EXCHANGE) == 0
        swapped.symmetric_difference_update((name,))

    def work() -> None:
        while not stop.is_set():
            exchange(random.choice(SHARDS))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for name in sorted(swapped):
            exchange(name)


def test_links_swapped_in_at_any_moment_are_never_followed(tmp_path: Path, keeper: Keeper) -> None:
    blobs, links = tmp_path / "store" / "blobs", tmp_path / "links"
    links.mkdir()
    for name in SHARDS:
        (blobs / name).mkdir(exist_ok=True)
        (links / name).symlink_to(tmp_path / "decoy")
    with Decoy(str(tmp_path / "decoy")) as decoy:
        with swapping(blobs, links):
            recalled = keep_and_recall(keeper, time.monotonic() + 2)
        assert decoy.touched() == []
    print(f"\n{len(keeper.acked)} kept, {keeper.refused} refused, {recalled} recalled under swaps")
    assert keeper.refused
    assert recalled
    keeper.check()


def keep_and_recall(keeper: Keeper, until: float) -> int:
    """Keep and recall until the time has come; how often a recall gave bytes rather than an error."""
    recalled = 0
    while time.monotonic() < until:
        keeper.keep("iterator", 40_000)
        for trace_id in list(keeper.acked)[-20:]:
            try:
                keeper.session.recall_bytes(trace_id)
                recalled += 1
            except Damaged:
                pass
    return recalled


def test_a_store_reached_through_a_link_is_a_store(tmp_path: Path) -> None:
    """The folder itself may be a link: that is the owner's choice, not an attack."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "store").symlink_to(tmp_path / "elsewhere")
    with opened(str(tmp_path / "store")) as store:
        shown = Session("real", store=store).keep("tool", None, text(1, BLOB))
        assert shown.problem is None
