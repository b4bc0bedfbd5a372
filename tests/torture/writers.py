"""Writers that keep results as fast as they can, and a nursery that forks and kills them.

Run as `python -m tests.torture.writers crowd|kills …` in a process of its own: it has no threads and opens no store
itself, so a fork costs a millisecond and hands on nothing but the imported code. Prints one JSON object at the end.

`KEEPWHOLE_BREAK` switches a safety off, for the controls that must be caught: see `tests.torture.broken`.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
from typing import Any

from keepwhole import Session, SqliteStore
from tests.torture import bodies
from tests.torture.broken import break_on_purpose
from tests.torture.oracle import Oracle

_PURGES = 0.03
_ALL_AT_ONCE = 0.05


class Writer:
    """One writer: its own session and shared ones, each result acknowledged to the oracle once `keep` returned."""

    def __init__(self, options: argparse.Namespace, number: int) -> None:
        self._chance = random.Random(f"{options.seed} {number}")
        self._oracle = Oracle(options.oracle)
        self._store = SqliteStore(options.store)
        names = [f"writer-{number}", *(f"shared-{shared}" for shared in range(3))]
        self._sessions = [Session(name, store=self._store) for name in names]
        self._late = os.environ.get("KEEPWHOLE_BREAK") == "late"
        self.worst = 0.0
        self.kept = 0

    def work(self, until: float) -> None:
        """Keep, and now and then purge, until the time has come."""
        while time.monotonic() < until:
            if self._chance.random() < _PURGES and not self._late:
                self._purge()
            else:
                self._keep(self._chance.choice(self._sessions))

    def _keep(self, session: Session) -> None:
        seed = self._chance.getrandbits(48)
        made = bodies.make(seed)
        output, begin = made.output, time.monotonic()
        shown = session.keep("tool", {"seed": seed}, output)
        self.worst = max(self.worst, time.monotonic() - begin)
        if shown.problem is not None:
            raise shown.problem
        self._oracle.ack(session.id, shown.trace_id, made.sha256, len(made.data))
        self.kept += 1

    def _purge(self) -> None:
        session = Session(f"gone-{self._chance.getrandbits(48)}", store=self._store)
        self._keep(session)
        self._keep(session)
        self._oracle.purging(session.id)
        self._store.purge(session.id, 0)
        self._oracle.purged(session.id)


def start(options: argparse.Namespace, number: int, seconds: float) -> int:
    """Fork a writer; it leaves its figures, or the trouble it had, in the report."""
    pid = os.fork()
    if pid:
        return pid
    try:
        writer = Writer(options, number)
        writer.work(time.monotonic() + seconds)
        report = {"kept": writer.kept, "worst": writer.worst}
    except BaseException:
        report = {"error": traceback.format_exc()}
    with open(options.report, "a", encoding="utf-8") as file:
        file.write(json.dumps(report) + "\n")
    os._exit(0)


def crowd(options: argparse.Namespace) -> dict[str, Any]:
    """Many writers at once, all of whom may finish."""
    for pid in [start(options, number, options.seconds) for number in range(options.writers)]:
        os.waitpid(pid, 0)
    return {"writers": options.writers}


def kills(options: argparse.Namespace) -> dict[str, Any]:
    """Writers killed at random, one or all of them, and new ones in their place."""
    chance = random.Random(options.seed)
    alive: list[int] = []
    killed = started = rounds = 0
    while killed < options.kills:
        while len(alive) < options.writers:
            alive.append(start(options, started, 3_600))
            started += 1
        time.sleep(chance.uniform(0.002, 0.06))
        victims = alive[:] if chance.random() < _ALL_AT_ONCE else [chance.choice(alive)]
        killed, rounds = killed + _kill(victims), rounds + 1
        alive = [pid for pid in alive if pid not in victims]
    return {"kills": killed + _kill(alive), "rounds": rounds}


def _kill(pids: list[int]) -> int:
    """Kill these; how many were alive to be killed."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return sum(os.waitpid(pid, 0)[1] == signal.SIGKILL for pid in pids)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("crowd", "kills"))
    parser.add_argument("store")
    parser.add_argument("oracle")
    parser.add_argument("report")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3_600)
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    break_on_purpose(os.environ.get("KEEPWHOLE_BREAK", ""))
    bodies.make(0)
    begin = time.monotonic()
    done = crowd(options) if options.mode == "crowd" else kills(options)
    json.dump({**done, "seconds": round(time.monotonic() - begin, 1)}, sys.stdout)


if __name__ == "__main__":
    main()
