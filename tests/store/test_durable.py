"""Folders of ours are private whatever the umask, and what is written is written whole."""

import errno
import fcntl
import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole.store import durable
from keepwhole.store.durable import make_folder, sync, write_all, write_file


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277, 0o777])
def test_a_folder_of_ours_is_0700_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        make_folder(str(tmp_path / "a" / "b"))
    finally:
        os.umask(old)
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_folder_that_is_there_already_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine").chmod(0o755)
    make_folder(str(tmp_path / "mine"))
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o755


def test_a_folder_cannot_be_made_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NotADirectoryError):
        make_folder(str(tmp_path / "file" / "below"))


def test_all_is_written_though_a_signal_cuts_a_write_short() -> None:
    reading, writing = os.pipe()
    data, got, writer = os.urandom(1_000_000), list[bytes](), threading.get_ident()

    def read() -> None:
        time.sleep(0.05)
        signal.pthread_kill(writer, signal.SIGUSR1)
        time.sleep(0.05)
        with open(reading, "rb") as file:
            got.append(file.read())

    before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        write_all(writing, memoryview(data))
    finally:
        os.close(writing)
        reader.join()
        signal.signal(signal.SIGUSR1, before)
    assert got == [data]


def test_a_file_and_a_folder_can_be_synced(tmp_path: Path) -> None:
    for path in (tmp_path, Path(__file__)):
        fd = os.open(path, os.O_RDONLY)
        sync(fd)
        os.close(fd)


def test_a_file_takes_the_place_of_another_or_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "old")
    for name, mode in (("new", 0o644), ("link", 0o600)):
        write_file(str(tmp_path / name), [b"one", b"", b"two"], mode)
        assert (tmp_path / name).read_bytes() == b"onetwo"
        assert stat.S_IMODE((tmp_path / name).lstat().st_mode) == mode
    assert (tmp_path / "old").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "new", "old"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_replaces_none_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    if not has_links:
        monkeypatch.setattr(os, "link", _refuse)
    path = tmp_path / "file"
    write_file(str(path), [b"first"], 0o600, replaces=False)
    assert path.read_bytes() == b"first"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_file_that_is_there_already_stays_where_it_is_not_to_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"first")
    with pytest.raises(FileExistsError):
        write_file(str(tmp_path / "file"), [b"second"], 0o600, replaces=False)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file", b"first")]


def test_a_file_that_cannot_be_written_whole_is_not_there(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"some"
        raise OSError(errno.ENOSPC, "no space left")

    before = len(os.listdir("/proc/self/fd"))
    (tmp_path / "file").write_bytes(b"first")
    with pytest.raises(OSError, match="no space left"):
        write_file(str(tmp_path / "file"), broken(), 0o600)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file", b"first")]
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_and_its_name_are_synced_before_it_counts_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(durable, "sync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))  # pyright: ignore
    write_file(str(tmp_path / "file"), [b"x"], 0o600)
    assert [path.rpartition("/")[2].partition(".")[0] for path in synced] == ["file", tmp_path.name]
    synced.clear()
    make_folder(str(tmp_path / "a" / "b"))
    assert synced == [str(tmp_path), str(tmp_path / "a")]


def test_a_folder_whose_name_cannot_be_synced_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "sync", _refuse)
    with pytest.raises(OSError, match="cannot"):
        make_folder(str(tmp_path / "a"))
    assert list(tmp_path.iterdir()) == []


def test_where_a_disk_keeps_a_cache_of_its_own_that_is_emptied_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(durable, "_FULL_SYNC", 51)
    monkeypatch.setattr(fcntl, "fcntl", lambda fd, what: asked.append((fd, what)))  # pyright: ignore
    sync(7)
    assert asked == [(7, 51)]


def _refuse(*_: object) -> None:
    raise OSError(errno.EPERM, "it cannot be")
