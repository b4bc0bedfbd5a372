"""Connections to the server of a record: opened when needed, checked before use, opened again when lost.

Owns: the pool, the settings of every connection, the deadline of every wait, and when a statement is tried again.
Must not know: the statements.

Theory of operation
-------------------
`retry` gives its work a deadline, `patience` seconds from now, and every wait in it ends there: for a free connection,
for a new one, for each answer (`BoundedConnection`). A server can be gone, full or silent; all three are tried again
until the deadline. Then it is known to be away:

    first call        waits for `patience` seconds, and fails
    calls after it    fail at once, but one of them now and then, which asks for a moment whether the server is back
    the first answer  ends it

That one waits for a third of the time at most.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import chain, repeat
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.pq.abc import PGresult
from psycopg_pool import ConnectionPool, PoolTimeout

from keepwhole.errors import StoreError, StoreRefused
from keepwhole.store.postgres import schema, settings
from keepwhole.store.postgres.address import Address, address_of
from keepwhole.store.postgres.connection import BoundedConnection, Silent, open_in_time
from keepwhole.store.postgres.statements import Statement, Values, run, run_prepared, run_together
from keepwhole.store.sql_store import Execute

_T = TypeVar("_T")

Call: TypeAlias = Callable[[Statement, Values], PGresult]
PATIENCE = 30.0
LONG = 600.0
"""Seconds that a statement may take which removes a whole session."""
CONNECTIONS = 2
"""Most connections of one process, where nothing else is asked for: fifty processes fit into the 100 that a
server takes by default."""
_IDLE = 10.0
"""Seconds after which a connection that is not needed is given back: twice that is less than the patience, in which a
process that found the server full gets its first one."""
_PAUSES = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)
_BUSY = 5.0
"""Seconds after which a pool without a free connection is suspected of having lost the server."""
_PROBE, _LONGEST_REST = 2.0, 10.0
"""Seconds in which a server that is away must answer, and after which it is asked again at the latest."""
_FULL = ("too many clients", "too many connections", "remaining connection slots", "is starting up")
"""What a server says that cannot take a connection now; an error while connecting comes without a code."""
_MIGRATION = 3_600.0


class Server:
    """The server of one record. Nothing is opened before it is needed."""

    def __init__(self, address: Address, patience: float | None = None, connections: int = CONNECTIONS) -> None:
        self.address = address
        self._most = connections
        self._patience = PATIENCE if patience is None else patience
        self._lock = threading.Lock()
        self._pool: ConnectionPool[BoundedConnection] | None = None
        self.on_lost: Callable[[], None] = _nothing
        """Called after a connection was lost, before the next attempt."""
        self._made: weakref.WeakKeyDictionary[BoundedConnection, set[bytes]] = weakref.WeakKeyDictionary()
        """Each connection, with the statements that were prepared on it."""
        self._lent: set[BoundedConnection] = set()
        self._thread = threading.local()
        self._was_reached = self.is_away = False
        self._refused_at = self._asked_again_at = 0.0
        self._salt = ""

    def select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of one query, which is sent again if the connection is lost."""
        try:
            return self.retry(lambda: self.ask(query, values))
        except psycopg.Error as error:
            raise StoreError(
                f"`{self.address.shown}` could not be read ({one_line(error)}). Check the server."
            ) from error

    def ask(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of one query, a transaction of its own, durable on return. It is not sent again."""
        with self._connection() as connection:
            return connection.execute(query.encode(), values, binary=True).fetchall()

    @contextmanager
    def calls(self, *, together: bool) -> Generator[Call]:
        """Yield a function that sends statements in the server's binary format, which is fastest.

        Each is a transaction of its own, durable on return; or `together` they are one, when the block is left.
        """
        with self._connection() as connection, connection.transaction() if together else nullcontext():
            if together:
                yield partial(run, connection)
            else:
                yield partial(run_prepared, connection, self._made[connection])

    def call_together(self, calls: Sequence[tuple[Statement, Values]]) -> list[PGresult]:
        """Return the results of statements sent in one round trip, as one transaction that is durable on return."""
        with self._connection() as connection:
            return run_together(connection, self._made[connection], calls)

    @contextmanager
    def transaction(self, limit: float | None = None) -> Generator[Execute]:
        """Run the block in one transaction, durable when it is left.

        Each statement, and the commit, has `limit` seconds, else the patience.
        """
        with self._connection() as connection, self._within(None), connection.transaction():

            def execute(query: str, values: Sequence[Any] = ()) -> Any:
                self._thread.until = time.monotonic() + (limit or self._patience)
                return connection.execute(query.encode(), values, binary=True)

            yield execute
            self._thread.until = time.monotonic() + (limit or self._patience)

    def key(self, name: str) -> str:
        """Return the name of a lock of this record, which nobody else can know."""
        return f"{self.salt()}/{name}"

    def salt(self) -> str:
        """Return what the names of locks begin with; it is also the channel of notifications."""
        self._salt = self._salt or self.select("SELECT salt FROM record")[0][0]
        return self._salt

    def retry(self, work: Callable[[], _T]) -> _T:
        """Return the outcome of `work`, which is tried again while the connection to the server is lost.

        After that has failed for the whole patience, later work is tried only once, and not all of it, until some
        succeeds.
        """
        began = time.monotonic()
        until = began + (self._begin_probe(began) if self.is_away else self._patience)
        with self._within(until):
            for pause in chain(_PAUSES, repeat(4.0)):
                began = time.monotonic()
                try:
                    outcome = work()
                    self.is_away = False
                    return outcome
                except psycopg.Error as error:
                    if not is_lost(error):
                        raise
                    if self.is_away or time.monotonic() + pause > until:
                        self._leave_alone(time.monotonic() - began)
                        raise
                    self._renew(error)
                time.sleep(pause)
                self.on_lost()
        raise AssertionError("unreachable")

    def _begin_probe(self, now: float) -> float:
        """Return the seconds for asking a server that is away; raise its error if it is not to be asked now."""
        with self._lock_in_time():
            if now < self._asked_again_at:
                raise psycopg.OperationalError("the server was away a moment ago")
            self._asked_again_at = now + _PROBE
        return min(self._patience, _PROBE)

    def _leave_alone(self, took: float) -> None:
        """Do not ask the server for some time, in proportion to what asking it cost."""
        self.is_away, self._asked_again_at = True, time.monotonic() + min(2 * took, _LONGEST_REST)

    def _renew(self, error: psycopg.Error) -> None:
        """Let go of connections that were lost with another one."""
        pool = self._pool
        if pool is not None and isinstance(error, Silent):
            self._forget(pool)
        elif pool is not None:
            pool.check()

    @contextmanager
    def _within(self, until: float | None) -> Generator[None]:
        """Let every wait of this thread in the block end at `until`, or at the deadline there is already."""
        before = getattr(self._thread, "until", None)
        self._thread.until = until if before is None else before
        try:
            yield
        finally:
            self._thread.until = before

    def _deadline(self) -> float:
        """Return the time at which a wait of this thread that begins now ends."""
        until: float | None = getattr(self._thread, "until", None)
        return time.monotonic() + self._patience if until is None else until

    def left(self) -> float:
        """Return the seconds that this thread may still wait."""
        return max(0.0, self._deadline() - time.monotonic())

    @contextmanager
    def _lock_in_time(self) -> Generator[None]:
        if not self._lock.acquire(timeout=self.left()):
            raise Silent
        try:
            yield
        finally:
            self._lock.release()

    def connect(self) -> BoundedConnection:
        """Open a connection outside the pool; the caller closes it."""
        try:
            return open_in_time(self._connect, self.left())
        except psycopg.ProgrammingError:  # it quotes the address, and a password in the wrong place with it
            raise StoreRefused(
                f"`{self.address.shown}` is not the address of a server. Give `postgresql://user@host:5432/database`; "
                "percent-encode special characters in the password (`@` is `%40`)."
            ) from None
        except psycopg.OperationalError as error:
            if isinstance(error, Silent) or any(words in str(error) for words in _FULL):
                raise
            raise StoreRefused(
                f"`{self.address.shown}` cannot be reached ({one_line(error)}). Check the address in `store`, and that "
                "the server runs and lets this user in."
            ) from error

    def _connect(self) -> BoundedConnection:
        connection = BoundedConnection.connect(
            self.address.url, autocommit=True, **settings.connection_options(self.address)
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: BoundedConnection) -> None:
        """Set a connection up; refuse a server that acknowledges what is not on its disk, or spoils what it gets."""
        self._made[connection] = set()
        connection.deadline = self._deadline
        settings.apply(connection, self.address, self._patience)

    @contextmanager
    def _connection(self) -> Generator[BoundedConnection]:
        pool = self._opened()
        try:
            connection = pool.getconn(min(self.left(), _BUSY))
        except PoolTimeout:
            if not self._lent:  # the pool connects ever more seldom; a new one notices sooner that the server is back
                self._forget(pool)
            raise
        self._lent.add(connection)
        try:
            yield connection
        finally:
            self._lent.discard(connection)
            pool.putconn(connection)

    def _opened(self) -> "ConnectionPool[BoundedConnection]":
        pool = self._pool
        if pool is not None:
            return pool
        with self._lock_in_time():
            if self._pool is None:
                with self._first() as first:
                    schema.refuse_other(self.address, first)
                    settings.refuse_wrong_chain(first, self.address)
                self._pool = ConnectionPool(
                    self.address.url,
                    connection_class=BoundedConnection,
                    min_size=1,
                    max_size=self._most,
                    max_idle=_IDLE,
                    open=True,
                    name="keepwhole",
                    configure=self._prepare,
                    kwargs={"autocommit": True, **settings.connection_options(self.address)},
                )
            return self._pool

    def _first(self) -> BoundedConnection:
        """Open the first connection of a pool. Threads that wait for it in turn share one failed attempt."""
        if not self._was_reached:
            connection = self.connect()
        elif time.monotonic() - self._refused_at < 1.0:
            raise psycopg.OperationalError("the server cannot be reached")
        else:
            try:
                connection = open_in_time(self._connect, self.left())
            except psycopg.Error:
                self._refused_at = time.monotonic()
                raise
        self._was_reached = True
        return connection

    def _forget(self, pool: "ConnectionPool[BoundedConnection]") -> None:
        with self._lock_in_time():
            if self._pool is pool:
                self._pool = None
        pool.close(0.0)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def leave(self) -> None:
        """Drop the parent's connections in a forked child, without sending anything to the server."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for connection in list(self._made):
            if not connection.closed:
                os.dup2(nowhere, connection.fileno())
        os.close(nowhere)
        _inherited.append(self._pool)  # its threads are not here, so it cannot be closed
        self._pool, self._lock = None, threading.Lock()
        self._made = weakref.WeakKeyDictionary()


def _nothing() -> None:
    pass


_inherited: list[object] = []


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection is lost, or the server rolled back and asks to try again."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P", "40"))


def one_line(error: psycopg.Error) -> str:
    """Return the message of the server in one line."""
    lines = (" ".join(line.split()) for line in str(error).splitlines())
    return "; ".join(filter(None, lines)) or type(error).__name__


def migrate(url: str, role: str | None = None) -> int:
    """Bring the schema at this address up to date; return how many scripts were run.

    A `role` may then add to the record and read it, but neither change nor delete.
    """
    address = address_of(url)
    try:
        with Server(address).connect() as connection:
            connection.deadline = lambda: time.monotonic() + _MIGRATION
            return schema.migrate(connection, address, role)
    except psycopg.Error as error:
        raise StoreRefused(
            f"The schema `{address.schema}` at `{address.shown}` could not be brought up to date "
            f"({one_line(error)}). Nothing was changed. Run `keepwhole store migrate` as the schema's owner."
        ) from error
