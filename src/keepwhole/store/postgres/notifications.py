"""Being told that something was added to the record: one connection that listens, while somebody watches.

Owns: the connection and its thread, and that whoever watches looks again when the connection was lost meanwhile.
Must not know: what was added. `sql/0004_watching.sql` has the other end.
"""

import selectors
import socket
import threading
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import Connection, sql

from keepwhole.errors import StoreError
from keepwhole.store.postgres.server import Server

RENEWED_AFTER = 1.0
"""Seconds after which a lost connection is made anew."""
_WATCH = "SELECT pg_advisory_lock_shared(hashtextextended(%s, 0))"


class Watching:
    """Those who watch one record. Safe from threads."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._told: dict[object, Callable[[], None]] = {}
        self._listening: _Listening | None = None

    def add(self, on_change: Callable[[], None]) -> Callable[[], None]:
        """Tell somebody, from another thread, that there may be something new; until what is returned is called."""
        who = object()
        with self._lock:
            self._told[who] = on_change
            if self._listening is None:
                self._listening = _Listening(self._server, self._tell)
        return lambda: self._remove(who)

    def _remove(self, who: object) -> None:
        with self._lock:
            self._told.pop(who, None)
            if self._told or self._listening is None:
                return
            self._listening.stop()
            self._listening = None

    def _tell(self) -> None:
        for on_change in list(self._told.values()):
            on_change()

    def close(self) -> None:
        """Tell nobody any more."""
        with self._lock:
            self._told.clear()
            listening, self._listening = self._listening, None
        if listening is not None:
            listening.stop()
            listening.thread.join(2.0)

    def leave(self) -> None:
        """In a forked child: nobody watches here, and the thread is not here either."""
        self._lock, self._listening = threading.Lock(), None
        self._told = {}


class _Listening:
    """A thread with a connection that listens, from now until it is stopped."""

    def __init__(self, server: Server, tell: Callable[[], None]) -> None:
        self._server, self._tell = server, tell
        self._over = threading.Event()
        self._near, self._far = socket.socketpair()
        self.thread = threading.Thread(target=self._run, name="keepwhole-watching", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """End it soon."""
        self._over.set()
        self._near.close()  # seen at the far end

    def _run(self) -> None:
        with self._far:
            while not self._over.is_set():
                try:
                    with self._server.connect() as connection:
                        self._listen(connection)
                except (psycopg.Error, StoreError):
                    self._over.wait(RENEWED_AFTER)

    def _listen(self, connection: Connection[Any]) -> None:
        connection.execute(_WATCH, (self._server.key("watching"),))
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._server.address.schema)))
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._far, selectors.EVENT_READ)
            while not self._over.is_set():
                self._tell()  # at the beginning too: for what was added before we listened
                selector.select()
                for _ in connection.notifies(timeout=0):
                    pass
