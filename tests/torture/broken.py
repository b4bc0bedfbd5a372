"""Safeties that are switched off on purpose, by a name in `KEEPWHOLE_BREAK`, for the controls that must be caught.

`normal`, `off`: SQLite's `synchronous`. `unsynced`: files are not synced. `late`: acknowledged before the commit.
`swallowed`: a commit that failed is acknowledged. `leaking`: SQLite's errors are not made errors of Keepwhole's.
`guessing`: where a body cannot be read, zeros are served. `piecemeal`: a migration without a transaction.
`unordered`: writers do not queue, and do not lock what they are about to change. `greedy`: the first to write keeps the
others waiting.
"""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Generator
from typing import Any

from keepwhole.canonical.body import BLOCK
from keepwhole.errors import Damaged
from keepwhole.store import durable
from keepwhole.store.blobs import folder
from keepwhole.store.reader import BodyReader
from keepwhole.store.sqlite import database, schema
from keepwhole.store.sqlite.schema import Transaction
from keepwhole.store.sqlite.turnstile import Turnstile

_GREEDY_SECONDS = 2.2


class LateTransaction(Transaction):
    """Commits only every fifth time; a single writer does not notice."""

    count = 0

    def __enter__(self) -> Any:
        return self._connection.execute if self._connection.in_transaction else super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        LateTransaction.count += 1
        if kind is not None or LateTransaction.count % 5 == 0:
            super().__exit__(kind)


class SwallowingTransaction(Transaction):
    """Says nothing of a commit that failed."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with contextlib.suppress(sqlite3.Error):
            super().__exit__(kind)


class PiecemealTransaction(Transaction):
    """Commits after every statement."""

    def __enter__(self) -> Any:
        return self._connection.execute

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        pass


class DeferredTransaction(Transaction):
    """Locks nothing before its first change, by when what it read may be old."""

    def __init__(self, connection: sqlite3.Connection, begin: str = "BEGIN") -> None:
        super().__init__(connection, begin)


def _weaken(how: str) -> None:
    pragmas = [pragma.replace("= FULL", f"= {how}") for pragma in database._PRAGMAS]
    assert pragmas != list(database._PRAGMAS)
    database._PRAGMAS = tuple(pragmas)


def _forget_syncs() -> None:
    folder.sync = durable.sync = lambda fd: None


def _commit_late() -> None:
    database.Transaction = LateTransaction


def _swallow() -> None:
    database.Transaction = SwallowingTransaction


def _migrate_piecemeal() -> None:
    schema.Transaction = PiecemealTransaction


def _leak() -> None:
    database.DATABASE_ERRORS = ()


def _guess() -> None:
    def block(reader: BodyReader, number: int) -> bytes:
        size = min(BLOCK, reader.facts.size - number * BLOCK)
        try:
            return reader._fetch(number * BLOCK, size)
        except Damaged:
            return bytes(size)

    BodyReader._block = block


def _do_not_queue() -> None:
    Turnstile.held = lambda self: contextlib.nullcontext()
    database.Transaction = DeferredTransaction


def _be_greedy() -> None:
    held = Turnstile.held

    @contextlib.contextmanager
    def held_long(turnstile: Turnstile) -> Generator[None]:
        Turnstile.held = held
        with turnstile.held():
            time.sleep(_GREEDY_SECONDS)
            yield

    Turnstile.held = held_long


_WAYS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "normal": lambda: _weaken("normal"),
    "off": lambda: _weaken("off"),
    "unsynced": _forget_syncs,
    "late": _commit_late,
    "swallowed": _swallow,
    "leaking": _leak,
    "guessing": _guess,
    "piecemeal": _migrate_piecemeal,
    "unordered": _do_not_queue,
    "greedy": _be_greedy,
}


def break_on_purpose(what: str) -> None:
    """Switch one safety off in this process."""
    _WAYS[what]()
