"""A record copied into another: the same hashes, from any back end to any other, interrupted and resumed anywhere."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.canonical.entry import Entry, parse_header
from keepwhole.errors import Damaged, NotFound, NotStored
from keepwhole.store.protocol import SessionInfo, Store
from keepwhole.store.verify import verify
from keepwhole.transfer.copy import Comparison, CopyStep, carry_out, compare, plan
from keepwhole.transfer.entry_writer import EntryWriter
from tests.build import NOON, draft, opened, stored_bytes
from tests.contracts.store_contract import filled
from tests.contracts.test_store_contract import made
from tests.torture.nursery import environment


def copied(source: Store, target: Store, *only: str) -> list[CopyStep]:
    """Carry out all steps of a copy."""
    steps = plan(source, target, only)
    for step in steps:
        carry_out(source, target, step)
    return steps


def compared(source: Store, target: Store, **options: Any) -> Comparison:
    return compare(source, target, [step.name for step in plan(source, target)], **options)


def verdicts(source: Store, target: Store) -> dict[str, str]:
    return {step.name: step.verdict for step in plan(source, target)}


def told(store: Store) -> list[SessionInfo]:
    return sorted(store.sessions(), key=lambda info: info.name)


def tombs(store: Store) -> list[tuple[str, int, bytes, int]]:
    return sorted((stone.name, stone.seq, stone.chain, stone.at) for stone in store.tombstones())


def eventful(store: Store) -> None:
    """A record in which everything possible has happened."""
    filled(store)
    for name in ("ended", "gone", "reborn"):
        opened(store, name)
        store.append(name, [draft(store, name.encode()), draft(store, name.encode() * 10_000)])
    store.end("ended", NOON + 5)
    store.purge("gone", NOON + 1)
    store.purge("reborn", NOON + 2)
    Session("reborn", store=store).keep("note", None, "a second life")
    opened(store, "fleeting", ephemeral=True, agent="me", workspace="/here")
    store.append("fleeting", [draft(store, b"soon gone")])
    opened(store, "empty", agent="nobody")


@pytest.fixture
def records(tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Two records where it does not matter which back ends they have."""
    target = SqliteStore(str(tmp_path / "target"))
    yield MemoryStore(), target
    target.close()


def test_a_copy_has_everything_that_its_source_has(pair: tuple[Store, Store]) -> None:
    source, target = pair
    eventful(source)
    copied(source, target)
    assert compared(source, target).differences == []
    assert told(target) == told(source)
    assert tombs(target) == tombs(source)
    for info in source.sessions():
        assert verify(target, info.name) == verify(source, info.name)
        for row, other in zip(source.rows(info.name), target.rows(info.name), strict=True):
            assert (row.header, row.chain, row.trace_id, row.artifact_id) == (
                other.header,
                other.chain,
                other.trace_id,
                other.artifact_id,
            )
            assert stored_bytes(source, row) == stored_bytes(target, other)


def test_a_second_run_finds_nothing_to_do_and_a_third_copies_new_entries(pair: tuple[Store, Store]) -> None:
    source, target = pair
    eventful(source)
    copied(source, target)
    assert sum(step.entries for step in plan(source, target)) == 0
    Session("work", store=source).keep("note", None, "later")
    Session("new", store=source).keep("note", None, "later")
    assert [one.name for one in compared(source, target).differences] == ["work", "new"]
    assert sum(step.entries for step in copied(source, target)) == 2
    assert compared(source, target).differences == []


def test_one_session_can_be_copied_alone(records: tuple[Store, Store]) -> None:
    source, target = records
    filled(source)
    filled(source, "other")
    copied(source, target, "other")
    assert [info.name for info in target.sessions()] == ["other"]
    with pytest.raises(NotFound):
        plan(source, target, ["nobody"])


def test_an_empty_record_is_copied(records: tuple[Store, Store]) -> None:
    source, target = records
    assert copied(source, target) == []
    assert target.sessions() == []


class Cut(Exception):
    """The power was cut."""


def stopped_after(count: int) -> Any:
    """A callback for every entry that raises `Cut` at this one."""
    seen: list[int] = []

    def on_entry(entry: Entry) -> None:
        seen.append(entry.seq)
        if len(seen) == count:
            raise Cut

    return on_entry


def test_a_session_half_copied_goes_on_after_its_last_entry(records: tuple[Store, Store]) -> None:
    source, target = records
    opened(source)
    source.append("s", [draft(source, b"%d" % number) for number in range(600)])
    with pytest.raises(Cut):
        carry_out(source, target, plan(source, target)[0], stopped_after(300))
    (step,) = plan(source, target)
    assert (step.verdict, step.entries) == ("go on", 600 - 512)
    copied(source, target)
    assert compared(source, target).differences == []


def test_a_session_that_differs_is_named_and_nothing_of_it_is_changed(records: tuple[Store, Store]) -> None:
    source, target = records
    filled(source)
    filled(source, "fine")
    filled(target)
    before = verify(target, "work")
    copied(source, target)
    assert verdicts(source, target) == {"work": "differs", "fine": "go on"}
    found = compared(source, target).differences
    assert [one.name for one in found] == ["work"]
    assert "differs in the copy" in found[0].why
    assert verify(target, "work") == before


def test_sessions_that_were_erased_after_other_entries_are_not_the_same(records: tuple[Store, Store]) -> None:
    source, target = records
    for store in records:
        opened(store)
        store.append("s", [draft(store, f"of {id(store)}"), draft(store)])
        store.purge("s", NOON)
    opened(source)
    source.append("s", [draft(source)])
    (found,) = compare(source, target, ["s"]).differences
    assert found.why == "entry 2 differs in the copy"


def test_a_copy_that_has_gone_on_by_itself_is_left_alone(records: tuple[Store, Store]) -> None:
    source, target = records
    filled(source)
    copied(source, target)
    Session("work", store=target).keep("note", None, "only here")
    before = verify(target, "work")
    copied(source, target)
    assert verdicts(source, target) == {"work": "ahead"}
    assert "continues up to" in compared(source, target).differences[0].why
    assert verify(target, "work") == before


@pytest.mark.parametrize("reborn", [False, True], ids=["gone", "reborn"])
@pytest.mark.parametrize("partly", [False, True], ids=["whole", "part"])
def test_what_was_erased_in_the_source_is_erased_in_the_copy(
    records: tuple[Store, Store], reborn: bool, partly: bool
) -> None:
    source, target = records
    filled(source)
    copied(source, target)
    if partly:
        Session("work", store=source).keep("note", None, "never copied")
    source.purge("work", NOON)
    if reborn:
        Session("work", store=source).keep("note", None, "again")
    assert [one.name for one in compared(source, target).differences] == ["work"]
    assert verdicts(source, target) == {"work": "erase"}
    copied(source, target)
    assert compared(source, target).differences == []
    assert [row.chain for row in target.rows("work")] == [row.chain for row in source.rows("work")]
    assert tombs(target) == tombs(source)


def test_what_was_erased_in_the_copy_does_not_come_back(records: tuple[Store, Store]) -> None:
    source, target = records
    filled(source)
    copied(source, target)
    target.purge("work", NOON)
    (step,) = copied(source, target)
    assert step.is_kept_erased
    assert target.sessions() == []
    assert compared(source, target).differences == []
    Session("work", store=source).keep("note", None, "later")
    copied(source, target)
    assert [row.chain for row in target.rows("work")] == [row.chain for row in source.rows("work")][-1:]
    assert compared(source, target).differences == []


def test_a_session_that_only_the_copy_has_is_left_alone(records: tuple[Store, Store]) -> None:
    source, target = records
    filled(source)
    filled(target, "own")
    before = verify(target, "own")
    copied(source, target)
    assert verify(target, "own") == before


def test_a_tombstone_never_erases_a_session_that_went_on_after_it(records: tuple[Store, Store]) -> None:
    source, target = records
    filled(source)
    copied(source, target)
    source.purge("work", NOON)
    Session("work", store=target).keep("note", None, "only here")
    before = verify(target, "work")
    copied(source, target)
    assert verdicts(source, target) == {"work": "ahead"}
    assert verify(target, "work") == before


def test_an_unfinished_tombstone_is_finished(records: tuple[Store, Store]) -> None:
    source, target = records
    filled(source)
    stone = source.purge("work", NOON)
    opened(target, "work")
    target.restart("work", stone.seq, stone.chain)  # stopped here
    copied(source, target)
    assert target.sessions() == []
    assert tombs(target) == tombs(source)


def test_a_damaged_body_is_not_copied(tmp_path: Path) -> None:
    source, target = SqliteStore(str(tmp_path / "source")), MemoryStore()
    filled(source)
    for path in (tmp_path / "source" / "blobs").rglob("?" * 32):
        path.write_bytes(b"x" + path.read_bytes()[1:])
    with pytest.raises(Damaged):
        copied(source, target)
    copied_chains = [row.chain for row in target.rows("work")]
    assert copied_chains == [row.chain for row in source.rows("work")][: len(copied_chains)]
    source.close()


def test_a_changed_entry_in_the_copy_is_found_though_heads_are_equal(tmp_path: Path) -> None:
    import sqlite3

    source, target = MemoryStore(), SqliteStore(str(tmp_path))
    filled(source)
    copied(source, target)
    target.close()
    with sqlite3.connect(target.path) as connection:
        connection.execute("DROP TRIGGER entries_never_change")
        connection.execute(
            "UPDATE entries SET header = CAST(replace(header, 'read_file', 'reed_file') AS BLOB) WHERE seq < 5"
        )
    connection.close()
    assert compared(source, target, quick=True).differences == []
    assert [one.name for one in compared(source, target).differences] == ["work"]
    target.close()


def test_an_entry_is_not_added_where_the_session_has_gone_on(records: tuple[Store, Store]) -> None:
    source, target = records
    opened(source)
    source.append("s", [draft(source), draft(source)])
    opened(target)
    row = next(source.rows("s"))
    target.append("s", [draft(target)])
    with EntryWriter(target, "s", row.previous) as incoming:
        incoming.add(row.header, *parse_header(row.header, row.digest, row.blocks), row.chain, row.inline or b"")
        with pytest.raises(NotStored, match="Another process"):
            incoming.finish()
    assert len(list(target.rows("s"))) == 1


def test_bodies_are_copied_a_piece_at_a_time(tmp_path: Path) -> None:
    """Three times 20 MB through a process that takes less memory than one of them."""
    code = (
        "import resource, sys\n"
        "from keepwhole import SqliteStore\n"
        "from keepwhole.transfer.copy import carry_out, plan\n"
        "source, target = (SqliteStore(path) for path in sys.argv[1:])\n"
        "steps = plan(source, target)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for step in steps: carry_out(source, target, step)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    source = SqliteStore(str(tmp_path / "source"))
    opened(source)
    for _ in range(3):
        source.append("s", [draft(source, (b"%09d\n" % number * 1_000 for number in range(2_000)))])
    source.close()
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "source"), str(tmp_path / "target")],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 20_000


def killed_and_resumed(source: str, target: str) -> int:
    """Copy in processes that are killed at random moments, until one finishes; return how many were killed."""
    chance = random.Random(time.time_ns())
    command = [sys.executable, "-m", "keepwhole", "store", "copy", source, target, "--yes"]
    for killed in range(1_000):
        process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said, _ = process.communicate(timeout=chance.uniform(0.2, 0.8) + killed * 0.3)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            continue
        assert process.returncode == 0, said
        assert b"heads equal" in said
        return killed
    raise AssertionError("it never came to its end")


def address_of(store: Any) -> str:
    """The address of a record in PostgreSQL, its schema included."""
    return f"{store.address.url}&schema={store.address.schema}"


def lively(store: Store, sessions: int = 4) -> None:
    for number in range(sessions):
        opened(store, f"s{number}")
        for _ in range(2):
            bodies = [b"small" * 100, b"large" * 20_000, b"%d" % number, b"larger" * 80_000]
            store.append(f"s{number}", [draft(store, body) for body in bodies * 5])
    store.end("s1", NOON)
    store.purge("s2", NOON)


@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("sqlite", 1),
        pytest.param("sqlite", 100, marks=pytest.mark.torture),
        pytest.param("postgres", 100, marks=pytest.mark.torture),
    ],
)
def test_a_copy_that_is_killed_again_and_again_comes_out_equal(kind: str, kills: int, tmp_path: Path) -> None:
    source = SqliteStore(str(tmp_path / "source"))
    lively(source)
    killed = rounds = 0
    while killed < kills and rounds < kills:
        folder = tmp_path / f"{rounds}"
        target = made(kind, folder)
        address = str(folder) if kind == "sqlite" else address_of(target)
        killed, rounds = killed + killed_and_resumed(source.folder, address), rounds + 1
        assert compared(source, target).differences == []
        for info in source.sessions():
            assert verify(target, info.name).whole
        target.close()
    print(f"\n{killed} kills in {rounds} copies")
    source.close()
