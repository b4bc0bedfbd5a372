"""`Turnstile`: one writer at a time, across threads and processes, in the order in which they came.

Theory of operation
-------------------
SQLite's own busy handler sleeps and tries again, so a writer can starve while others keep writing. The turnstile is a
lock file: whoever wants to write waits in the kernel's queue for `flock`, which is served in order. It has two levels:

    thread A ─┐                    ┌─ process 1 ─┐
    thread B ─┴─ thread lock (1) ──┤             ├─ flock on record.lock ── BEGIN IMMEDIATE … COMMIT
    thread C ─── thread lock (2) ──┴─ process 2 ─┘

The thread lock comes first, because `flock` belongs to the open file, which the threads of a process share: without it
a second thread would be let through at once.

Invariants:

- The lock is held from before `BEGIN` until after `COMMIT`, and while a connection is closed, since the last one to be
  closed runs a checkpoint. A writer and a checkpoint therefore never overlap, which SQLite before 3.51.3 cannot stand.
- The kernel releases the lock of a process that is killed; nothing has to be cleaned up.
- A forked child closes its copy of the descriptor before it does anything else (`leave`). It must not unlock: the lock
  belongs to the open file that the parent still has.
- With `patience`, a waiter polls instead of queueing, because `flock` cannot time out. It may be overtaken, and gives
  up with `TimeoutError`.
"""

import fcntl
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

_BUSY = "another process has been writing to the record for too long"
_PAUSE = 0.002


class Turnstile:
    """A lock file that one holder at a time may have. A thread that has it may enter again.

    With `patience`, waiting for more seconds than this raises `TimeoutError`.
    """

    def __init__(self, path: str, patience: float | None = None) -> None:
        self._path, self._patience = path, patience
        self._thread = threading.RLock()
        self._fd = -1
        self._depth = 0

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold the lock while the block runs."""
        if not self._thread.acquire(timeout=-1 if self._patience is None else self._patience):
            raise TimeoutError(_BUSY)
        try:
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            if self._depth == 0:
                self._wait()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)
        finally:
            self._thread.release()

    def _wait(self) -> None:
        if self._patience is None:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            return
        until = time.monotonic() + self._patience
        while True:
            try:
                return fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise TimeoutError(_BUSY) from None
                time.sleep(_PAUSE)

    def leave(self) -> None:
        """Close the inherited descriptor in a forked child, so that the lock ends with the parent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Close the file descriptor."""
        with self._thread:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
