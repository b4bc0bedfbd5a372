"""Single bytes of the record are changed, in the database, in the WAL and in the files: detected, never served.

`KEEPWHOLE_FLIPS` multiplies the number of flips of the long run.
"""

import contextlib
import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.canonical.body import BLOCK
from keepwhole.store import sql_store, verify
from keepwhole.store.reader import BodyReader
from tests.faults import damage
from tests.faults.outputs import BLOB, Keeper
from tests.torture.checks import opened

SEED = 20_261_115
SHORT = {"record.db": 50, "record.db-wal": 25, "blobs": 20}
TIMES = int(os.environ.get("KEEPWHOLE_FLIPS", "1"))
LONG = {"record.db": 1_800 * TIMES, "record.db-wal": 800 * TIMES, "blobs": 400 * TIMES}
lengths = pytest.mark.parametrize(
    "flips",
    [
        pytest.param(SHORT, id="short"),
        pytest.param(LONG, id="long", marks=(pytest.mark.torture, pytest.mark.timeout(0))),
    ],
)
Judge = Callable[[int, damage.Seen], str]


def try_each(image: damage.Image, name: str, flips: int, judge: Judge) -> None:
    """Flip a byte at each of many places; what is raised or judged wrong is counted and told at the end."""
    chance = random.Random(SEED)
    places: set[int] = set()
    trouble: Counter[str] = Counter()
    example: dict[str, tuple[str, int, int]] = {}
    for at in islice(image.places(name, chance), flips):
        by = chance.choice((1 << chance.randrange(8), chance.randrange(1, 256)))
        places.add(at)
        image.damage(name, at, by)
        what = judged(image, at, judge)
        if what:
            trouble[what] += 1
            example.setdefault(what, (name, at, by))
    image.restore(name)
    told = "\n".join(f"{count} × {what}, e.g. {example[what]}" for what, count in trouble.most_common())
    print(f"\n{name}: {flips:,} flips at {len(places):,} places of {len(image.files[name]):,} bytes")
    assert not trouble, f"{trouble.total()} of {flips} flips:\n{told}"


def judged(image: damage.Image, at: int, judge: Judge) -> str:
    try:
        return judge(at, damage.look(image))
    except AssertionError as error:
        return str(error).splitlines()[0]
    except Exception as error:
        return f"{type(error).__name__} leaked: {error}"


def session_of(image: damage.Image, trace_id: str) -> str:
    return next(kept.session for kept in image.kept if kept.trace_id == trace_id)


def database_judge(image: damage.Image) -> Judge:
    """Judges a flip in the database by what it hit."""
    owner = image.owner("record.db")
    assert owner

    def judge(at: int, seen: damage.Seen) -> str:
        if at in owner and owner[at] not in seen.broken:
            return "a flip in a live body or header was not found by verify"
        unseen = {id for id in seen.missing | seen.refused if session_of(image, id) not in seen.broken}
        if unseen and sound(image):
            return "a result cannot be read, and neither verify nor SQLite finds anything wrong"
        return ""

    return judge


def sound(image: damage.Image) -> bool:
    """Whether SQLite's own check, which `keepwhole doctor` runs, finds nothing."""
    with contextlib.closing(sqlite3.connect(image.folder / "record.db")) as connection:
        try:
            return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        except sqlite3.Error:
            return False


def judge_file(at: int, seen: damage.Seen) -> str:
    return "" if len(seen.refused) == len(seen.broken) == 1 else f"{len(seen.refused)} results refused, not one"


@lengths
def test_a_flip_in_the_database_is_detected_and_never_served(tmp_path: Path, flips: dict[str, int]) -> None:
    image = damage.make(tmp_path / "store", checkpointed=True)
    try_each(image, "record.db", flips["record.db"], database_judge(image))


@lengths
def test_a_flip_in_the_wal_costs_at_most_the_last_commits(tmp_path: Path, flips: dict[str, int]) -> None:
    """SQLite drops what follows a damaged frame; what is left must be a whole beginning, in the order it was kept."""
    image = damage.make(tmp_path / "store", checkpointed=False)
    try_each(image, "record.db-wal", flips["record.db-wal"], lambda at, seen: damage.judge_beginning(image, seen))


@lengths
def test_a_flip_in_a_file_is_detected_and_never_served(tmp_path: Path, flips: dict[str, int]) -> None:
    image = damage.make(tmp_path / "store", checkpointed=True)
    for name in image.blobs():
        try_each(image, name, flips["blobs"] // len(image.blobs()) + 1, judge_file)


def test_a_verify_that_reads_no_bodies_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = damage.make(tmp_path / "store", checkpointed=True)
    monkeypatch.setattr(verify, "_check", lambda store, row, entry: None)
    with pytest.raises(AssertionError, match="was not found by verify"):
        try_each(image, "record.db", SHORT["record.db"], database_judge(image))


def test_a_reader_that_does_not_look_at_hashes_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = damage.make(tmp_path / "store", checkpointed=True)
    judge = database_judge(image)
    monkeypatch.setattr(BodyReader, "_block", lambda reader, number: reader._fetch(number * BLOCK, BLOCK))
    with pytest.raises(AssertionError, match="wrong bytes were served"):
        try_each(image, "record.db", SHORT["record.db"], judge)
    with pytest.raises(AssertionError, match="wrong bytes were served"):
        try_each(image, image.blobs()[0], 5, judge_file)


def test_a_record_without_marks_is_caught(tmp_path: Path) -> None:
    image = damage.make(tmp_path / "store", checkpointed=False)
    image.files["record.marks"] = b""
    with pytest.raises(AssertionError, match="results are gone and verify does not notice"):
        try_each(image, "record.db-wal", 5, lambda at, seen: damage.judge_beginning(image, seen))


def test_a_file_that_is_shorter_longer_or_gone_is_detected_and_never_served(tmp_path: Path) -> None:
    image = damage.make(tmp_path / "store", checkpointed=True)
    for name in image.blobs():
        path = image.folder / name
        whole = path.read_bytes()
        for other in (b"", whole[:-1], whole[: len(whole) // 2], whole[1:], None):
            path.unlink() if other is None else path.write_bytes(other)
            seen = damage.look(image)
            assert len(seen.refused) == len(seen.broken) == 1
        path.write_bytes(whole)
    assert damage.look(image) == damage.Seen(set(), set(), set())


def test_an_index_that_leads_to_another_row_never_serves_that_row(tmp_path: Path) -> None:
    image = damage.make(tmp_path / "store", checkpointed=True)
    index = page_of(image, "result_by_trace")
    entries = [image.files["record.db"].index(kept.trace_id.encode(), *index) for kept in image.kept]
    row_of_second, row_of_third = (entry + len(image.kept[0].trace_id) for entry in entries[1:3])
    data = bytearray(image.files["record.db"])
    data[row_of_second], data[row_of_third] = data[row_of_third], data[row_of_second]
    (image.folder / "record.db").write_bytes(data)
    assert len(damage.look(image).refused) == 2


def numbers_in_index(image: damage.Image, name: str) -> list[range]:
    """The bytes of each entry of an index, in its order: its length, the types of its columns, and their values."""
    start, stop = page_of(image, name)
    page = image.files["record.db"][start:stop]
    cells = (int.from_bytes(page[8 + 2 * at : 10 + 2 * at], "big") for at in range(int.from_bytes(page[3:5], "big")))
    return [range(start + cell, start + cell + 1 + page[cell]) for cell in cells]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("index", ["sqlite_autoindex_entries_1", "decision_by_seq"])
@pytest.mark.parametrize("cells", ["last", pytest.param("all", marks=pytest.mark.torture)])
def test_an_index_whose_numbers_are_out_of_order_is_read_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: str, cells: str
) -> None:
    """Entries are read a page at a time: a page that seems to end before it began would be read for ever."""
    monkeypatch.setattr(sql_store, "_PAGE", 4)
    image = damage.make(tmp_path / "store", checkpointed=True)
    flips = 0
    leaked: Counter[str] = Counter()
    found = numbers_in_index(image, index)
    for at in (at for cell in (found if cells == "all" else found[-1:]) for at in list(cell)[:8]):
        for value in {0, 1, 2, 8, 13} - {image.files["record.db"][at]}:
            image.damage("record.db", at, image.files["record.db"][at] ^ value)
            leaked[judged(image, at, lambda at, seen: "")] += 1
            flips += 1
    print(f"\n{index}: {flips:,} flips")
    assert leaked == {"": flips}, leaked


def page_of(image: damage.Image, name: str) -> tuple[int, int]:
    """Where the root page of a table or index begins and ends."""
    with contextlib.closing(sqlite3.connect(image.folder / "record.db")) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    return (page - 1) * size, page * size


def test_a_column_whose_type_was_changed_is_damage_and_no_error_of_another_kind(tmp_path: Path) -> None:
    """The types of a row's columns stand before its values; a flip turns bytes into text, or a number into nothing."""
    image = damage.make(tmp_path / "store", checkpointed=True)
    row = image.files["record.db"].index(b"result" + image.kept[0].trace_id.encode())
    leaked: list[str] = []
    for at in range(row - 32, row):
        image.damage("record.db", at, 1)
        leaked += filter(None, [judged(image, at, lambda at, seen: "")])
    assert not leaked, leaked


def test_a_damaged_schema_is_an_error_of_ours_and_the_original_comes_back(tmp_path: Path) -> None:
    """SQLite quotes the damaged text in its message, and that need not be text any more."""
    image = damage.make(tmp_path / "store", checkpointed=True)
    leaked: list[str] = []
    for table in (b"CREATE TABLE entries", b"CREATE TABLE tombstones", b"CREATE UNIQUE INDEX result_by_trace"):
        for at in (2, 9, 15):
            image.damage("record.db", image.files["record.db"].index(table) + at, 0x80)
            leaked += filter(None, [judged(image, at, lambda at, seen: "")])
            with opened(str(image.folder)) as store:
                leaked += filter(None, [kept_in_trouble(Session("one", store=store))])
    assert not leaked, leaked


def kept_in_trouble(session: Session) -> str:
    """What `keep` raises though it should not; nothing if it kept, or gave the original back."""
    try:
        Keeper(session).keep("iterator", BLOB)
    except Exception as error:
        return f"{type(error).__name__} leaked from keep: {error}"
    return ""
