"""The pieces of a log: decoded one by one, what cannot be read is counted by its reason and its first line."""

import errno
import gzip
import os
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from keepwhole.logs import lines
from keepwhole.logs.lines import (
    LogFile,
    LogLines,
    UnpackedTooMuch,
    file_size,
    read_error,
    read_lines,
    repaired_characters,
)

DECODER = msgspec.json.Decoder(dict[str, Any])


def log(path: Path, data: bytes) -> LogLines:
    (path / "log.jsonl").write_bytes(data)
    return LogLines(path / "log.jsonl")


def told(read: LogLines) -> list[tuple[str, int, int | None]]:
    return [(one.why, one.count, one.first_line) for one in read.unread()]


def test_blank_lines_are_passed_over_and_broken_ones_counted_with_the_first_of_each_kind(tmp_path: Path) -> None:
    read = log(tmp_path, b'{"a": 1}\n\n[]\n  \n{\n[1]\n{"a": 2}\n\xff\n')
    assert [value["a"] for value in read.decode_all(DECODER, "an object")] == [1, 2]
    assert told(read) == [("not an object", 2, 3), ("not JSON", 2, 5)]


def test_parts_of_a_piece_are_counted_each(tmp_path: Path) -> None:
    read = log(tmp_path, b"{}\n{}\n")
    for number, _ in enumerate(read):
        read.note_unreadable("odd", 3 + number)
    assert told(read) == [("odd", 7, 1)]
    assert told(LogLines(tmp_path, iter(()))) == []
    document = LogLines(tmp_path, iter(()))
    document.note_unreadable("odd")
    assert told(document) == [("odd", 1, None)], "it has no lines"


def test_a_line_over_the_limit_is_counted_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 10)
    monkeypatch.setattr(lines, "_CHUNK", 4)
    read = log(tmp_path, b'{"a": 12}\n{"a": 123}\n{"a": 3}')
    assert [value["a"] for value in read.decode_all(DECODER, "an object")] == [12, 3]
    assert told(read) == [("longer than 64 MB", 1, 2)]


def test_a_file_that_is_gone_is_told_with_the_line_where_it_ended(tmp_path: Path) -> None:
    read = LogLines(tmp_path / "gone")
    assert list(read) == []
    assert told(read) == [("the file cannot be read (No such file or directory)", 1, 1)]
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"{}\n{}\n", mtime=0)[:-4])
    cut = LogLines(tmp_path / "cut.gz")
    assert list(cut) == [b"{}\n", b"{}\n"]
    assert told(cut) == [("the compressed file is cut off", 1, 3)]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (EOFError(), "the compressed file is cut off"),
        (gzip.BadGzipFile(), "the compressed file is damaged"),
        (zlib.error(), "the compressed file is damaged"),
        (OSError(errno.EACCES, "Permission denied"), "the file cannot be read (Permission denied)"),
        (OSError("odd"), "the file cannot be read (odd)"),
        (UnpackedTooMuch("too much"), "too much"),
    ],
)
def test_each_reason_why_a_file_cannot_be_read_is_said_in_words(error: BaseException, why: str) -> None:
    assert read_error(error) == why


@pytest.mark.parametrize(
    ("line", "repaired"),
    [
        (b'"plain"', None),
        (b'"\\ud83d\\ude00"', None),
        (b'"\\\\ud83d"', None),
        (b'"\\ud83d"', b'"\\ufffd"'),
        (b'"\\uDE00 \\uD83D"', b'"\\ufffd \\ufffd"'),
        (b'"\\ud83d\\ud83d\\ude00"', b'"\\ufffd\\ud83d\\ude00"'),
        (b'"a\xff"', '"a\ufffd"'.encode()),
        (b'\xef\xbb\xbf"a"', b'"a"'),
    ],
)
def test_characters_that_are_none_become_one_that_is(line: bytes, repaired: bytes | None) -> None:
    assert repaired_characters(line) == repaired


def test_a_packed_file_may_unpack_to_a_hundred_times_its_size_or_to_some_megabytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(bytes(50_000), mtime=0))
    size = path.stat().st_size
    for most, always, is_read in (
        (1, 50_000, True),
        (1, 49_999, False),
        (50_000 // size, 100, False),
        (50_000 // size + 1, 100, True),
    ):
        monkeypatch.setattr(lines, "MOST_UNPACKED", most)
        monkeypatch.setattr(lines, "ALWAYS_UNPACKED", always)
        with LogFile(path) as file:
            if is_read:
                assert len(file.read(60_000)) == 50_000
            else:
                with pytest.raises(UnpackedTooMuch):
                    file.read(60_000)
        with LogFile(path) as file:
            if is_read:
                file.refuse_bomb()
            else:
                with pytest.raises(UnpackedTooMuch):
                    file.refuse_bomb()


@pytest.mark.parametrize(("size", "is_read"), [(16 << 20, True), ((16 << 20) + 1, False)])
def test_sixteen_megabytes_may_be_in_any_packed_file(tmp_path: Path, size: int, is_read: bool) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(bytes(size), 1))
    with LogFile(tmp_path / "log.gz") as file:
        if is_read:
            file.refuse_bomb()
        else:
            with pytest.raises(UnpackedTooMuch, match="100 times"):
                file.refuse_bomb()


def test_a_file_is_packed_by_what_is_in_it_and_read_in_parts(tmp_path: Path) -> None:
    for data in (b"one\ntwo\nthree", gzip.compress(b"one\ntwo\nthree")):
        (tmp_path / "log").write_bytes(data)
        assert list(read_lines(tmp_path / "log")) == [b"one\n", b"two\n", b"three"]
        with LogFile(tmp_path / "log") as file:
            assert [file.read(5), file.read(0), file.read(99), file.read(99)] == [b"one\nt", b"", b"wo\nthree", b""]
    before = len(os.listdir("/proc/self/fd"))
    with LogFile(tmp_path / "log"):
        assert len(os.listdir("/proc/self/fd")) == before + 1
    assert len(os.listdir("/proc/self/fd")) == before


def test_only_a_regular_file_has_a_size(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    assert [file_size(tmp_path / name) for name in ("log", "pipe", ".", "gone")] == [5, 0, 0, 0]
