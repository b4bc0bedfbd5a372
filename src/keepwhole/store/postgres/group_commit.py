"""`GroupCommit`: appends of several threads in one round trip and one transaction, where they would wait.

Owns: which thread sends the appends of which others, and that every thread gets its own entries or its own error.
Must not know: what an append sends, and when one is tried again.

Theory of operation
-------------------
As many threads as there are connections may send at a time. A thread that finds one of these places free sends its own
append, as if it were alone. The others wait in a queue. A thread that is done gives its place to the first of the
queue, which sends all that wait when it begins, its own with them, as one transaction: one commit for all. With two
connections:

    A sends a1           gives its place to C      C sends c1 d1 e1 f1 a2 together
    B sends b1                   gives its place to …
    C, D, E, F wait              A is back with a2 and waits

Nobody waits in order to be together with others, so a thread that is alone never waits. Invariants:

- A place is free only while nobody waits, so no thread waits without another that will wake it.
- A transaction that fails, for whatever reason, has added nothing, or nobody knows. Each of its threads then sends its
  own append alone; its mark tells the server what is there already (see `postgres.append`). So a refusal reaches the
  thread whose append was refused, and a lost connection or an interrupted thread costs the others a second attempt.
- Sessions are locked in the order of their names, in every process, so transactions do not wait in a circle. Those of
  several appends wait for a lock for a moment only, since all their sessions wait with it.
"""

import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

import psycopg
from psycopg.pq.abc import PGresult

from keepwhole.canonical.entry import Entry
from keepwhole.store.postgres.append import Append
from keepwhole.store.postgres.connection import Silent
from keepwhole.store.postgres.server import Server

_MOST, _MOST_BYTES = 32, 8_388_608
"""Appends and bytes that are sent together."""


class _Waiting:
    """An append that is sent by its own thread or by another."""

    __slots__ = ("append", "has_place", "others", "result", "woken")

    def __init__(self, append: Append) -> None:
        self.append = append
        self.has_place = False
        self.others: list[_Waiting] = []
        """What its thread sends too, once it has a place."""
        self.result: PGresult | None = None
        """The server's answer, where it was added together with others."""
        self.woken = threading.Lock()
        self.woken.acquire()


class GroupCommit:
    """The appends of one process to one record."""

    def __init__(self, server: Server, places: int) -> None:
        """At most `places` threads send at a time."""
        self._server, self._places = server, places
        self.renew()

    def renew(self) -> None:
        """Begin anew in a forked child, in which nobody sends and nobody waits."""
        self._free = self._places
        self._lock = threading.Lock()
        self._queue: deque[_Waiting] = deque()

    def send(self, append: Append) -> list[Entry]:
        """Return the entries of an append, which are on the server's disk."""
        if append.goes_alone:
            return append()
        one = _Waiting(append)
        try:
            self._wait(one)
            if one.has_place:
                self._gather(one)
                if not one.others:
                    return append()
                self._send_together([one, *one.others])
        finally:
            self._leave(one)
        return append() if one.result is None else append.read(one.result)

    def _wait(self, one: _Waiting) -> None:
        """Return once the thread has a place, or another thread has sent its append."""
        with self._lock:
            if self._free:
                self._free -= 1
                one.has_place = True
                return
            self._queue.append(one)
        if not one.woken.acquire(timeout=self._server.left()):
            raise Silent

    def _gather(self, one: _Waiting) -> None:
        """Take what waits now, which is more than when the thread was woken."""
        with self._lock:
            size = one.append.size
            while self._queue and len(one.others) < _MOST:
                size += self._queue[0].append.size
                if size > _MOST_BYTES:
                    break
                one.others.append(self._queue.popleft())

    def _send_together(self, group: Sequence[_Waiting]) -> None:
        ordered = sorted(group, key=lambda one: one.append.session)
        try:
            results = self._server.call_together([one.append.begin() for one in ordered])
        except psycopg.Error:
            return  # each thread sends its own
        for one, result in zip(ordered, results, strict=True):
            one.result = result

    def _leave(self, one: _Waiting) -> None:
        """End the wait of a thread. If it had a place, give it on, and wake those whose appends it was to send."""
        with self._lock:
            if not one.has_place:
                with suppress(ValueError):
                    self._queue.remove(one)
            elif self._queue:
                self._queue[0].has_place = True
                self._queue.popleft().woken.release()
            else:
                self._free += 1
        for other in one.others:
            other.woken.release()
