"""One writer at a time, across threads and processes, in the order they came.

SQLite's own busy handler lets writers starve; queueing on a file lock does not, and the kernel releases the lock
of a killed process. It also keeps writers and checkpoints apart, which SQLite before 3.51.3 needs.
"""

import fcntl
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager


class Turnstile:
    """A lock file that one holder at a time may have. Entering twice in one thread is one entry."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._thread = threading.RLock()
        self._fd = -1
        self._depth = 0

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold the lock while the block runs."""
        with self._thread:
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            if self._depth == 0:
                fcntl.flock(self._fd, fcntl.LOCK_EX)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)

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
