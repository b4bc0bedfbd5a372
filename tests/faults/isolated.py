"""Scenarios that need a process of their own, because they change what the process may do.

`python -m tests.faults.isolated NAME FOLDER`; each checks by itself and fails with a traceback.
"""

import importlib
import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from keepwhole import Session, SqliteStore
from keepwhole.store.sqlite.database import connect
from keepwhole.store.sqlite.schema import migrate, scripts
from tests.faults.outputs import BLOB, INLINE, KINDS, SIZES, Keeper, descriptors, unfinished_files
from tests.torture import migration
from tests.torture.nursery import environment

FILE_LIMITS = (4_096, 65_536, 150_000, 1_200_000)
FREE_DESCRIPTORS = range(10)


@contextmanager
def limited(what: int, value: int) -> Iterator[None]:
    """A soft limit while the block runs."""
    soft, hard = resource.getrlimit(what)
    resource.setrlimit(what, (value, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (soft, hard))


def files_may_not_grow(folder: str) -> None:
    """A disk that is full as a file-size limit shows it, before the store exists and after."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    keeper = Keeper(Session("full", store=SqliteStore(folder)))
    with limited(resource.RLIMIT_FSIZE, 0):
        keeper.keep_every_kind()
    assert keeper.refused == len(KINDS) * len(SIZES)
    assert keeper.keep("iterator", BLOB)
    for limit in FILE_LIMITS:
        with limited(resource.RLIMIT_FSIZE, limit):
            keeper.keep_every_kind()
            keeper.check()
        assert unfinished_files(folder) == []
        assert keeper.keep("pipe", BLOB), "writing did not resume"
        assert keeper.keep("str", INLINE), "writing did not resume"
    keeper.check()


def the_first_trouble_has_no_descriptor(folder: str) -> None:
    """Whatever is loaded only in trouble cannot be loaded any more."""
    keeper = Keeper(Session("scarce", store=SqliteStore(folder)))
    assert keeper.keep("iterator", BLOB)
    with few_descriptors(0):
        assert not keeper.keep("iterator", BLOB)


def descriptors_run_out(folder: str) -> None:
    """Every number of free descriptors from none to enough."""
    importlib.import_module("logging")
    keeper = Keeper(Session("scarce", store=SqliteStore(folder)))
    assert keeper.keep("iterator", BLOB)
    before = descriptors()
    for free in FREE_DESCRIPTORS:
        for kind in ("str", "bytes", "iterator"):
            for size in (INLINE, BLOB):
                with few_descriptors(free):
                    keeper.keep(kind, size)
        assert keeper.keep("iterator", BLOB), f"did not recover from {free} free descriptors"
        assert descriptors() == before, f"with {free} free, {descriptors() - before} were left open"
    keeper.check()


def descriptors_run_out_before_the_store_is_open(folder: str) -> None:
    """The same, each time with a store that was never opened."""
    importlib.import_module("logging")
    for free in FREE_DESCRIPTORS:
        keeper = Keeper(Session(f"scarce-{free}", store=SqliteStore(f"{folder}-{free}")))
        with few_descriptors(free):
            keeper.keep("str", BLOB)
            keeper.keep("iterator", BLOB)
            keeper.keep("bytes", INLINE)
        assert keeper.keep("iterator", BLOB), f"did not recover from {free} free descriptors"
        keeper.check()


def descriptors_come_back(folder: str) -> None:
    """What fails gives back every descriptor it took."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    keeper = Keeper(Session("tidy", store=SqliteStore(folder)))
    assert keeper.keep("iterator", BLOB)
    before = descriptors()
    with limited(resource.RLIMIT_FSIZE, 0):
        for kind in ("str", "bytes", "iterator", "pipe"):
            for size in SIZES:
                keeper.keep(kind, size)
                assert descriptors() == before, f"{kind} of {size:,}: {descriptors() - before} left open"


def a_migration_is_killed(folder: str) -> None:
    """A migration of `store` is killed after some steps of SQLite's machine, then done again, for many numbers."""
    store, copy = os.path.join(folder, "store"), os.path.join(folder, "copy")
    path = os.path.join(copy, "record.db")
    before = migration.state(os.path.join(store, "record.db"))
    shutil.copytree(store, copy)
    steps = _migrate(path)
    for number in range(1, steps, steps // 12):
        shutil.rmtree(copy)
        shutil.copytree(store, copy)
        assert _migrate_in_a_child(path, number) == signal.SIGKILL
        assert migration.check(path, before) in (migration.OLD, migration.NEW)
        assert _migrate_in_a_child(path) == 0, "a killed migration cannot be done again"
        assert migration.check(path, before) == migration.NEW


def _migrate(path: str, dies_at: int = 0) -> int:
    """Migrate, and die at this step of SQLite's machine if it is not 0; how many steps it took."""
    connection, steps = connect(path), itertools.count(1)

    def step() -> None:
        if next(steps) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    connection.set_progress_handler(step, 1)
    migrate(connection, path, [*scripts(), migration.ADDED])
    connection.close()
    return next(steps)


def _migrate_in_a_child(path: str, dies_at: int = 0) -> int:
    pid = os.fork()
    if pid == 0:
        _migrate(path, dies_at)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


@contextmanager
def few_descriptors(free: int) -> Iterator[None]:
    """Only `free` descriptors are left while the block runs."""
    taken: list[int] = []
    highest = max(map(int, os.listdir("/proc/self/fd")))
    with limited(resource.RLIMIT_NOFILE, highest + free + 2):
        try:
            while True:
                taken.append(os.dup(0))
        except OSError:
            pass
        for _ in range(free):
            os.close(taken.pop())
        try:
            yield
        finally:
            for fd in taken:
                os.close(fd)


SCENARIOS: dict[str, Callable[[str], None]] = {
    scenario.__name__: scenario
    for scenario in (
        files_may_not_grow,
        the_first_trouble_has_no_descriptor,
        descriptors_run_out,
        descriptors_run_out_before_the_store_is_open,
        descriptors_come_back,
        a_migration_is_killed,
    )
}


def run(scenario: Callable[[str], None], folder: str) -> None:
    """Run a scenario in a process of its own; `AssertionError` with its traceback where it failed."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tests.faults.isolated", scenario.__name__, folder],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]


if __name__ == "__main__":
    SCENARIOS[sys.argv[1]](sys.argv[2])
