"""The file of marks: where each mark is, which every version of Keepwhole reads, and what a damaged one claims."""

import os
import struct
import zlib
from pathlib import Path

import pytest

from keepwhole.store.sqlite import marks as mark_file
from keepwhole.store.sqlite.marks import LastEntry, MarkedEnding, MarkedHead, Marks

RECORD, CHAIN, DIGEST = b"r" * 16, b"c" * 32, b"d" * 32


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    """The marks of a record whose session 2 has ended after its entry 7, the row 31."""
    marks = Marks(str(tmp_path / "record.marks"))
    marks.note_description(2, DIGEST)
    marks.note_entry(RECORD, 31, 2, 7, CHAIN)
    marks.note_ending(2, -99, is_committed=True)
    return marks


def part(data: bytes, at: int, form: str) -> tuple[object, ...]:
    """A part of the file at a place, with its checksum, which is that of bytes that were written."""
    size = struct.calcsize(form)
    packed = data[at : at + size]
    assert data[at + size : at + size + 4] == struct.pack("<L", zlib.crc32(packed, 1))
    return struct.unpack(form, packed)


def test_each_slot_has_128_bytes_and_its_parts_are_where_every_version_reads_them(marks: Marks) -> None:
    data = Path(marks.path).read_bytes()
    assert part(data, 0, "<16sQ32s") == (RECORD, 31, CHAIN)
    assert part(data, 256, "<Q32s") == (7, CHAIN)
    assert part(data, 256 + 48, "<32s") == (DIGEST,)
    assert part(data, 256 + 96, "<q?") == (-99, True)
    assert os.stat(marks.path).st_mode & 0o777 == 0o600


def test_marks_are_read_as_they_were_written_also_after_closing_the_file(marks: Marks) -> None:
    for _ in range(2):
        assert marks.last() == LastEntry(RECORD, 31, CHAIN)
        assert marks.head(2) == MarkedHead(7, CHAIN)
        assert marks.description(2) == DIGEST
        assert marks.ending(2) == MarkedEnding(-99, True)
        assert list(marks.sessions()) == [1, 2]
        marks.close()


def test_what_was_never_written_claims_nothing(marks: Marks, tmp_path: Path) -> None:
    for session in (1, 3):
        assert (marks.head(session), marks.description(session), marks.ending(session)) == (None, None, None)
    none = Marks(str(tmp_path / "no.marks"))
    assert not none.exists()
    assert (none.last(), list(none.sessions())) == (None, [])
    assert not none.exists(), "looking creates no file"
    marks.note_entry(RECORD, 32, 3, 0, CHAIN)
    assert marks.head(3) is None, "a session without entries has no last one"


@pytest.mark.parametrize("at", [0, 16, 24, 55, 56, 59])
def test_a_damaged_part_claims_nothing_and_leaves_the_others(marks: Marks, at: int) -> None:
    data = bytearray(Path(marks.path).read_bytes())
    data[at] ^= 1
    Path(marks.path).write_bytes(data)
    assert marks.last() is None
    assert marks.head(2) == MarkedHead(7, CHAIN)


@pytest.mark.parametrize(("size", "is_whole"), [(59, False), (60, True)])
def test_a_part_that_is_cut_off_claims_nothing(marks: Marks, size: int, is_whole: bool) -> None:
    os.truncate(marks.path, size)
    assert (marks.last() is not None) is is_whole


def test_a_session_that_is_purged_is_forgotten_and_the_last_entry_is_another_one(marks: Marks) -> None:
    marks.note_entry(RECORD, 40, 3, 1, CHAIN)
    before = LastEntry(RECORD, 20, b"x" * 32)
    marks.lower(2, before)
    assert marks.last() == before
    assert (marks.head(2), marks.description(2), marks.ending(2)) == (None, None, None)
    assert marks.head(3) == MarkedHead(1, CHAIN)


def test_all_marks_are_forgotten_at_once(marks: Marks) -> None:
    marks.clear()
    assert (marks.exists(), marks.last(), marks.head(2), list(marks.sessions())) == (True, None, None, [])


def test_a_mark_of_a_committed_entry_that_cannot_be_written_is_no_error_but_an_ending_is(tmp_path: Path) -> None:
    lost = Marks(str(tmp_path / "gone" / "record.marks"))
    lost.note_entry(RECORD, 1, 1, 1, CHAIN)
    lost.note_last(LastEntry(RECORD, 1, CHAIN))
    lost.note_description(1, DIGEST)
    for write in (lambda: lost.note_ending(1, 5, True), lambda: lost.lower(1, LastEntry(RECORD, 1, CHAIN)), lost.clear):
        with pytest.raises(FileNotFoundError):
            write()


def test_no_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "elsewhere", tmp_path / "record.marks"
    link.symlink_to(target)
    marks = Marks(str(link))
    marks.note_last(LastEntry(RECORD, 1, CHAIN))
    assert (marks.exists(), marks.last(), target.exists()) == (True, None, False)


def test_what_claims_less_than_before_is_on_the_disk_on_return_and_a_mark_of_an_entry_is_not_waited_for(
    marks: Marks, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(mark_file, "sync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))  # pyright: ignore
    marks.note_entry(RECORD, 32, 2, 8, CHAIN)
    marks.note_description(3, DIGEST)
    assert synced == []
    for write in (
        lambda: marks.note_ending(2, 5, is_committed=False),
        lambda: marks.lower(2, LastEntry(RECORD, 20, CHAIN)),
        marks.sync,
    ):
        synced.clear()
        write()
        assert synced == [marks.path]


def test_the_file_is_open_once_until_it_is_closed(marks: Marks) -> None:
    before = len(os.listdir("/proc/self/fd"))
    marks.sync()
    marks.close()
    marks.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1
