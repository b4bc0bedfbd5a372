"""A body that waits for a server is in memory, a large one in a file without a name, and is given back if need be."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole.canonical.body import measure
from keepwhole.errors import NotStored
from keepwhole.store.blobs.spool import IN_MEMORY, Reread, spool_body
from keepwhole.store.feed import Feed
from keepwhole.store.reader import bytes_reader


def descriptors() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize(("size", "files"), [(0, 0), (IN_MEMORY, 0), (IN_MEMORY + 1, 1), (3 * IN_MEMORY + 5, 1)])
def test_only_a_large_body_waits_in_a_file(tmp_path: Path, size: int, files: int) -> None:
    data, before = os.urandom(size), descriptors()
    reader = spool_body(Feed(data[10:]), data[:10], size, str(tmp_path / "spool"))
    assert descriptors() == before + files
    assert list((tmp_path / "spool").iterdir() if files else ()) == [], "it has no name"
    with reader:
        assert reader.facts == measure(data)
        assert reader.read() == data
    assert descriptors() == before


@pytest.mark.parametrize("size", [100, IN_MEMORY + 70_000, IN_MEMORY + 2_200_000])
def test_a_body_beyond_the_quota_is_given_back_whole(tmp_path: Path, size: int) -> None:
    data, before = os.urandom(size), descriptors()
    with pytest.raises(NotStored, match="quota") as refused:
        spool_body(Feed(iter([data[10:50], data[50:]])), data[:10], size - 1, str(tmp_path))
    rescue = refused.value.rescue
    assert rescue is not None
    assert b"".join(rescue.chunks()) == data
    rescue.close()
    rescue.close()
    assert descriptors() == before


def test_a_body_whose_source_fails_leaves_no_file_open(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield bytes(2 * IN_MEMORY)
        raise KeyboardInterrupt

    before = descriptors()
    with pytest.raises(KeyboardInterrupt) as stopped:
        spool_body(Feed(broken()), b"first", 9 * IN_MEMORY, str(tmp_path))
    assert descriptors() == before, stopped


def test_what_was_read_and_could_not_be_stored_is_read_again() -> None:
    rescue = Reread(bytes_reader(b"the original"))
    assert b"".join(rescue.chunks()) == b"the original"
    rescue.close()


def test_what_could_not_be_stored_is_let_go_with_its_file(tmp_path: Path) -> None:
    before = descriptors()
    rescue = Reread(spool_body(Feed(bytes(2 * IN_MEMORY)), b"", 2 * IN_MEMORY, str(tmp_path)))
    assert descriptors() == before + 1
    rescue.close()
    assert descriptors() == before
