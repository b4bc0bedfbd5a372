"""Whatever the writing role calls, what others have on record is there, can be read, found and added to."""

import random
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepwhole import Session
from keepwhole.apps.cli.main import main
from keepwhole.errors import Damaged, KeepwholeError, NotStored
from keepwhole.store.protocol import Row, body_of
from keepwhole.store.verify import verify
from tests.build import NOON, draft, opened, stored_bytes
from tests.long_run import one_in
from tests.store.postgres.test_guarded import as_writer, ask, url

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres.address import address_of
from keepwhole.store.postgres.store import PostgresStore

__all__ = ["url"]

READ = {"sessions", "entries", "pieces", "endings", "tombstones", "record", "migrations", "passages", "indexed"}
LARGE = b"needle in " + b"x" * 1_200_000
SMALL, MIDDLE = b"a small needle", b"needle " + b"m" * 60_000
BIG = (0, 1, -1, 2, 64, 1_000_000, 1 << 52, (1 << 63) - 1, -(1 << 63))


class Victim(NamedTuple):
    """A session of somebody else, in a store of theirs."""

    store: PostgresStore
    rows: list[Row]

    def is_unharmed(self) -> None:
        """Every entry and body is there, found by search, and the session can be added to."""
        now = [row for row in self.store.rows("victim") if row.seq <= self.rows[-1].seq]
        assert now == self.rows
        assert [stored_bytes(self.store, row) for row in now] == [SMALL, MIDDLE, LARGE]
        found = {match.trace_id for match in self.store.search("victim", "needle")}
        assert {row.trace_id for row in self.rows} <= found
        assert self.store.passages("victim").is_all
        added = self.store.append("victim", [draft(self.store, b"one more")])
        assert added[0].seq > self.rows[-1].seq
        assert "victim" in {info.name for info in self.store.sessions()}
        opened(self.store, f"next {added[0].seq}")


@pytest.fixture
def victim(url: str, tmp_path: Path) -> Iterator[Victim]:
    store = PostgresStore(url, str(tmp_path / "victim"))
    opened(store, "victim")
    store.append("victim", [draft(store, data) for data in (SMALL, MIDDLE, LARGE)])
    yield Victim(store, list(store.rows("victim")))
    store.close()


@contextmanager
def writer(url: str) -> Generator[psycopg.Connection[Any]]:
    """A connection of the writing role that does as it likes."""
    address = address_of(as_writer(url))
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {address.schema}; SET lock_timeout = '2s'".encode())
        yield connection


def granted(connection: psycopg.Connection[Any]) -> dict[str, tuple[str, ...]]:
    """The functions that the role may call, with the types of their arguments."""
    query = (
        "SELECT p.proname, array(SELECT t::regtype::text FROM unnest(p.proargtypes) t) FROM pg_proc p "
        "WHERE p.pronamespace = current_schema()::regnamespace AND has_function_privilege(p.oid, 'EXECUTE')"
    )
    return {name: tuple(kinds) for name, kinds in connection.execute(query).fetchall()}


def test_the_writing_role_may_read_tables_and_call_functions_and_nothing_else(url: str) -> None:
    with writer(url) as connection:
        query = (
            "SELECT c.relname, r FROM pg_class c, unnest(%s::text[]) r "
            "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' "
            "AND CASE WHEN r IN ('DELETE', 'TRUNCATE', 'TRIGGER') THEN has_table_privilege(c.oid, r) "
            "ELSE has_any_column_privilege(c.oid, r) END"
        )
        rights = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"]
        found = set(connection.execute(query, (rights,)).fetchall())
        assert found == {(table, "SELECT") for table in READ}
        usage = (
            "SELECT count(*) FROM pg_sequences WHERE schemaname = current_schema() "
            "AND has_sequence_privilege(quote_ident(schemaname) || '.' || quote_ident(sequencename), 'USAGE, UPDATE')"
        )
        assert connection.execute(usage).fetchone() == (0,)
        functions = set(granted(connection))
    assert functions == set(CALLS)


def test_every_function_that_runs_as_the_owner_has_its_own_search_path(url: str) -> None:
    with writer(url) as connection:
        query = (
            "SELECT proname, proconfig FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND prosecdef"
        )
        found = dict(connection.execute(query).fetchall())
    assert {"append", "purge", "restart", "condemn", "remove", "secret", "index_passages"} <= set(found)
    own = f"search_path={address_of(url).schema}, pg_temp"
    assert {name: config for name, config in found.items() if own not in config} == {}


class Hostile:
    """Values that somebody who knows the victim's names and numbers would try."""

    def __init__(self, victim: Victim, seed: int) -> None:
        self._random = random.Random(seed)
        own = [row.blob for row in victim.rows if row.blob]
        number = victim.store.number_of("victim") or 0
        names = ["mine", "mine", "nobody", "", "x' OR true --", *own, *("@" + blob for blob in own), "f" * 32, None]
        numbers = [*BIG, number, None]
        self._by_kind: dict[str, Callable[[], Any]] = {
            "text": lambda: self._one(names),
            "bigint": lambda: self._one(numbers),
            "moment": lambda: self._one(numbers),
            "boolean": lambda: self._one([True, False, None]),
            "bytea": lambda: self._one([b"", b"\0" * 32, victim.rows[-1].chain, b"x" * 100, None]),
            "text[]": lambda: [self._one(names) for _ in range(self._random.randrange(4))],
            "bigint[]": lambda: [self._one(numbers) for _ in range(self._random.randrange(4))],
        }

    def _one(self, values: list[Any]) -> Any:
        return self._random.choice(values)

    def call(self, name: str, kinds: tuple[str, ...]) -> tuple[str, list[Any]]:
        """A call of a function with values of its types."""
        values: list[Any] = []
        places: list[str] = []
        for kind in kinds:
            if kind == "draft[]":
                fields = [
                    self._one(["result", "decision", "other", None]),
                    *(self._by_kind["text"](), self._by_kind["text"](), self._by_kind["bytea"]()),
                    *(self._by_kind["bigint"](), self._by_kind["bigint"]()),
                    *(self._by_kind["bytea"]() for _ in range(3)),
                    *(self._by_kind["text"](), self._by_kind["bytea"]()),
                ]
                values += fields
                places.append(f"ARRAY[ROW({', '.join(['%s'] * len(fields))})::draft]")
            else:
                values.append(self._by_kind[kind]())
                places.append(f"%s::{kind}")
        return f"SELECT * FROM {name}({', '.join(places)})", values


CALLS = {
    "append": "may add to any session, at its end",
    "add_forgotten": "adds hashes to any session, at its end",
    "next_chain": "computes",
    "open_session": "makes a session where there is none",
    "end_session": "notes an end",
    "put_piece": "adds to bodies that no entry has",
    "condemn": "takes what no entry has",
    "remove": "takes what no entry has",
    "purge": "takes a whole session, which is noted",
    "restart": "moves the beginning of an empty session",
    "index_passages": "adds to the index, in order",
    "newest": "reads",
    "removed_up_to": "reads",
    "secret": "draws",
}
"""Each function that is granted, with what it may do: whoever grants another one says so here, and it is tried too."""


def attack(url: str, victim: Victim, seed: int, times: int) -> int:
    """Call everything with hostile values, in every isolation; how many calls were not refused."""
    done = 0
    levels = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
    with writer(url) as connection:
        connection.execute("SELECT open_session('mine', 'me', 'here', 1, false)")
        hostile, functions = Hostile(victim, seed), sorted(granted(connection).items())
        choose = random.Random(seed)
        for _ in range(times):
            query, values = hostile.call(*choose.choice(functions))
            with suppress(psycopg.Error):
                connection.execute(f"BEGIN ISOLATION LEVEL {choose.choice(levels)}".encode())
                connection.execute(query.encode(), values)
                connection.execute("COMMIT")
                done += 1
            connection.execute("ROLLBACK")
    return done


@pytest.mark.parametrize("seed", one_in(20, [(seed,) for seed in range(60)]))
def test_no_call_with_any_values_harms_the_session_of_another(url: str, victim: Victim, seed: int) -> None:
    assert attack(url, victim, seed, 400) > 20
    victim.is_unharmed()
    assert verify(victim.store, "victim").whole


def test_the_attack_is_noticed_where_a_right_is_granted_too_much(url: str, victim: Victim) -> None:
    ask(url, "GRANT INSERT ON entries TO keepwhole_writer")
    with writer(url) as connection:
        connection.execute(FORGED.encode(), ((1 << 63) - 1, None))
    with pytest.raises((KeepwholeError, AssertionError)):
        victim.is_unharmed()


FORGED = (
    "INSERT INTO entries (session, seq, kind, trace_id, at, stored, previous, header, digest, chain, blocks, blob) "
    "SELECT id, %s, 'result', 'trace_forged', 1, 1, '', '', '', '', '', %s FROM sessions WHERE name = 'victim'"
)
DRAFT = "ARRAY[ROW('result', %s, 'a', NULL, 1, 5, 'h', sha256(''), '', %s, NULL)::draft]"


@pytest.mark.parametrize("outside", [False, True], ids=["in the table", "outside"])
def test_a_row_with_anothers_body_cannot_be_made_and_a_purge_takes_only_ones_own(
    url: str, victim: Victim, tmp_path: Path, outside: bool
) -> None:
    store = PostgresStore(as_writer(url), str(tmp_path / "mine"), blobs=str(tmp_path / "shared"))
    opened(store, "theirs")
    store.append("theirs", [draft(store, LARGE)])
    row = next(store.rows("theirs")) if outside else victim.rows[-1]
    query = f"SELECT * FROM append('mine', 'm', false, false, 1000, NULL, NULL, {DRAFT})"
    with writer(url) as connection:
        connection.execute("SELECT open_session('mine', 'me', 'here', 1, false)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute(query.encode(), ("trace_mine", row.blob))
    store.purge("mine", NOON)
    victim.is_unharmed()
    assert stored_bytes(store, next(store.rows("theirs"))) == LARGE
    store.close()


def test_a_body_on_its_way_that_another_takes_and_purges_gets_no_entry(url: str, victim: Victim) -> None:
    """The purge deletes the body; the entry that comes after it is refused, so nothing is acknowledged without one."""
    late = draft(victim.store, LARGE)
    with writer(url) as connection:
        connection.execute("SELECT open_session('mine', 'me', 'here', 1, false)")
        query = f"SELECT * FROM append('mine', 'm', false, false, 1000, NULL, NULL, {DRAFT})"
        connection.execute(query.encode(), ("trace_mine", late.body.blob))
        connection.execute("SELECT * FROM purge('mine', 1)")
    with pytest.raises(NotStored, match="given up"):
        victim.store.append("victim", [late])
    victim.is_unharmed()


def test_a_forged_entry_spoils_nothing_but_itself(url: str, victim: Victim) -> None:
    with writer(url) as connection:
        query = f"SELECT * FROM append('victim', 'm', false, false, 1000000000, NULL, NULL, {DRAFT})"
        connection.execute(query.encode(), ("trace_forged", "f" * 32))
    victim.is_unharmed()
    assert {finding.seq for finding in verify(victim.store, "victim").findings} == {4}
    session = Session("victim", store=victim.store)
    shown = session.keep("bash", None, "after it")
    assert session.recall(str(shown.trace_id)) == "after it"


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_an_old_snapshot_does_not_make_a_body_an_orphan(url: str, victim: Victim, level: str) -> None:
    late = draft(victim.store, LARGE)
    with writer(url) as connection:
        connection.execute(f"BEGIN ISOLATION LEVEL {level}; SELECT 1 FROM entries LIMIT 1".encode())
        victim.store.append("victim", [late])
        with pytest.raises(psycopg.errors.InvalidTransactionState):
            connection.execute("SELECT condemn(%s)", ([late.body.blob],))
    assert stored_bytes(victim.store, list(victim.store.rows("victim"))[-1]) == LARGE


def test_a_purge_by_itself_against_appends_leaves_nothing_behind(url: str, tmp_path: Path) -> None:
    store = PostgresStore(as_writer(url), str(tmp_path))
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            with suppress(KeepwholeError):  # there is no such session at the moment
                opened(store, "race")
                store.append("race", [draft(store, SMALL), draft(store, MIDDLE)])

    writers = [threading.Thread(target=write) for _ in range(3)]
    for one in writers:
        one.start()
    purged = 0
    with writer(url) as connection:
        while purged < 15:
            purged += len(connection.execute("SELECT * FROM purge('race', 1)").fetchall())
    over.set()
    for one in writers:
        one.join()
    with suppress(KeepwholeError):  # the last purge may have been after the last append
        store.purge("race", NOON)
    assert store.count_strays() == 0
    assert store.select("SELECT count(*) FROM pieces") == [(0,)]
    store.close()


def test_entries_without_a_session_are_counted_and_the_doctor_says_so(
    url: str, victim: Victim, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert victim.store.count_strays() == 0
    ask(url, "INSERT INTO purging VALUES ('x'); DELETE FROM sessions WHERE name = 'victim'; DELETE FROM purging")
    assert victim.store.count_strays() == 3
    monkeypatch.setenv("KEEPWHOLE_STORE", url)
    assert main(["doctor"]) == 1
    assert "no command finds: 3" in capfd.readouterr().out


def test_an_index_is_only_added_to_in_order_and_without_leaving_a_result_out(url: str, victim: Victim) -> None:
    number = victim.store.number_of("victim")
    refused: tuple[tuple[int, int, list[int], list[str]], ...] = (
        (0, 1_000_000, [64], ["x"]),
        (0, 3, [], []),
        (0, 3, [64, 128], ["x", "y"]),
        (0, 3, [64, 128, 192, 256], ["x"] * 4),
    )
    with writer(url) as connection:
        for after, last, numbers, terms in refused:
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                connection.execute("SELECT index_passages(%s, %s, %s, %s, %s)", (number, after, last, numbers, terms))
        victim.is_unharmed()
        for statement in ("UPDATE indexed SET up_to = 9", "DELETE FROM passages", "SELECT reindex('victim')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())
    ask(url, "UPDATE passages SET words = ''")
    assert len(victim.store.search("victim", "needle")) < 3
    ask(url, "SELECT reindex('victim')")
    victim.is_unharmed()


def test_nobody_chooses_a_secret(url: str, victim: Victim) -> None:
    with writer(url) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO secrets VALUES ('proxy', 'known')")
        drawn = connection.execute("SELECT secret('proxy')").fetchone()
    assert drawn == (victim.store.secret("proxy"),)
    assert len(victim.store.secret("proxy")) == 64
    assert victim.store.secret("proxy") != victim.store.secret("other")


def test_a_removal_is_noted_with_what_was_there(url: str, victim: Victim, tmp_path: Path) -> None:
    store = PostgresStore(as_writer(url), str(tmp_path / "writer"))
    store.purge("victim", NOON)
    stored = len(SMALL + MIDDLE + LARGE)
    address = address_of(url)
    with psycopg.connect(address.url) as owner:
        query = f"SELECT what, name, seq, entries, stored, chain, by FROM {address.schema}.removals"
        last = victim.rows[-1]
        assert owner.execute(query.encode()).fetchall() == [
            ("session", "victim", 3, 3, stored, last.chain, "keepwhole_writer")
        ]
    with pytest.raises(Damaged), victim.store.open(body_of(last)) as reader:
        reader.read()
    store.close()


def test_a_role_without_rights_cannot_hold_up_a_session(url: str, victim: Victim) -> None:
    """Locks that anybody in a database can take are not what an append waits for."""
    address = address_of(url)
    with psycopg.connect(address.url, autocommit=True) as stranger:
        stranger.execute("CREATE ROLE stranger LOGIN" if not _has_role(stranger) else "SELECT 1")
        stranger.execute("SET ROLE stranger")
        for key in (f"keepwhole/{address.schema}/session/victim", "session/victim", "victim"):
            stranger.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (key,))
        victim.is_unharmed()
        query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        assert stranger.execute(query).fetchone() == (0,)


def _has_role(connection: psycopg.Connection[Any]) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'stranger'").fetchone() is not None
