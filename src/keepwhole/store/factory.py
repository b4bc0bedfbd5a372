"""The store at an address: PostgreSQL where the address says so, else the folder of the record."""

from keepwhole.errors import StoreRefused
from keepwhole.install import install_hint
from keepwhole.store.postgres.address import is_address
from keepwhole.store.protocol import Store
from keepwhole.store.sqlite.store import SqliteStore


def open_store(address: str, folder: str, *, inline_body: int, blobs: str = "", patience: float | None = None) -> Store:
    """The store that settings name; `folder` holds the record, or what is on its way to a server.

    Bodies over `inline_body` bytes go to `blobs` where that is set.
    """
    if not is_address(address):
        return SqliteStore(folder, blobs=blobs, inline_body=inline_body, patience=patience)
    try:
        from keepwhole.store.postgres.store import PostgresStore
    except ImportError as error:
        raise StoreRefused(
            f"A record in PostgreSQL needs `psycopg`. Install it with {install_hint('postgres')}."
        ) from error
    return PostgresStore(address, folder, blobs=blobs, inline_body=inline_body, patience=patience)
