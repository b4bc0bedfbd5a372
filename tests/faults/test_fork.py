"""A process that uses the record forks: what either of them keeps is kept, whoever closes first."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepwhole import Session
from tests.torture.checks import opened
from tests.torture.nursery import environment

FORKING = """
import os, signal, sys
from keepwhole import Session, SqliteStore
folder, who = sys.argv[1], sys.argv[2]
parent = Session("shared", store=SqliteStore(folder))
assert parent.keep("tool", None, "kept before the fork").problem is None
closed, told = os.pipe()
ready, says = os.pipe()
pid = os.fork()
if pid == 0:
    os.close(told)
    session = parent if who == "the same" else Session("shared", store=SqliteStore(folder))
    assert session.keep("tool", None, "kept by the child").problem is None
    os.write(says, b"1")
    os.read(closed, 1)
    for number in range(5):
        assert session.keep("tool", None, f"kept by the child after the parent closed {number}").problem is None
    os.kill(os.getpid(), signal.SIGKILL)
os.close(closed)
assert parent.keep("tool", None, "kept by the parent").problem is None
os.read(ready, 1)
parent.store.close()
os.close(told)
assert os.waitpid(pid, 0)[1] == signal.SIGKILL
"""

DYING = """
import os, signal, sys
from keepwhole import Session, SqliteStore
store = SqliteStore(sys.argv[1])
assert Session("shared", store=store).keep("tool", None, "kept before the fork").problem is None
if os.fork() == 0:
    signal.pause()
with store.database.turnstile.held():
    os.kill(os.getpid(), signal.SIGKILL)
"""
"""Dies in the middle of a commit, and leaves a child behind that does nothing and lives on."""


@pytest.mark.parametrize("store", ["the same", "another"])
def test_what_a_forked_child_keeps_is_not_lost_when_the_parent_closes(tmp_path: Path, store: str) -> None:
    folder = str(tmp_path / "store")
    done = subprocess.run(
        [sys.executable, "-B", "-W", "ignore", "-c", FORKING, folder, store],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    with opened(folder) as opened_again:
        session = Session("shared", store=opened_again)
        kept = [session.recall(row.trace_id) for row in opened_again.rows("shared", kind="result")]
        assert sorted(kept) == sorted(
            [
                "kept before the fork",
                "kept by the child",
                "kept by the parent",
                *(f"kept by the child after the parent closed {number}" for number in range(5)),
            ]
        )
        assert session.verify().whole


def test_a_child_that_lives_on_does_not_keep_the_lock_of_a_killed_parent(tmp_path: Path) -> None:
    folder = str(tmp_path / "store")
    arguments = [sys.executable, "-B", "-W", "ignore", "-c", DYING, folder]
    dying = subprocess.Popen(arguments, env=environment(), start_new_session=True)
    try:
        assert dying.wait(timeout=30) == -signal.SIGKILL
        assert is_free(os.path.join(folder, "record.lock"), within=5), "every writer waits for the child to end"
    finally:
        os.killpg(dying.pid, signal.SIGKILL)


def is_free(path: str, within: float) -> bool:
    """Whether the lock can be had, now or in so many seconds."""
    until = time.monotonic() + within
    with open(path, "rb") as file:
        while time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(0.05)
    return False
