"""After a sync that failed nothing is acknowledged until the disk was tried again; no process has to be restarted."""

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.store.sqlite import database
from tests.faults.outputs import BLOB, INLINE, Keeper
from tests.torture import straced
from tests.torture.checks import opened

SCRIPT = """
import json, sys
from keepwhole import Session, SqliteStore
from keepwhole.store.sqlite import database
database.PAUSE_AFTER_FAILURE = float(sys.argv[2])
store = SqliteStore(sys.argv[1])
session = Session("s", store=store)
told = []
for number in range(12):
    kept = session.keep("t", None, f"result {number}")
    told.append([kept.problem is None, kept.trace_id, store.trouble()])
print(json.dumps(told))
"""


def fail(fd: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def run_with_failing_sync(folder: Path, pause: float, when: str) -> list[list[object]]:
    straced.need_strace()
    inject = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=fdatasync:error=EIO:when={when}"]
    command = [*inject, sys.executable, "-c", SCRIPT, str(folder), str(pause)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    with opened(str(folder)) as store:
        session = Session("s", store=store)
        for number, (is_stored, trace_id, _) in enumerate(told):
            assert not is_stored or session.recall(trace_id) == f"result {number}"
        assert session.verify().whole
    return told


def test_a_connection_whose_sync_failed_acknowledges_nothing_more(tmp_path: Path) -> None:
    told = run_with_failing_sync(tmp_path, pause=3_600, when="16")
    stored = [stored for stored, _, _ in told]
    first = stored.index(False)
    assert not any(stored[first:])
    assert all("disk" in str(trouble) for _, _, trouble in told[first:])


def test_the_disk_is_tried_again_and_the_same_process_goes_on(tmp_path: Path) -> None:
    told = run_with_failing_sync(tmp_path, pause=0, when="16")
    assert [stored for stored, _, _ in told].count(False) == 1
    assert told[-1][2] is None


def test_a_disk_that_goes_on_failing_is_not_believed(tmp_path: Path) -> None:
    told = run_with_failing_sync(tmp_path, pause=0, when="16+")
    stored = [stored for stored, _, _ in told]
    assert not any(stored[stored.index(False) :])


@pytest.mark.parametrize("size", [INLINE, BLOB])
def test_large_and_small_results_wait_for_the_same_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    with opened(str(tmp_path / "store")) as store:
        keeper = Keeper(Session("s", store=store))
        assert keeper.keep("iterator", BLOB)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            assert not keeper.keep("iterator", BLOB)
        assert not keeper.keep("iterator", size), "acknowledged on a disk that failed and was not tried again"
        assert "disk" in str(store.trouble())
        monkeypatch.setattr(database, "PAUSE_AFTER_FAILURE", 0.0)
        monkeypatch.setattr(store.database, "_retry_at", time.monotonic())
        assert keeper.keep("iterator", size)
        assert store.trouble() is None
        keeper.check()
