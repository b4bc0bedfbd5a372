"""Dollars that may be spent: the most that a request can cost is reserved before it is sent.

Owns: the limit, what is spent, and the file that remembers it. Must not know: requests, prices.

Theory of operation. Rows of finished runs say what those runs cost, but a run that is killed leaves none. So a file
beside the rows has the dollars that may be gone by now, and is written before a request is sent and after its bill is
known:

    reserve 0.30 (of 10.00, 4.10 spent)   →  file 4.40   →  the request is sent
    killed here: a later command begins with 4.40 spent
    settle 0.30 at 0.07                   →  file 4.17

The file is locked while a command runs, so two commands cannot both spend what is left.
"""

import fcntl
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path


class Budget:
    """What is spent, what is reserved, and the limit that both together never exceed. Safe from threads."""

    def __init__(self, limit: float, spent: float = 0.0, remember: Callable[[float], object] = lambda dollars: None):
        if not isfinite(limit) or limit < 0:
            raise ValueError("`--max-dollars` is a number of dollars, 0 or more.")
        self._limit, self.spent, self._remember = limit, spent, remember
        self._reserved = 0.0
        self._settled = threading.Condition()

    def reserve(self, dollars: float) -> bool:
        """Reserve so much; return whether there was enough left. Waits while other reservations may give some back."""
        with self._settled:
            while self.spent + self._reserved + dollars > self._limit:
                if not self._reserved or self.spent + dollars > self._limit:
                    return False
                self._settled.wait()
            self._reserved += dollars
            self._remember(self.spent + self._reserved)
            return True

    def settle(self, reserved: float, dollars: float) -> None:
        """Spend `dollars` of what was reserved, and give the rest back."""
        with self._settled:
            self._reserved = max(0.0, self._reserved - reserved)
            self.spent += dollars
            self._remember(self.spent + self._reserved)
            self._settled.notify_all()

    def end(self) -> None:
        """Let nothing more be reserved."""
        with self._settled:
            self._limit = 0.0
            self._settled.notify_all()


@contextmanager
def open_budget(limit: float, file: Path) -> Generator[Budget]:
    """Open a budget of which this file says what is spent. Raises `ValueError` where another command has it open."""
    with os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0) as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"Another command spends the money of `{file}`. Wait, or give another `--out`.") from None

        def remember(dollars: float) -> None:
            os.pwrite(opened.fileno(), f"{dollars:024.9f}\n".encode(), 0)

        yield Budget(limit, float(opened.read() or 0), remember)
