"""Opening the store at an address: PostgreSQL, a store of another package, or a folder with SQLite.

Owns: which back end an address belongs to, and which addresses the settings accept. A package offers a back end for
`scheme://…` as a callable that takes the address and returns a `Store`:

    [project.entry-points."keepwhole.stores"]
    scheme = "my_package.store:open_store"
"""

import os
import re

from keepwhole import plugins
from keepwhole.errors import ConfigError, StoreRefused, UsageError
from keepwhole.install import install_hint
from keepwhole.store.blobs.bucket_address import bucket_of, is_bucket
from keepwhole.store.postgres import address as postgres
from keepwhole.store.protocol import Store

_ADDRESS = re.compile(r"\A[a-z][a-z0-9+.-]*://", re.I)


def is_address(text: str) -> bool:
    """Return whether this is the address of a record on a server or of an installed package, rather than a folder."""
    return postgres.is_address(text) or ("://" in text and _scheme(text) in plugins.names("stores"))


def check_folder(text: str) -> None:
    """Raise `UsageError` for an address, which would otherwise become the name of a folder."""
    if not _ADDRESS.match(text):
        return
    if is_address(text):
        raise UsageError(f"`{postgres.redacted(text)}` is an address, not a folder. Set it as `store`.")
    raise _unknown_address(text)


def open_store(
    address: str,
    folder: str,
    *,
    inline_body: int,
    blobs: str = "",
    patience: float | None = None,
    connections: int | None = None,
) -> Store:
    """Open the store that settings name; `folder` holds the record, or bodies on their way to a server.

    Bodies over `inline_body` bytes go to `blobs` if that is set; `connections` limits those to a server. A store of
    another package is given its address alone.
    """
    if not address:
        from keepwhole.store.sqlite.store import SqliteStore  # settings are checked without it

        return SqliteStore(folder, blobs=blobs, inline_body=inline_body, patience=patience)
    if not postgres.is_address(address):
        return _open_plugin(address)
    try:
        from keepwhole.store.postgres.store import PostgresStore
    except ImportError as error:
        raise StoreRefused(
            f"A record in PostgreSQL needs `psycopg`. Install it with {install_hint('postgres')}."
        ) from error
    own = {} if connections is None else {"connections": connections}
    return PostgresStore(address, folder, blobs=blobs, inline_body=inline_body, patience=patience, **own)


def _open_plugin(address: str) -> Store:
    open_it = plugins.load("stores", _scheme(address)) if "://" in address else None
    if open_it is None:
        raise _unknown_address(address)
    return open_it(address)


def _unknown_address(address: str) -> UsageError:
    known = ", ".join(f"`{scheme}://`" for scheme in ("postgresql", *plugins.names("stores")))
    return UsageError(
        f"No store is known for `{postgres.redacted(address)}`. Known addresses begin with {known}; for a folder, give "
        "its path."
    )


def _scheme(address: str) -> str:
    return address.partition("://")[0]


def checked_store(value: object) -> object:
    """Return the address of a server; another value is not repeated, since a password may be in it."""
    if not isinstance(value, str) or (value and not is_address(value)):
        raise ConfigError(
            "`store` is not an address. Give `postgresql://user@host/database`; for a folder, set `KEEPWHOLE_HOME`."
        )
    return postgres.Hidden(value)


def checked_blobs(value: object) -> object:
    """Return the address of a bucket, or a folder; another value is not repeated, since a key may be in it."""
    if isinstance(value, str) and is_bucket(value):
        bucket_of(value)
        return postgres.Hidden(value)
    folder = os.path.expanduser(value) if isinstance(value, str) else ""
    if not isinstance(value, str) or "://" in value or (value and not os.path.isabs(folder)):
        raise ConfigError(
            "`blobs` is neither `s3://bucket/prefix` nor the absolute path of a folder. Give one of these."
        )
    return folder
