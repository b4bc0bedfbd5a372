"""Any output of a tool is one stream of bytes, whatever it comes as."""

import array
import gzip
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole.canonical.body import CHUNK
from keepwhole.errors import UsageError
from keepwhole.store.feed import Feed, pipe

TEXT = "line of text, é€😀\n" * 30_000
DATA = TEXT.encode()


def read_in_fills(feed: Feed, size: int = 100_003) -> bytes:
    """All of a feed through a buffer of a given size."""
    space = bytearray(size)
    parts: list[bytes] = []
    while filled := feed.fill(memoryview(space)):
        parts.append(bytes(space[:filled]))
        if filled < size:
            break
    return b"".join(parts)


def text_file(folder: Path) -> Any:
    (folder / "text").write_text(TEXT, encoding="utf-8")
    return open(folder / "text", encoding="utf-8")


def binary_file(folder: Path) -> Any:
    (folder / "data").write_bytes(DATA)
    return open(folder / "data", "rb")


def unbuffered_file(folder: Path) -> Any:
    (folder / "data").write_bytes(DATA)
    return open(folder / "data", "rb", buffering=0)


def read_write_file(folder: Path) -> Any:
    (folder / "data").write_bytes(DATA)
    return open(folder / "data", "r+b")


def compressed_file(folder: Path) -> Any:
    (folder / "data.gz").write_bytes(gzip.compress(DATA))
    return gzip.open(folder / "data.gz")


def a_pipe(folder: Path) -> Any:
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as file:
            file.write(DATA)

    threading.Thread(target=write).start()
    return open(reading, "rb")


def a_raw_pipe(folder: Path) -> Any:
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as file:
            for start in range(0, len(DATA), 1_000):
                file.write(DATA[start : start + 1_000])

    threading.Thread(target=write).start()
    return open(reading, "rb", buffering=0)


def mixture() -> Iterator[str | bytes | bytearray | memoryview]:
    for start in range(0, len(TEXT), 10_000):
        piece = TEXT[start : start + 10_000]
        kinds: list[Any] = [piece, piece.encode(), bytearray(piece.encode()), memoryview(piece.encode()), ""]
        yield kinds[start // 10_000 % 4]
        yield kinds[4]


FEEDS: dict[str, Callable[[Path], Any]] = {
    "str": lambda folder: TEXT,
    "bytes": lambda folder: DATA,
    "bytearray": lambda folder: bytearray(DATA),
    "memoryview": lambda folder: memoryview(DATA),
    "memoryview of a bytearray": lambda folder: memoryview(bytearray(DATA)),
    "text file": text_file,
    "binary file": binary_file,
    "unbuffered file": unbuffered_file,
    "file open for writing too": read_write_file,
    "compressed file": compressed_file,
    "pipe": a_pipe,
    "raw pipe": a_raw_pipe,
    "StringIO": lambda folder: io.StringIO(TEXT),
    "BytesIO": lambda folder: io.BytesIO(DATA),
    "list of str": lambda folder: [TEXT[:7], TEXT[7:]],
    "tuple of bytes": lambda folder: (DATA[:7], b"", DATA[7:]),
    "generator of str": lambda folder: (line for line in TEXT.splitlines(keepends=True)),
    "generator of bytes": lambda folder: (DATA[at : at + 999] for at in range(0, len(DATA), 999)),
    "mixture": lambda folder: mixture(),
}


@pytest.mark.parametrize("kind", FEEDS)
def test_every_kind_of_output_fills_a_buffer_with_its_bytes(kind: str, tmp_path: Path) -> None:
    output = FEEDS[kind](tmp_path)
    assert read_in_fills(Feed(output)) == DATA
    getattr(output, "close", lambda: None)()


@pytest.mark.parametrize("kind", FEEDS)
def test_what_was_not_filled_into_a_buffer_remains(kind: str, tmp_path: Path) -> None:
    output = FEEDS[kind](tmp_path)
    feed = Feed(output)
    space = bytearray(12_345)
    first = feed.fill(memoryview(space))
    assert first == 12_345
    assert bytes(space) + b"".join(feed.remaining()) == DATA
    getattr(output, "close", lambda: None)()


@pytest.mark.parametrize("kind", FEEDS)
def test_a_feed_is_read_to_its_end_only_once(kind: str, tmp_path: Path) -> None:
    output = FEEDS[kind](tmp_path)
    feed = Feed(output)
    assert b"".join(feed.remaining()) == DATA
    assert b"".join(feed.remaining()) == b""
    assert feed.fill(memoryview(bytearray(10))) == 0
    getattr(output, "close", lambda: None)()


@pytest.mark.parametrize("output", ["", b"", [], iter(()), io.BytesIO(), io.StringIO(), ["", b""]])
def test_an_empty_output_is_empty(output: Any) -> None:
    assert read_in_fills(Feed(output)) == b""


def test_a_partly_read_file_goes_on_where_it_was(tmp_path: Path) -> None:
    with binary_file(tmp_path) as file:
        assert file.read(1_000) == DATA[:1_000]
        assert read_in_fills(Feed(file)) == DATA[1_000:]


def test_a_partly_read_pipe_loses_nothing_of_its_buffer(tmp_path: Path) -> None:
    with a_pipe(tmp_path) as file:
        assert file.read(1_000) == DATA[:1_000]
        assert read_in_fills(Feed(file)) == DATA[1_000:]


def test_a_partly_read_text_file_goes_on_where_it_was(tmp_path: Path) -> None:
    with text_file(tmp_path) as file:
        assert file.readline() == TEXT.splitlines(keepends=True)[0]
        assert read_in_fills(Feed(file)) == DATA[len(TEXT.splitlines(keepends=True)[0].encode()) :]


def test_the_output_of_a_program_is_read_as_it_comes() -> None:
    code = f"import sys; [sys.stdout.write('x' * 1000) for _ in range({CHUNK // 1000 + 10})]"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert len(read_in_fills(Feed(process.stdout))) == (CHUNK // 1000 + 10) * 1000


def test_the_read_end_of_a_pipe_can_be_given_by_its_number() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"hello")
    os.close(writing)
    assert read_in_fills(Feed(pipe(reading))) == b"hello"
    os.close(reading)


def test_lone_surrogates_are_noticed_and_kept() -> None:
    feed = Feed(["plain", "half \ud800"])
    assert feed.encoding == "utf-8"
    assert read_in_fills(feed) == b"plainhalf \xed\xa0\x80"
    assert feed.encoding == "surrogates"


def test_text_that_a_file_could_not_decode_is_kept(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"caf\xe9")
    with open(tmp_path / "odd", encoding="utf-8", errors="surrogateescape") as file:
        feed = Feed(file)
        assert read_in_fills(feed).decode("utf-8", "surrogatepass") == "caf\udce9"


def test_memory_of_numbers_is_kept_as_its_bytes() -> None:
    numbers = array.array("I", [1, 2, 3])
    assert read_in_fills(Feed(memoryview(numbers))) == numbers.tobytes()


def test_memory_with_gaps_is_kept_as_its_bytes() -> None:
    assert read_in_fills(Feed(memoryview(b"abcdef")[::2])) == b"ace"


@pytest.mark.parametrize("output", [None, 5, 1.5, True, object(), len])
def test_what_is_no_output_is_refused_at_once(output: Any) -> None:
    with pytest.raises(UsageError, match=r"json\.dumps"):
        Feed(output)


@pytest.mark.parametrize("output", [{"rows": [1, 2]}, {"a", "b"}, frozenset(("a",))])
def test_a_mapping_or_a_set_is_refused_since_its_chunks_would_be_its_keys(output: Any) -> None:
    with pytest.raises(UsageError):
        read_in_fills(Feed(output))


@pytest.mark.parametrize("output", [[1, 2], ["a", None], [{"type": "text", "text": "x"}], iter([b"x", 1.5])])
def test_a_chunk_that_is_neither_text_nor_bytes_is_refused(output: Any) -> None:
    with pytest.raises(UsageError, match="chunk"):
        read_in_fills(Feed(output))


def test_an_error_of_the_source_is_not_swallowed() -> None:
    def broken() -> Iterator[bytes]:
        yield b"some"
        raise ConnectionResetError("the line went dead")

    with pytest.raises(ConnectionResetError):
        read_in_fills(Feed(broken()))


@pytest.mark.parametrize("buffering", [-1, 0])
def test_a_pipe_that_has_nothing_to_say_yet_is_not_taken_for_one_that_ended(buffering: int) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.write(writing, b"the first of two parts")
    with open(reading, "rb", buffering=buffering) as file, pytest.raises((UsageError, BlockingIOError)):
        read_in_fills(Feed(file))
    os.close(writing)


def test_a_large_generator_is_not_held_in_memory() -> None:
    alive = 0
    most = 0

    class Piece(bytes):
        def __new__(cls) -> "Piece":
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            return super().__new__(cls, b"x" * 100_000)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    feed = Feed(Piece() for _ in range(50))
    space = memoryview(bytearray(CHUNK))
    while feed.fill(space) == CHUNK:
        pass
    assert most <= 4
