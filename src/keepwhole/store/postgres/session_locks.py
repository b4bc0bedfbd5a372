"""The ephemeral sessions that this process holds open: advisory locks, which the server drops with the connection."""

import threading

import psycopg

from keepwhole.errors import NotStored, StoreError
from keepwhole.store.postgres.connection import BoundedConnection
from keepwhole.store.postgres.server import Server, one_line

_KEY = "hashtextextended(%s, 0)"


class SessionLocks:
    """Locks on a connection of their own; several processes may hold one session."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._connection: BoundedConnection | None = None
        self._held: dict[str, str] = {}

    def hold(self, session: str, number: int) -> None:
        """Hold a session until `close`; holding it twice is harmless."""
        key = self._server.key(f"held/{number}")
        self.renew()
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._server.connect()
                if session not in self._held:
                    self._lock_all([key])
                    self._held[session] = key
            except psycopg.Error as error:
                raise NotStored(f"The session cannot be held open ({one_line(error)}). Check the server.") from error

    def _lock_all(self, keys: list[str]) -> None:
        assert self._connection is not None
        for key in keys:
            self._connection.execute(f"SELECT pg_advisory_lock_shared({_KEY})".encode(), (key,))

    def renew(self) -> None:
        """Take the locks again after their connection was lost; if that fails, the next call tries again."""
        with self._lock:
            if not self._held and self._connection is None:
                return
            try:
                if self._connection is not None:
                    self._connection.execute("SELECT 1")
                    return
            except psycopg.Error:
                self._connection = None
            try:
                self._connection = self._server.connect()
                self._lock_all(list(self._held.values()))
            except (psycopg.Error, StoreError):
                self._connection = None

    def release(self, session: str) -> None:
        """Release a session."""
        with self._lock:
            key = self._held.pop(session, None)
            if key is None or self._connection is None:
                return
            try:
                self._connection.execute(f"SELECT pg_advisory_unlock_shared({_KEY})".encode(), (key,))
            except psycopg.Error:
                pass  # the connection is gone, and the lock with it

    def is_held(self, number: int) -> bool:
        """Return whether any process holds the session with this number."""
        query = f"SELECT pg_try_advisory_xact_lock({_KEY})"
        return not self._server.select(query, (self._server.key(f"held/{number}"),))[0][0]

    def close(self) -> None:
        """Release all sessions."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._held.clear()

    def leave(self) -> None:
        """Forget the locks in a forked child; they belong to the parent's connection."""
        self._lock, self._connection = threading.Lock(), None
        self._held.clear()
