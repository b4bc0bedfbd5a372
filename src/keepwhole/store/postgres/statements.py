"""Statements that are sent often, in the server's binary format, which is fastest; several of them in one round trip.

Owns: which statements a connection was told of before.
Must not know: what a statement does, and when one is tried again.
"""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import generators
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from keepwhole.store.postgres.connection import BoundedConnection

_PREPARED = 64
"""A statement with more values than this is not prepared."""
_FORGOTTEN = "26000"
_LOCK_LIMIT = b"SELECT set_config('lock_timeout', '500ms', true)"
"""How long statements that are sent together wait for a lock: the others wait with the one that needs it."""


class Statement(NamedTuple):
    """A query that is sent often, with the types of its values."""

    text: str
    kinds: tuple[int, ...]

    @property
    def name(self) -> bytes:
        """The name under which the server remembers it."""
        return b"keepwhole_%d" % len(self.kinds)

    @property
    def is_prepared(self) -> bool:
        """Whether the server is told of it once, and then only its name."""
        return len(self.kinds) <= _PREPARED


Values = Sequence[bytes | None]


def run(connection: BoundedConnection, statement: Statement, values: Values) -> PGresult:
    """Return the result of a statement. Outside a transaction it is one of its own, durable on return."""
    _send(connection, statement, values, prepared=False)
    return connection.finish_query()


def run_prepared(connection: BoundedConnection, seen: set[bytes], statement: Statement, values: Values) -> PGresult:
    """Return the result of a prepared statement; `seen` has those that the connection was told of.

    It is prepared again if the server has forgotten it: the driver drops all prepared statements after a failed
    transaction. An unknown statement has had no effect. Of the others nothing is concluded: one that was prepared since
    is still there, and must not be prepared twice.
    """
    if not statement.is_prepared:
        return run(connection, statement, values)
    while True:
        is_new = _prepare(connection, seen, statement)
        _send(connection, statement, values, prepared=True)
        try:
            return connection.finish_query()
        except psycopg.Error as error:
            if is_new or error.sqlstate != _FORGOTTEN:
                raise
        seen.remove(statement.name)


def run_together(
    connection: BoundedConnection, seen: set[bytes], calls: Sequence[tuple[Statement, Values]]
) -> list[PGresult]:
    """Return the results of statements sent in one round trip, as one transaction that is durable on return."""
    for statement, _ in calls:
        if statement.is_prepared:
            _prepare(connection, seen, statement)
    asked: Any = connection.pgconn
    asked.enter_pipeline_mode()
    try:
        asked.send_query_params(_LOCK_LIMIT, None)
        for statement, values in calls:
            _send(connection, statement, values, prepared=statement.is_prepared)
        asked.pipeline_sync()
        results = connection.wait(_results(asked))
        asked.exit_pipeline_mode()
    except BaseException:
        connection.close()  # nobody knows what the server has read
        raise
    for result in results:
        connection.refuse_failed(result)
    return results[1:]


def _prepare(connection: BoundedConnection, seen: set[bytes], statement: Statement) -> bool:
    """Tell a connection of a statement; return whether it was new to it."""
    if statement.name in seen:
        return False
    asked: Any = connection.pgconn
    asked.send_prepare(statement.name, statement.text.encode(), statement.kinds)
    connection.finish_query()
    seen.add(statement.name)
    return True


def _send(connection: BoundedConnection, statement: Statement, values: Values, *, prepared: bool) -> None:
    asked: Any = connection.pgconn  # its types know no NULL
    formats = [Format.BINARY] * len(values)
    if prepared:
        asked.send_query_prepared(statement.name, values, formats, Format.BINARY)
    else:
        asked.send_query_params(statement.text.encode(), values, statement.kinds, formats, Format.BINARY)


def _results(asked: Any) -> Generator[Any, Any, list[PGresult]]:
    """Return the results of all statements up to the one that ends the transaction."""
    found: list[PGresult] = []
    (result,) = yield from generators.execute(asked)
    while result.status != ExecStatus.PIPELINE_SYNC:
        found.append(result)
        (result,) = yield from generators.fetch_many(asked)
    return found
