"""`BoundedConnection`: a connection on which every wait for the server ends at a deadline.

Owns: noticing a server that is there and does not answer. Neither keepalives nor `tcp_user_timeout` notice it: the
kernel of a server whose processes are stopped, or that waits for an absent standby, goes on acknowledging what it gets.
Must not know: the statements, and when one is tried again.
"""

import select
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, generators
from psycopg.pq import ConnStatus, ExecStatus, PollingStatus
from psycopg.pq.abc import PGresult

_T = TypeVar("_T")
_CANCEL_SECONDS = 0.2


class Silent(psycopg.OperationalError):
    """The server did not answer in time."""

    def __init__(self) -> None:
        super().__init__("the server is there but does not answer")


class BoundedConnection(Connection[Any]):
    """A connection that is given up when the server has not answered by the deadline."""

    @staticmethod
    def deadline() -> float:
        """Return the time, by the monotonic clock, at which a wait that begins now ends."""
        return time.monotonic() + 30.0

    def wait(self, gen: Generator[Any, Any, _T], *args: Any, **options: Any) -> _T:
        """Return what `gen`, which talks to the server, returns. Raises `Silent` and closes after the deadline."""
        try:
            return super().wait(_until(gen, self.deadline()), *args, **options)
        except Silent:
            self._cancel()
            self.close()
            raise

    def finish_query(self) -> PGresult:
        """Return the result of the query that was sent; raise its error if it failed."""
        results: Sequence[Any] = self.wait(generators.execute(self.pgconn))
        result = results[-1]
        self.refuse_failed(result)
        return result

    def refuse_failed(self, result: PGresult) -> None:
        """Raise the error of a query that failed."""
        if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            return
        if self.pgconn.status == ConnStatus.BAD:
            raise psycopg.OperationalError(result.get_error_message() or "the connection is lost")
        raise psycopg.errors.error_from_result(result)

    def _cancel(self) -> None:
        """Ask the server to give up the statement too, and so its locks; not for long, since it may not listen."""
        until = time.monotonic() + _CANCEL_SECONDS
        with suppress(psycopg.Error, OSError, ValueError):  # an old libpq cannot, nor can a closed connection
            request = self.pgconn.cancel_conn()
            request.start()
            while (left := until - time.monotonic()) > 0:
                state = request.poll()
                if state == PollingStatus.READING:
                    select.select([request.socket], [], [], left)
                elif state == PollingStatus.WRITING:
                    select.select([], [request.socket], [], left)
                else:
                    break
            request.finish()


def _until(gen: Generator[Any, Any, _T], deadline: float) -> Generator[Any, Any, _T]:
    """Pass on what `gen` waits for. The driver comes back every tenth of a second, also if there is nothing."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if time.monotonic() > deadline:
                raise Silent
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


def open_in_time(connect: Callable[[], BoundedConnection], seconds: float) -> BoundedConnection:
    """Return what `connect` returns; `Silent` if that takes longer, and the connection is closed when it comes.

    The driver itself spends no less than two seconds on connecting, and more where a name has several addresses.
    """
    opened: list[BoundedConnection] = []
    failed: list[BaseException] = []
    lock, given_up = threading.Lock(), False

    def work() -> None:
        try:
            connection = connect()
        except BaseException as error:
            failed.append(error)
            return
        with lock:
            opened.append(connection)
            if given_up:
                connection.close()

    thread = threading.Thread(target=work, name="keepwhole-connecting", daemon=True)
    thread.start()
    thread.join(max(0.0, seconds))
    with lock:
        given_up = not opened
    if failed:
        raise failed[0]
    if not opened:
        raise Silent
    return opened[0]
