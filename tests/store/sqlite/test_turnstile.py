"""One writer at a time, across threads and processes."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from keepwhole.store.sqlite.turnstile import Turnstile

ADD = """
import sys
from keepwhole.store.sqlite.turnstile import Turnstile
turnstile, path = Turnstile(sys.argv[1]), sys.argv[2]
for _ in range(200):
    with turnstile.held():
        number = int(open(path).read())
        open(path, "w").write(str(number + 1))
"""
HOLD = """
import sys, time
from keepwhole.store.sqlite.turnstile import Turnstile
with Turnstile(sys.argv[1]).held():
    print("held", flush=True)
    time.sleep(60)
"""


def test_threads_go_through_one_at_a_time(tmp_path: Path) -> None:
    turnstile = Turnstile(str(tmp_path / "lock"))
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with turnstile.held():
                inside += 1
                most = max(most, inside)
                time.sleep(0.0002)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_processes_go_through_one_at_a_time(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", ADD, str(tmp_path / "lock"), str(counter)]
    for process in [subprocess.Popen(command) for _ in range(3)]:
        assert process.wait(60) == 0
    assert counter.read_text() == "600"


def test_entering_twice_in_one_thread_is_one_entry(tmp_path: Path) -> None:
    turnstile, other = Turnstile(str(tmp_path / "lock")), Turnstile(str(tmp_path / "lock"))
    entered: list[int] = []

    def enter() -> None:
        with other.held():
            entered.append(1)

    with turnstile.held():
        with turnstile.held():
            pass
        waiting = threading.Thread(target=enter)
        waiting.start()
        waiting.join(0.1)
        assert entered == []
    waiting.join(10)
    assert entered == [1]


def test_a_killed_holder_lets_the_next_one_in(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.send_signal(signal.SIGKILL)
    with Turnstile(path).held():
        pass


def test_an_error_inside_lets_the_next_one_in(tmp_path: Path) -> None:
    turnstile = Turnstile(str(tmp_path / "lock"))
    try:
        with turnstile.held():
            raise ValueError
    except ValueError:
        pass
    with Turnstile(str(tmp_path / "lock")).held():
        pass


def test_the_lock_file_is_private_and_stays(tmp_path: Path) -> None:
    turnstile = Turnstile(str(tmp_path / "lock"))
    old = os.umask(0)
    try:
        with turnstile.held():
            pass
    finally:
        os.umask(old)
    turnstile.close()
    assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
    with turnstile.held():
        pass
    turnstile.close()


def test_who_has_waited_long_enough_gives_up(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    impatient = Turnstile(path, patience=0.05)
    with Turnstile(path).held(), pytest.raises(TimeoutError), impatient.held():
        pass
    with impatient.held(), impatient.held():
        pass
