"""Connections to the server of a record: opened when needed, checked before use, opened again when lost.

Owns: the pool, the settings of every connection, and when a statement is tried again.
Must not know: the statements.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias, TypeVar

import psycopg
from psycopg import Connection
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg_pool import ConnectionPool, PoolTimeout

from keepwhole.errors import StoreError, StoreRefused
from keepwhole.store.postgres import schema
from keepwhole.store.postgres.address import Address, address_of
from keepwhole.store.sql_store import Execute

_T = TypeVar("_T")

Call: TypeAlias = "Callable[[Statement, Sequence[bytes | None]], PGresult]"
PATIENCE = 30.0
_PREPARED = 64
"""A statement with more values than this is not prepared."""
_FORGOTTEN = b"26000"
_CONNECTIONS = 16
_PAUSES = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)
_BRIEF = 2
"""Seconds that are spent on connecting to a server that has been away for longer than the patience."""
_BUSY = 5.0
"""Seconds after which a pool without a free connection is suspected of having lost the server."""
_DURABLE = ("on", "remote_apply")
_DEFAULTS = {"application_name": "keepwhole", "connect_timeout": 10, "keepalives_idle": 30, "tcp_user_timeout": 30_000}
# No transaction here waits for its client: one that does belongs to a lost connection, and still has its locks.
_SETTINGS = (
    "SELECT set_config('search_path', %s || ', pg_temp', false), set_config('lock_timeout', %s, false), "
    "set_config('idle_in_transaction_session_timeout', '10s', false), set_config('TimeZone', 'UTC', false), "
    "set_config('default_transaction_isolation', 'read committed', false), "
    "current_setting('synchronous_commit'), current_setting('fsync')"
)


class Statement(NamedTuple):
    """A query that is sent often, with the types of its values."""

    text: str
    kinds: tuple[int, ...]

    @property
    def name(self) -> bytes:
        """The name under which the server remembers it."""
        return b"keepwhole_%d" % len(self.kinds)


class Server:
    """The server of one record. Nothing is opened before it is needed."""

    def __init__(self, address: Address, patience: float | None = None) -> None:
        self.address = address
        self._patience = PATIENCE if patience is None else patience
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Connection[Any]] | None = None
        self.on_lost: Callable[[], None] = _nothing
        """Called after a connection was lost, before the next attempt."""
        self._made: weakref.WeakKeyDictionary[Connection[Any], set[bytes]] = weakref.WeakKeyDictionary()
        """Each connection, with the statements that were prepared on it."""
        self._lent: set[Connection[Any]] = set()
        self._was_reached = self._is_away = False
        self._refused_at = 0.0

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
            yield partial(self._call, connection, not together)

    def _call(
        self, connection: Connection[Any], is_alone: bool, statement: Statement, values: Sequence[bytes | None]
    ) -> "PGresult":
        asked: Any = connection.pgconn  # its types know no NULL
        if is_alone and len(values) <= _PREPARED:
            return _checked(asked, self._prepared(asked, self._made[connection], statement, values))
        formats = [Format.BINARY] * len(values)
        return _checked(
            asked, asked.exec_params(statement.text.encode(), values, statement.kinds, formats, Format.BINARY)
        )

    def _prepared(
        self, asked: Any, seen: set[bytes], statement: Statement, values: Sequence[bytes | None]
    ) -> "PGresult":
        """Return the result of a prepared statement. It is prepared again if the server has forgotten it: the driver
        drops all prepared statements after a failed transaction. An unknown statement has had no effect."""
        while True:
            is_new = statement.name not in seen
            if is_new:
                _checked(asked, asked.prepare(statement.name, statement.text.encode(), statement.kinds))
                seen.add(statement.name)
            result = asked.exec_prepared(statement.name, values, [Format.BINARY] * len(values), Format.BINARY)
            if is_new or result.error_field(DiagnosticField.SQLSTATE) != _FORGOTTEN:
                return result
            seen.clear()

    @contextmanager
    def transaction(self, lock: str | None = None, *, pipelined: bool = False) -> Generator[Execute]:
        """Run the block in one transaction, durable when it is left; nobody else has the `lock` until then.

        With `pipelined`, statements are sent together, when the first answer is read and at the end.
        """
        with self._connection() as connection, ExitStack() as stack:
            if pipelined:
                stack.enter_context(connection.pipeline())
            stack.enter_context(connection.transaction())

            def execute(query: str, values: Sequence[Any] = ()) -> Any:
                return connection.execute(query.encode(), values, binary=True)

            if lock is not None:
                execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self.key(lock),))
            yield execute

    def key(self, name: str) -> str:
        """Return the name of a lock of this record."""
        return f"keepwhole/{self.address.schema}/{name}"

    def retry(self, work: Callable[[], _T]) -> _T:
        """Return the outcome of `work`, which is tried again while the connection to the server is lost.

        After that has failed for the whole patience, later work is tried only once, until some of it succeeds.
        """
        until = time.monotonic() + (0.0 if self._is_away else self._patience)
        for pause in chain(_PAUSES, repeat(4.0)):
            try:
                outcome = work()
                self._is_away = False
                return outcome
            except psycopg.Error as error:
                if not is_lost(error):
                    raise
                if time.monotonic() + pause > until:
                    self._is_away = True
                    raise
            time.sleep(pause)
            if self._pool is not None:
                self._pool.check()
            self.on_lost()
        raise AssertionError("unreachable")

    def connect(self) -> Connection[Any]:
        """Open a connection outside the pool; the caller closes it."""
        try:
            return self._connect()
        except psycopg.ProgrammingError:  # it quotes the address, and a password in the wrong place with it
            raise StoreRefused(
                f"`{self.address.shown}` is no address of a server. Give `postgresql://user@host:5432/database`; "
                "write what is special in a password as `%40` and the like."
            ) from None
        except psycopg.OperationalError as error:
            raise StoreRefused(
                f"`{self.address.shown}` cannot be reached ({one_line(error)}). Check the address in `store`, and that "
                "the server runs and lets this user in."
            ) from error

    def _connect(self) -> Connection[Any]:
        connection = psycopg.connect(self.address.url, autocommit=True, **self._options())
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _options(self) -> dict[str, Any]:
        options = {key: value for key, value in _DEFAULTS.items() if f"{key}=" not in self.address.url}
        return {**options, "connect_timeout": _BRIEF} if self._is_away else options

    def _prepare(self, connection: Connection[Any]) -> None:
        """Set a connection up; refuse a server that acknowledges what is not on its disk."""
        self._made[connection] = set()
        wait = f"{max(1, int(self._patience * 1000))}ms"
        row = connection.execute(_SETTINGS, (self.address.schema, wait)).fetchone()
        *_, waits_for, fsync = row or ("", "")
        if waits_for not in _DURABLE or fsync != "on":
            raise StoreRefused(
                f"`{self.address.shown}` says that something is stored before it is on its disk "
                f"(`synchronous_commit = {waits_for}`, `fsync = {fsync}`). Set both to `on` for this role."
            )

    @contextmanager
    def _connection(self) -> Generator[Connection[Any]]:
        pool = self._opened()
        try:
            connection = pool.getconn(min(self._patience, _BUSY))
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

    def _opened(self) -> "ConnectionPool[Connection[Any]]":
        pool = self._pool
        if pool is not None:
            return pool
        with self._lock:
            if self._pool is None:
                with self._first() as first:
                    schema.refuse_other(self.address, schema.version_of(first))
                self._pool = ConnectionPool(
                    self.address.url,
                    min_size=1,
                    max_size=_CONNECTIONS,
                    open=True,
                    name="keepwhole",
                    configure=self._prepare,
                    kwargs={"autocommit": True, **self._options()},
                )
            return self._pool

    def _first(self) -> Connection[Any]:
        """Open the first connection of a pool. Threads that wait for it in turn share one failed attempt."""
        if not self._was_reached:
            connection = self.connect()
        elif time.monotonic() - self._refused_at < 1.0:
            raise psycopg.OperationalError("the server cannot be reached")
        else:
            try:
                connection = self._connect()
            except psycopg.Error:
                self._refused_at = time.monotonic()
                raise
        self._was_reached, self._is_away = True, False
        return connection

    def _forget(self, pool: "ConnectionPool[Connection[Any]]") -> None:
        with self._lock:
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


def _checked(asked: PGconn, result: PGresult) -> PGresult:
    """Return the result of a query that succeeded; raise its error otherwise."""
    if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        return result
    if asked.status == ConnStatus.BAD:
        raise psycopg.OperationalError(result.get_error_message() or "the connection is lost")
    raise psycopg.errors.error_from_result(result)


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
    return " ".join(str(error).split()) or type(error).__name__


def migrate(url: str, role: str | None = None) -> int:
    """Bring the schema at this address up to date; return how many scripts were run.

    A `role` may then add to the record and read it, but neither change nor delete.
    """
    address = address_of(url)
    with Server(address).connect() as connection:
        try:
            return schema.migrate(connection, address, role)
        except psycopg.Error as error:
            raise StoreRefused(
                f"The schema `{address.schema}` at `{address.shown}` could not be brought up to date "
                f"({one_line(error)}). Nothing was changed. Run `keepwhole store migrate` as the schema's owner."
            ) from error
