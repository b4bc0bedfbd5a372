"""Folders of ours are private whatever the umask, and what is written is written whole."""

import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest

from keepwhole.store.durable import make_folder, sync, write_all


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
