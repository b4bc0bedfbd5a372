"""Two entries of a record are exchanged, whole or by some of their columns: found by `verify`, and never served.

`KEEPWHOLE_SWAPS` changes the number of exchanges of the long run.
"""

import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keepwhole import KeepwholeError, Session, SqliteStore
from keepwhole.store.sqlite import check
from tests.build import numbered_lines

SWAPS = int(os.environ.get("KEEPWHOLE_SWAPS", "100000"))
SEED = 20_261_116
COLUMNS = (
    *("session", "seq", "kind", "trace_id", "artifact_id", "call_id", "at", "stored", "previous", "header", "digest"),
    *("chain", "blob", "blocks", "body"),
)
"""All of an entry but the number under which SQLite stores its row, and columns that are the same in all."""
SESSIONS = ("one", "two")
Rows = dict[int, tuple[Any, ...]]


class Swapped:
    """A record, a handle on it, and a way to exchange its rows behind the back of that handle."""

    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(str(folder), inline_body=1_000)
        self.kept: dict[str, tuple[str, bytes]] = {}
        for number in range(8):
            name = SESSIONS[number % 2]
            text = (f"result {number}", numbered_lines(40 + number), numbered_lines(500 + number))[number % 3]
            shown = Session(name, store=self.store).keep("tool", {"n": number}, text, call_id=f"call-{number}")
            assert shown.problem is None
            self.kept[str(shown.trace_id)] = (name, text.encode())
        self._connection = sqlite3.connect(folder / "record.db", isolation_level=None)
        self._connection.execute("PRAGMA synchronous = OFF")
        self.rows: Rows = {row[0]: row[1:] for row in self._select()}

    def _select(self) -> Iterator[tuple[Any, ...]]:
        yield from self._connection.execute(f"SELECT id, {', '.join(COLUMNS)} FROM entries ORDER BY id")

    def put(self, rows: Rows) -> None:
        """Replace rows by others, all at once; `sqlite3.IntegrityError` if the schema does not take them."""
        ask = self._connection.execute
        ask("BEGIN IMMEDIATE")
        try:
            ask("INSERT INTO purging SELECT id FROM sessions")  # so that the schema lets rows be deleted
            ask(f"DELETE FROM entries WHERE id IN ({', '.join('?' * len(rows))})", tuple(rows))
            for number, row in rows.items():
                places = ", ".join("?" * (len(COLUMNS) + 1))
                ask(f"INSERT INTO entries (id, {', '.join(COLUMNS)}) VALUES ({places})", (number, *row))
            ask("DELETE FROM purging")
            ask("COMMIT")
        except sqlite3.Error:
            ask("ROLLBACK")
            raise

    def wrong_bytes(self) -> list[str]:
        """The results that are served with other bytes than they were kept with."""
        return [
            trace_id for trace_id, (name, data) in self.kept.items() if self._read(name, trace_id) not in (data, None)
        ]

    def _read(self, name: str, trace_id: str) -> bytes | None:
        try:
            return Session(name, store=self.store).recall_bytes(trace_id)
        except KeepwholeError:
            return None

    def is_whole(self) -> bool:
        return all(Session(name, store=self.store).verify().whole for name in SESSIONS)

    def close(self) -> None:
        self._connection.close()
        self.store.close()


def swaps(rows: Rows, chance: random.Random) -> Iterator[Rows]:
    """Endless pairs of rows that exchanged one column, all but one, some, or everything but their numbers."""
    numbers = list(rows)
    whole = [column for column in range(len(COLUMNS)) if COLUMNS[column] not in ("session", "seq")]
    while True:
        first, second = chance.sample(numbers, 2)
        some = chance.sample(range(len(COLUMNS)), chance.randint(1, len(COLUMNS) - 1))
        columns = chance.choice((whole, some, some[:1], sorted({*whole} - {some[0]})))
        one, other = list(rows[first]), list(rows[second])
        for column in columns:
            one[column], other[column] = other[column], one[column]
        yield {first: tuple(one), second: tuple(other)}


def try_swaps(folder: Path, count: int) -> dict[str, int]:
    """How many exchanges changed the record, and how many were refused; `AssertionError` for one that passes."""
    tally = {"changed": 0, "refused by the schema": 0, "nothing changed": 0}
    with closing(Swapped(folder)) as record:
        assert record.is_whole()
        for made, _ in zip(swaps(record.rows, random.Random(SEED)), range(count), strict=False):
            before = {number: record.rows[number] for number in made}
            if sorted(map(repr, made.values())) == sorted(map(repr, before.values())):
                tally["nothing changed"] += 1
                continue
            try:
                record.put(made)
            except sqlite3.IntegrityError:
                tally["refused by the schema"] += 1
                continue
            tally["changed"] += 1
            judge(record, made, before)
            record.put(before)
        assert record.is_whole()
    return tally


def judge(record: Swapped, made: Rows, before: Rows) -> None:
    differs = [
        column for at, column in enumerate(COLUMNS) if any(made[number][at] != before[number][at] for number in made)
    ]
    assert not record.wrong_bytes(), f"wrong bytes were served after {differs} of {list(made)} were exchanged"
    assert not record.is_whole(), f"verify finds nothing, and {differs} of {list(made)} were exchanged"


def test_entries_that_were_exchanged_are_found_and_never_served(tmp_path: Path) -> None:
    assert try_swaps(tmp_path, 150)["changed"] > 75


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_entries_that_were_exchanged_very_often_are_found_and_never_served(tmp_path: Path) -> None:
    tally = try_swaps(tmp_path, SWAPS)
    print(f"\n{SWAPS:,} exchanges: {tally}")
    assert tally["changed"] > SWAPS // 2


def test_a_verify_that_looks_at_hashes_alone_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "compare_columns", lambda ask: iter(()))
    with pytest.raises(AssertionError, match="verify finds nothing"):
        try_swaps(tmp_path, 300)
