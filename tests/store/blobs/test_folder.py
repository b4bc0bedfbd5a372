"""Large bodies in files: durable, private, ours, and nothing left behind when one fails."""

import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole.canonical.body import CHUNK, measure
from keepwhole.errors import Damaged, NotStored, QuotaExceeded
from keepwhole.store.blobs import folder as blobs_module
from keepwhole.store.blobs.folder import BlobFolder
from keepwhole.store.feed import Feed
from tests.build import ROOM

NAME = "ab" + "0" * 30
OTHER = "cd" + "0" * 30
HOUR = 3_600


def written(folder: BlobFolder, data: bytes, name: str = NAME, room: int = ROOM) -> None:
    folder.write_as(name, Feed(iter((data,))), b"", room).close()


def read(folder: BlobFolder, name: str = NAME) -> bytes:
    with open(folder.descriptor(name), "rb") as file:
        return file.read()


def files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if not file.is_dir())


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5])
def test_a_body_is_written_and_measured_in_one_go(tmp_path: Path, size: int) -> None:
    folder, data = BlobFolder(str(tmp_path / "blobs")), os.urandom(size)
    with folder.write_as(NAME, Feed(data), b"", ROOM) as reader:
        assert reader.facts == measure(data)
        assert reader.read() == data
    assert read(folder) == data
    assert files(tmp_path) == [f"blobs/a/{NAME}"]


def test_what_was_read_already_comes_first(tmp_path: Path) -> None:
    folder = BlobFolder(str(tmp_path))
    with folder.write_as(NAME, Feed([b"second"]), b"first ", ROOM) as reader:
        assert reader.facts == measure(b"first second")
        assert reader.read() == b"first second"
    assert read(folder) == b"first second"


def test_folders_and_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        written(BlobFolder(str(tmp_path / "blobs")), b"x")
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "blobs").rglob("*")}
    assert modes == {"a": 0o700, NAME: 0o600}
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) == 0o700


def test_a_name_is_never_written_twice(tmp_path: Path) -> None:
    folder = BlobFolder(str(tmp_path))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / f".{NAME}").write_bytes(b"somebody else's")
    with pytest.raises(NotStored, match="exists"):
        written(folder, b"x")
    assert (tmp_path / "a" / f".{NAME}").read_bytes() == b"somebody else's"


def test_a_body_over_the_room_leaves_nothing_behind_and_comes_back_whole(tmp_path: Path) -> None:
    data = os.urandom(3 * CHUNK)
    pieces = (data[at : at + 50_000] for at in range(0, len(data), 50_000))
    with pytest.raises(QuotaExceeded, match="session_quota") as refused:
        BlobFolder(str(tmp_path)).write_as(NAME, Feed(pieces), b"", len(data) - 1)
    assert files(tmp_path) == []
    assert refused.value.rescue is not None
    assert b"".join(refused.value.rescue.chunks()) == data


@pytest.mark.parametrize("error", [ConnectionResetError, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("good", [100, CHUNK, 3 * CHUNK + 7])
def test_an_error_of_the_source_is_no_trouble_of_the_store(
    tmp_path: Path, error: type[BaseException], good: int
) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x" * good
        raise error

    with pytest.raises(error):
        BlobFolder(str(tmp_path)).write_as(NAME, Feed(broken()), b"first", ROOM)
    assert files(tmp_path) == []


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_failed_sync_leaves_nothing_behind_and_gives_the_original_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """The syncs of a first write: the new shard's name, the file, the file's name."""
    data, count, real = os.urandom(2 * CHUNK + 3), 0, blobs_module.sync

    def sync(fd: int) -> None:
        nonlocal count
        count += 1
        if count == failing:
            raise OSError(errno.EIO, "the disk is gone")
        real(fd)

    folder = BlobFolder(str(tmp_path))
    monkeypatch.setattr(blobs_module, "sync", sync)
    feed = Feed(iter((data,)))
    with pytest.raises((NotStored, OSError)) as failure:
        folder.write_as(NAME, feed, b"", ROOM)
    assert files(tmp_path) == []
    rescue = getattr(failure.value, "rescue", None)
    assert (b"".join(rescue.chunks()) if rescue else b"".join(feed.remaining())) == data


def test_a_symlink_in_place_of_a_body_is_not_followed(tmp_path: Path) -> None:
    folder = BlobFolder(str(tmp_path / "blobs"))
    written(folder, b"mine")
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "blobs" / "a" / NAME).unlink()
    (tmp_path / "blobs" / "a" / NAME).symlink_to(tmp_path / "secret")
    with pytest.raises(Damaged):
        folder.descriptor(NAME)


def test_a_symlink_in_place_of_a_shard_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / NAME).write_bytes(b"secret")
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "a").symlink_to(tmp_path / "elsewhere")
    folder = BlobFolder(str(tmp_path / "blobs"))
    with pytest.raises(Damaged):
        folder.descriptor(NAME)
    with pytest.raises((OSError, NotStored)):
        written(folder, b"x", "ab" + "1" * 30)
    assert files(tmp_path / "elsewhere") == [NAME]


def test_a_symlink_in_place_of_a_shard_is_not_cleaned_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    mine = tmp_path / "elsewhere" / "ab-thesis.txt"
    mine.write_bytes(b"years of work")
    os.utime(mine, (1, 1))
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "a").symlink_to(tmp_path / "elsewhere")
    folder = BlobFolder(str(tmp_path / "blobs"))
    folder.remove(folder.orphans(()))
    assert mine.read_bytes() == b"years of work"


@pytest.mark.parametrize("kind", ["folder", "pipe", "nothing"])
def test_what_is_no_file_of_ours_is_damage_and_never_hangs(tmp_path: Path, kind: str) -> None:
    folder = BlobFolder(str(tmp_path))
    (tmp_path / "a").mkdir()
    if kind == "folder":
        (tmp_path / "a" / NAME).mkdir()
    elif kind == "pipe":
        os.mkfifo(tmp_path / "a" / NAME)
    with pytest.raises(Damaged):
        folder.descriptor(NAME)


def test_removing_takes_away_just_these_and_does_not_mind_what_is_gone(tmp_path: Path) -> None:
    folder = BlobFolder(str(tmp_path))
    written(folder, b"x")
    written(folder, b"y", OTHER)
    folder.remove([NAME, NAME, "ef" + "0" * 30])
    assert files(tmp_path) == [f"c/{OTHER}"]


def test_orphans_are_old_files_that_nothing_refers_to(tmp_path: Path) -> None:
    folder = BlobFolder(str(tmp_path))
    third = "ef" + "0" * 30
    for name in (NAME, OTHER, third):
        written(folder, b"x", name)
    (tmp_path / "a" / f".{OTHER}").write_bytes(b"a write that never ended")
    assert folder.orphans({NAME}) == []
    assert folder.orphans({NAME}, now=time.time() + HOUR + 60) == [f".{OTHER}", OTHER, third]
    os.utime(tmp_path / "c" / OTHER, (1, 1))
    assert folder.orphans({NAME}) == [OTHER]


def test_collecting_removes_orphans_and_unfinished_files(tmp_path: Path) -> None:
    folder = BlobFolder(str(tmp_path))
    written(folder, b"x")
    written(folder, b"y", OTHER)
    (tmp_path / "c" / f".{OTHER}").write_bytes(b"a write that never ended")
    folder.remove(folder.orphans({NAME}, now=time.time() + HOUR + 60))
    assert files(tmp_path) == [f"a/{NAME}"]


def test_a_folder_that_does_not_exist_has_no_orphans(tmp_path: Path) -> None:
    assert BlobFolder(str(tmp_path / "none")).orphans(()) == []
    assert not (tmp_path / "none").exists()
