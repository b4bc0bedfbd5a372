"""A temporary PostgreSQL server from a wheel, on the disk that is measured."""

import itertools
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from bench.support.postgres_wheel import start_postgres
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
    server = start_postgres(str(setup.parent))
    try:
        yield Database(server)
    finally:
        server.cleanup()
