"""A whole record in one file and back: while others write, from any back end to any other, and never half of it."""

import base64
import gzip
import hashlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.errors import Damaged, KeepwholeError, NotFound, UsageError
from keepwhole.store.protocol import SessionInfo, Store
from keepwhole.store.verify import verify
from keepwhole.transfer.backup import Backup, compressed
from keepwhole.transfer.restore import restore
from tests.build import NOON, draft, opened
from tests.contracts.store_contract import filled
from tests.torture import nursery
from tests.transfer.test_copy import compared, eventful, told, tombs


def backed_up(store: Store) -> bytes:
    return b"".join(compressed(Backup(store).lines()))


def restored(store: Store, data: bytes, **options: Any) -> Any:
    return restore(store, io.BytesIO(data), **options)


class Pipe(io.BytesIO):
    """A stream that can be read once."""

    def seekable(self) -> bool:
        return False


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Store]:
    store = SqliteStore(str(tmp_path / "target"))
    yield store
    store.close()


@pytest.fixture
def source() -> Store:
    store = MemoryStore()
    eventful(store)
    return store


def test_a_backup_brings_everything_back(pair: tuple[Store, Store]) -> None:
    source, target = pair
    eventful(source)
    backup = Backup(source)
    done = restored(target, b"".join(compressed(backup.lines())))
    assert (done.head, done.sessions, done.entries) == (backup.head, backup.sessions, backup.entries)
    assert backup.left_out == []
    assert compared(source, target).differences == []
    assert told(target) == told(source)
    assert tombs(target) == tombs(source)
    for info in source.sessions():
        assert verify(target, info.name) == verify(source, info.name)


def test_what_was_kept_before_the_clock_was_set_comes_back(pair: tuple[Store, Store]) -> None:
    """A machine whose clock has no battery, in a zone or an emulator where that is before 1970."""
    source, target = pair
    source.open_session(SessionInfo(name="early", created_at=-90_000))
    source.append("early", [draft(source, "one", at=-80_000), draft(source, "two", at=5)])
    source.end("early", -70_000)
    source.open_session(SessionInfo(name="gone", created_at=-60_000))
    source.append("gone", [draft(source, "three", at=-50_000)])
    source.purge("gone", -40_000)
    restored(target, backed_up(source))
    assert compared(source, target).differences == []
    assert told(target) == told(source)
    assert tombs(target) == tombs(source)


def test_a_backup_can_go_through_a_pipe(source: Store, target: Store) -> None:
    restore(target, Pipe(backed_up(source)))
    assert compared(source, target).differences == []


def test_an_empty_record_is_backed_up_and_restored(target: Store) -> None:
    assert restored(target, backed_up(MemoryStore()))[:2] == (0, 0)
    assert target.sessions() == []


def test_a_restore_of_some_sessions_leaves_out_the_others(source: Store, target: Store) -> None:
    restored(target, backed_up(source), only=["ended", "gone"])
    assert [info.name for info in target.sessions()] == ["ended"]
    assert [stone.name for stone in target.tombstones()] == ["gone"]
    with pytest.raises(NotFound):
        restored(target, backed_up(source), only=["nobody"])


def test_a_restore_that_was_stopped_goes_on(source: Store, target: Store) -> None:
    seen: list[int] = []

    def pull(entry: Any) -> None:
        seen.append(entry.seq)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restored(target, backed_up(source), on_entry=pull)
    assert compared(source, target).differences != []
    restored(target, backed_up(source))
    assert compared(source, target).differences == []
    assert told(target) == told(source)


def test_sessions_that_are_not_the_same_are_named_and_nothing_is_changed(source: Store, target: Store) -> None:
    filled(target)
    before = verify(target, "work")
    with pytest.raises(UsageError, match=r"`work`.*--into"):
        restored(target, backed_up(source))
    assert [info.name for info in target.sessions()] == ["work"]
    assert verify(target, "work") == before


def test_a_session_that_went_on_since_is_not_taken_back(source: Store, target: Store) -> None:
    data = backed_up(source)
    restored(target, data)
    Session("work", store=target).keep("note", None, "since then")
    with pytest.raises(UsageError, match="`work`: it continues here"):
        restored(target, data)


def test_a_restore_erases_nothing(source: Store, target: Store) -> None:
    restored(target, backed_up(source))
    source.purge("work", NOON)
    with pytest.raises(UsageError, match="`work`: it was erased"):
        restored(target, backed_up(source))
    assert verify(target, "work").entries > 0


@pytest.mark.parametrize("is_pipe", [False, True], ids=["file", "pipe"])
def test_a_session_that_was_erased_and_begun_again_where_the_backup_was_made_is_refused(
    source: Store, target: Store, is_pipe: bool
) -> None:
    restored(target, backed_up(source))
    source.purge("work", NOON)
    filled(source)
    data, before = backed_up(source), verify(target, "work")
    why = "`work`: it has entries that were erased where the backup was made"
    with pytest.raises(UsageError, match=why):
        restore(target, Pipe(data) if is_pipe else io.BytesIO(data))
    assert verify(target, "work") == before


def test_a_tombstone_that_is_here_already_stays_as_it_is(source: Store, target: Store) -> None:
    data = backed_up(source)
    restored(target, data)
    opened(target, "gone")
    target.purge("gone", NOON + 9)
    before = tombs(target)
    restored(target, data)
    assert tombs(target) == before
    assert ("gone", NOON + 9) in [(name, at) for name, _, _, at in before]


def test_five_refused_sessions_are_named_and_the_others_counted(target: Store) -> None:
    for count in (5, 7):
        source = MemoryStore()
        for number in range(count):
            for store in (source, target):
                name = opened(store, f"{count}-{number}")
                store.append(name, [draft(store, f"{number} of {id(store)}")])
        with pytest.raises(UsageError, match="differs") as refused:
            restored(target, backed_up(source))
        assert str(refused.value).count("entry 1 differs") == 5
        assert ("and 2 more" in str(refused.value)) is (count == 7)
        assert "more)" not in str(refused.value) or count == 7


def test_a_session_that_began_again_since_does_not_meet_its_own_tombstone(source: Store, target: Store) -> None:
    data = backed_up(source)
    restored(target, data)
    Session("gone", store=target).keep("note", None, "again")
    restored(target, data)
    assert verify(target, "gone").entries == 1


def test_what_was_erased_since_stays_erased_unless_it_is_asked_for(source: Store, target: Store) -> None:
    data = backed_up(source)
    restored(target, data)
    for name in ("work", "reborn"):
        target.purge(name, NOON)
    assert set(restored(target, data).kept_erased) == {"work", "reborn"}
    assert {info.name for info in target.sessions()}.isdisjoint({"work", "reborn"})
    restored(target, data, erased=True)
    assert compared(source, target).differences == []
    assert told(target) == told(source)


def test_a_cut_or_changed_backup_is_noticed_and_nothing_of_it_stays(source: Store, target: Store) -> None:
    data = backed_up(source)
    chance = random.Random(7)
    places = [0, 1, 11, len(data) - 9, len(data) - 1, *(chance.randrange(len(data)) for _ in range(25))]
    for at in places:
        with pytest.raises(KeepwholeError):
            restored(target, data[:at])
        changed = bytearray(data)
        changed[at] ^= 1 << chance.randrange(8)
        try:
            restored(target, bytes(changed))
        except KeepwholeError:
            assert target.sessions() == []
            assert target.tombstones() == []
        else:  # a bit without meaning, in the header of gzip or between its blocks
            assert gzip.decompress(bytes(changed)) == gzip.decompress(data)
            break


def test_a_backup_that_was_changed_and_compressed_again_is_refused(source: Store, target: Store) -> None:
    lines = altered(list(Backup(source).lines()), "session", setting("session", "agent", to="somebody else"))
    with pytest.raises(Damaged, match="cut off or changed"):
        restored(target, gzip.compress(b"".join(lines), 1))
    assert target.sessions() == []


def test_a_pipe_that_is_cut_leaves_whole_sessions_alone(source: Store, target: Store) -> None:
    data = backed_up(source)
    for part in (3, 2):
        with pytest.raises(Damaged):
            restore(target, Pipe(data[: len(data) * (part - 1) // part]))
        for info in target.sessions():
            assert verify(target, info.name) == verify(source, info.name)
    restored(target, data)
    assert compared(source, target).differences == []


def test_a_session_that_cannot_be_read_is_left_out_and_named(tmp_path: Path, target: Store) -> None:
    source = SqliteStore(str(tmp_path / "source"))
    filled(source)
    opened(source, "bad")
    source.append("bad", [draft(source, b"fine"), draft(source, b"b" * 100_000)])
    next(path for path in (tmp_path / "source" / "blobs").rglob("?" * 32) if path.stat().st_size == 100_000).unlink()
    backup = Backup(source)
    data = b"".join(compressed(backup.lines()))
    assert [name for name, _ in backup.left_out] == ["bad"]
    for file in (io.BytesIO(data), Pipe(data)):
        restore(target, file)
        assert [info.name for info in target.sessions()] == ["work"]
        assert target.tombstones() == []
    source.close()


@pytest.mark.parametrize("again", [False, True], ids=["gone", "begun again"])
def test_a_session_erased_while_it_is_backed_up_is_left_out(again: bool, tmp_path: Path, target: Store) -> None:
    source = SqliteStore(str(tmp_path / "source"))
    filled(source, "one")
    filled(source, "two")
    backup = Backup(source)
    lines: list[bytes] = []
    for line in backup.lines():
        lines.append(line)
        if line.startswith(b'{"keepwhole":1,"session":{"name":"two"'):
            source.purge("two", NOON)
            if again:
                filled(source, "two")
    assert [name for name, _ in backup.left_out] == ["two"]
    restored(target, b"".join(compressed(lines)))
    assert [info.name for info in target.sessions()] == ["one"]
    source.close()


# Files that Keepwhole did not write


def packed(lines: list[bytes]) -> bytes:
    """Lines as a backup with a correct digest."""
    body = b"".join(lines[:-1])
    trailer = json.loads(lines[-1])
    trailer["trailer"]["digest"] = hashlib.sha256(body).hexdigest()
    return gzip.compress(body + json.dumps(trailer, separators=(",", ":")).encode() + b"\n", 1)


def altered(lines: list[bytes], kind: str, change: Callable[[Any], None]) -> list[bytes]:
    """The lines with the first record of a kind changed."""
    at = next(
        number
        for number, line in enumerate(lines)
        if line.startswith(b'{"%s"' % kind.encode()) or kind.encode() in line[:24]
    )
    record = json.loads(lines[at])
    change(record)
    return [*lines[:at], json.dumps(record).encode() + b"\n", *lines[at + 1 :]]


def setting(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(record: Any) -> None:
        for key in path[:-1]:
            record = record[key]
        record[path[-1]] = to

    return change


def in_header(**fields: Any) -> Callable[[Any], None]:
    def change(record: Any) -> None:
        header = json.loads(record["entry"]["header"])
        record["entry"]["header"] = json.dumps({**header, **fields}, separators=(",", ":"))

    return change


HOSTILE: list[tuple[str, Callable[[Any], None]]] = [
    ("session", setting("session", "name", to="../../etc/passwd")),
    ("session", setting("session", "name", to=5)),
    ("session", setting("session", "name", to="x" * 1_000)),
    ("session", setting("session", "agent", to=["a"])),
    ("session", setting("session", "created_at", to=10**40)),
    ("session", setting("session", "created_at", to=1e400)),
    ("session", setting("session", "created_at", to="now")),
    ("session", setting("session", "ended_at", to=-(10**30))),
    ("session", setting("after", to=[10**30, "00" * 32])),
    ("session", setting("after", to=[-1, "00" * 32])),
    ("session", setting("after", to=[3, "00"])),
    ("session", setting("after", to="ab")),
    ("session", setting("keepwhole", to=2)),
    ("tombstone", setting("tombstone", "name", to="../up")),
    ("tombstone", setting("tombstone", "seq", to=10**30)),
    ("tombstone", setting("tombstone", "seq", to=True)),
    ("tombstone", setting("tombstone", "chain", to="zz")),
    ("tombstone", setting("tombstone", to=None)),
    ("entry", setting("entry", to=[])),
    ("entry", setting("entry", "chain", to="00" * 32)),
    ("entry", setting("entry", "header", to="{}")),
    ("entry", setting("entry", "header", to="[" * 100_000)),
    ("entry", in_header(at=10**30)),
    ("entry", in_header(at="late")),
    ("entry", in_header(trace_id=7)),
    ("entry", in_header(trace_id="a\x00b")),
    ("entry", in_header(trace_id="\ud800")),
    ("entry", in_header(body=[10**30, 0, 0, "\n", "utf-8", ""])),
    ("entry", in_header(body=["5", 0, 0, "\n", "utf-8", ""])),
    ("entry", in_header(unknown=1)),
    ("body", setting("body", to="*not base64*")),
    ("body", setting("body", to=5)),
    ("body", setting("body", to=base64.b64encode(b"x" * 200_000).decode())),
    ("end", setting("end", "entries", to=0)),
    ("end", setting("end", "head", to="")),
    ("backup", setting("keepwhole", to=2)),
    ("backup", setting("backup", to=None)),
]


@pytest.mark.parametrize(("kind", "change"), HOSTILE)
def test_a_hostile_backup_raises_a_keepwhole_error_and_leaves_nothing(
    kind: str, change: Callable[[Any], None], target: Store
) -> None:
    source = MemoryStore()
    filled(source)
    filled(source, "gone")
    source.purge("gone", NOON)
    lines = altered(list(Backup(source).lines()), kind, change)
    if (kind, change) == HOSTILE[-1]:
        restored(target, packed(lines))  # its description is only for people
        return
    for file in (io.BytesIO(packed(lines)), Pipe(packed(lines))):
        with pytest.raises(KeepwholeError):
            restore(target, file)
        assert target.sessions() == []
        assert not os.path.exists(os.path.join(os.path.dirname(str(target)), "etc"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"\x1f\x8b",
        gzip.compress(b"", mtime=0),
        gzip.compress(b"{}\n", mtime=0),
        gzip.compress(b"[1]\n", mtime=0),
    ],
)
def test_what_is_no_backup_is_refused(data: bytes, target: Store) -> None:
    with pytest.raises(KeepwholeError):
        restored(target, data)


def test_a_session_cannot_be_in_a_backup_twice(target: Store) -> None:
    source = MemoryStore()
    filled(source)
    lines = list(Backup(source).lines())
    with pytest.raises(Damaged, match="twice"):
        restored(target, packed([*lines[:-1], *lines[1:-1], lines[-1]]))
    assert target.sessions() == []


# While others write


def backed_up_under_load(folder: Path, rounds: int) -> None:
    """Sixteen processes write and purge while backups are made; each is restored and compared with its own heads."""
    with nursery.place(folder) as here:
        writers = nursery.start(here, "crowd", writers=16, seconds=rounds * 0.5 + 1, seed=rounds)
        try:
            for number in range(rounds):
                store, target = SqliteStore(here.store), SqliteStore(str(folder / f"restored-{number}"))
                while not any(info.entries for info in store.sessions()):
                    time.sleep(0.01)
                backup = Backup(store)
                data = b"".join(compressed(backup.lines()))
                done = restored(target, data)
                assert (done.head, done.entries) == (backup.head, backup.entries)
                assert done.entries > 0
                for info in target.sessions():
                    report = verify(target, info.name)
                    assert report.whole
                    if report.entries and not info.name.startswith("gone-"):
                        row = store.entry(info.name, report.entries)
                        assert row is not None
                        assert row.chain.hex() == report.head
                store.close()
                target.close()
        finally:
            writers.communicate(timeout=120)
        assert not here.errors(), here.errors()[0]


def test_a_backup_under_the_load_of_sixteen_writers_comes_back_equal(tmp_path: Path) -> None:
    backed_up_under_load(tmp_path, 3)


@pytest.mark.torture
def test_a_hundred_backups_under_load_come_back_equal(tmp_path: Path) -> None:
    for part in range(25):
        folder = tmp_path / f"{part}"
        folder.mkdir()
        backed_up_under_load(folder, 4)
        shutil.rmtree(folder)


def test_a_backup_and_its_restore_take_little_memory(tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "from keepwhole import SqliteStore\n"
        "from keepwhole.transfer.backup import Backup, compressed\n"
        "from keepwhole.store.durable import write_file\n"
        "from keepwhole.transfer.restore import restore\n"
        "source, target, file = SqliteStore(sys.argv[1]), SqliteStore(sys.argv[2]), sys.argv[3]\n"
        "source.sessions(), target.sessions()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "write_file(file, compressed(Backup(source).lines()), 0o600)\n"
        "restore(target, open(file, 'rb'))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    source = SqliteStore(str(tmp_path / "source"))
    opened(source)
    source.append("s", [draft(source, (b"%09d\n" % number * 1_000 for number in range(2_000)))])
    source.close()
    paths = [str(tmp_path / name) for name in ("source", "target", "file")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *paths],
        env=nursery.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 24_000
