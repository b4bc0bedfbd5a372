"""Entries of another record are written with the hashes they had there, or not at all."""

import errno
import re
from collections.abc import Iterator
from typing import Any

import pytest

from keepwhole import MemoryStore
from keepwhole.canonical.entry import GENESIS, Entry, Request, parse_header
from keepwhole.errors import NotStored
from keepwhole.store.protocol import Body, Row
from keepwhole.transfer.archive import checked_moment, checked_number, checked_text, parse_hash
from keepwhole.transfer.entry_writer import EntryWriter, check_fields
from tests.build import draft, opened, result, stored_bytes


class Counted(MemoryStore):
    """A store that counts what is discarded."""

    def __init__(self) -> None:
        super().__init__()
        self.discarded: list[Body] = []

    def discard(self, body: Body) -> None:
        self.discarded.append(body)
        super().discard(body)


@pytest.fixture
def source() -> MemoryStore:
    """A session with three results, one of them large."""
    store = MemoryStore()
    opened(store)
    store.append("s", [draft(store, b"one"), draft(store, b"x" * 200_000), draft(store, b"three")])
    return store


@pytest.fixture
def target() -> Counted:
    store = Counted()
    opened(store)
    return store


def add(writer: EntryWriter, source: MemoryStore, row: Row, data: bytes | None = None, chain: bytes = b"") -> None:
    header, facts = parse_header(row.header, row.digest, row.blocks)
    body = stored_bytes(source, row) if data is None else data
    writer.add(row.header, header, facts, chain or row.chain, body)


def copy_but(source: MemoryStore, target: MemoryStore, at: int = -1, what: str = "") -> None:
    """Copy all entries, one of them with another body or hash."""
    with EntryWriter(target, "s", GENESIS) as writer:
        for number, row in enumerate(source.rows("s")):
            is_wrong = number == at
            data = b"y" * len(stored_bytes(source, row)) if is_wrong and what == "body" else None
            add(writer, source, row, data, row.chain[::-1] if is_wrong and what == "hash" else b"")
        writer.finish()


def test_entries_come_with_their_hashes_and_are_told_when_they_are_durable(
    source: MemoryStore, target: Counted
) -> None:
    told: list[Entry] = []
    with EntryWriter(target, "s", GENESIS, told.append) as writer:
        for row in source.rows("s"):
            add(writer, source, row)
        assert told == []
        writer.finish()
        writer.finish()
    assert [entry.seq for entry in told] == [1, 2, 3]
    assert [row.chain for row in target.rows("s")] == [row.chain for row in source.rows("s")]
    assert writer.head == told[-1].chain
    assert target.discarded == []


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("what", ["body", "hash"])
def test_an_entry_that_is_not_what_its_hash_says_is_not_written_nor_are_those_with_it(
    source: MemoryStore, target: Counted, at: int, what: str
) -> None:
    with pytest.raises(ValueError, match="not what its hash says"):
        copy_but(source, target, at, what)
    assert list(target.rows("s")) == []
    assert len(target.discarded) == 3


def test_what_was_not_finished_is_not_written(source: MemoryStore, target: Counted) -> None:
    with EntryWriter(target, "s", GENESIS) as writer:
        add(writer, source, next(source.rows("s")))
    assert list(target.rows("s")) == []
    assert len(target.discarded) == 1
    assert writer.head == GENESIS


def test_a_body_that_is_longer_than_its_entry_says_is_not_read_on(source: MemoryStore, target: Counted) -> None:
    read: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(9):
            read.append(number)
            yield b"12"

    row = next(source.rows("s"))  # of three bytes
    header, facts = parse_header(row.header, row.digest, row.blocks)
    writer = EntryWriter(target, "s", GENESIS)
    writer.add(row.header, header, facts, row.chain, pieces)
    with pytest.raises(ValueError, match="longer than its entry says"):
        writer.finish()
    writer.__exit__(None, None, None)
    assert read == [0, 1]
    assert target.discarded == []


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "(No space left on device)"),
        (RuntimeError("the server\n  is away"), "(the server is away)"),
        (RuntimeError(), "(RuntimeError)"),
    ],
)
def test_a_record_that_cannot_be_written_is_told_with_its_reason(
    source: MemoryStore, target: Counted, monkeypatch: pytest.MonkeyPatch, cause: Exception, words: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotStored("It could not be stored.") from cause

    monkeypatch.setattr(target, "append", refuse)
    told = "Session `s` could not be written to the record " + words
    with pytest.raises(NotStored, match=re.escape(told)):
        copy_but(source, target)
    assert len(target.discarded) == 3


@pytest.mark.parametrize(
    "fields",
    [
        {"at": "now"},
        {"at": 1 << 63},
        {"at": -(1 << 63)},
        {"tool": 5},
        {"trace_id": "a\nb"},
        {"trace_id": "x" * 1_000},
        {"artifact_id": "x" * 1_000},
        {"flags": "cut"},
        {"flags": (5,)},
        {"frame": ("a",)},
        {"frame": ("a", "b", "c")},
        {"frame": (1, 2)},
        {"is_error": "no"},
    ],
)
def test_a_header_that_no_keepwhole_wrote_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"of an entry has an invalid value|an invalid id"):
        check_fields(result(**fields))


@pytest.mark.parametrize(
    "fields",
    [{"at": (1 << 63) - 1}, {"at": 1 - (1 << 63)}, {"trace_id": "x" * 999}, {"frame": ("a", "b")}, {"flags": ("cut",)}],
)
def test_a_header_at_the_limits_of_what_can_be_stored_is_accepted(fields: dict[str, Any]) -> None:
    check_fields(result(**fields))
    check_fields(Request(at=1, trace_id="t", size=0, digest=""))


def test_numbers_times_texts_and_hashes_of_a_file_are_what_a_record_can_hold() -> None:
    most = (1 << 63) - 1
    assert [checked_number(value) for value in (0, most)] == [0, most]
    assert [checked_moment(value) for value in (-most, 0, most)] == [-most, 0, most]
    assert [checked_text(value) for value in (None, "", "x")] == [None, "", "x"]
    assert parse_hash("ab" * 32) == b"\xab" * 32
    for check, wrong in (
        (checked_number, [-1, most + 1, True, 1.0, "1", None]),
        (checked_moment, [-most - 1, most + 1, False, 1.0, "1", None]),
        (checked_text, [5, b"x", ["x"]]),
        (parse_hash, ["ab" * 31, "ab" * 33, "", "xy" * 32]),
    ):
        for value in wrong:
            with pytest.raises(ValueError):  # noqa: PT011
                check(value)  # type: ignore[operator]
