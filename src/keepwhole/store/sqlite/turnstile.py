"""One writer at a time, across threads and processes, in the order they came.

SQLite's own busy handler lets writers starve; queueing on a file lock does not, and the kernel releases the lock
of a killed process. It also keeps writers and checkpoints apart, which SQLite before 3.51.3 needs.
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
    """A lock file that one holder at a time may have. Entering twice in one thread is one entry.

    Waiting is first come, first served. With `patience`, who has waited so many seconds gives up with `TimeoutError`,
    and does so out of turn.
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
        """In a forked child: let go of the parent's descriptor, so that the lock dies with the parent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Give the file descriptor back."""
        with self._thread:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
