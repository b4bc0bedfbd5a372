"""`Watchers`: callbacks for additions to the record, over one connection that listens while there are any.

Owns: the connection and its thread, and that watchers look again after the connection was lost.
Must not know: what was added. `sql/0004_watching.sql` sends the notifications.
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
"""Seconds after which a lost connection is opened again."""
_WATCH = "SELECT pg_advisory_lock_shared(hashtextextended(%s, 0))"


class Watchers:
    """The watchers of one record. Thread-safe."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}
        self._listener: _Listener | None = None

    def add(self, on_change: Callable[[], None]) -> Callable[[], None]:
        """Call `on_change`, from another thread, when there may be something new; return a function that ends it."""
        key = object()
        with self._lock:
            self._callbacks[key] = on_change
            if self._listener is None:
                self._listener = _Listener(self._server, self._tell)
        return lambda: self._remove(key)

    def _remove(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)
            if self._callbacks or self._listener is None:
                return
            self._listener.stop()
            self._listener = None

    def _tell(self) -> None:
        for on_change in list(self._callbacks.values()):
            on_change()

    def close(self) -> None:
        """Remove all watchers and close the connection."""
        with self._lock:
            self._callbacks.clear()
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()
            listener.thread.join(2.0)

    def leave(self) -> None:
        """Forget watchers and thread in a forked child, where neither exists."""
        self._lock, self._listener = threading.Lock(), None
        self._callbacks = {}


class _Listener:
    """A thread with a connection that listens until it is stopped."""

    def __init__(self, server: Server, tell: Callable[[], None]) -> None:
        self._server, self._tell = server, tell
        self._over = threading.Event()
        self._near, self._far = socket.socketpair()
        self.thread = threading.Thread(target=self._run, name="keepwhole-watching", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Ask the thread to end."""
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
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._server.salt())))
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._far, selectors.EVENT_READ)
            while not self._over.is_set():
                self._tell()  # at the beginning too: for additions before it listened
                selector.select()
                for _ in connection.notifies(timeout=0):
                    pass
