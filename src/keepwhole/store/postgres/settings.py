"""The settings of every connection, and the servers that are refused because they would spoil a record.

Owns: that a setting of a role, a database or a server cannot change what is stored, nor when it is said to be stored.
"""

from typing import Any

from psycopg import Connection

from keepwhole.canonical.entry import GENESIS, next_chain
from keepwhole.errors import StoreRefused
from keepwhole.store.postgres.address import Address

_DEFAULTS = {"application_name": "keepwhole", "connect_timeout": 10, "keepalives_idle": 30, "tcp_user_timeout": 30_000}
_SET = {
    "TimeZone": "UTC",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    # No transaction here waits for its client: one that does belongs to a lost connection, and still has its locks.
    "idle_in_transaction_session_timeout": "10s",
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
}
_ASKED = ("synchronous_commit", "fsync", "session_replication_role")
_DURABLE = ("on", "remote_apply")
"""Values of `synchronous_commit` with which what is acknowledged is on the server's disk."""
_LOCK_SHARE = 0.8
"""The part of the patience that the server waits for locks, so that it says so before it is taken to be silent."""


def connection_options(address: Address) -> dict[str, Any]:
    """Return what a connection is opened with; what the address says about the connection itself is left to it."""
    options: dict[str, Any] = {key: value for key, value in _DEFAULTS.items() if f"{key}=" not in address.url}
    return {**options, "client_encoding": "utf8"}


def apply(connection: Connection[Any], address: Address, patience: float) -> None:
    """Set a connection up; raise `StoreRefused` for a server that loses or spoils what it is given."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreRefused(
            f"The database at `{address.shown}` has the encoding {encoding}, in which not every text can be stored. "
            "Create one with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`, and use that."
        )
    wait = f"{max(1, int(patience * 1000 * _LOCK_SHARE))}ms"
    changed = {"search_path": f"{address.schema}, pg_temp", "lock_timeout": wait, **_SET}
    query = ", ".join(
        [*("set_config(%s, %s, false)" for _ in changed), *(f"current_setting('{name}')" for name in _ASKED)]
    )
    values = [text for pair in changed.items() for text in pair]
    row: Any = connection.execute(f"SELECT {query}".encode(), values).fetchone()
    commit, fsync, triggers = row[len(changed) :]
    if commit not in _DURABLE or fsync != "on":
        raise StoreRefused(
            f"`{address.shown}` says that something is stored before it is on its disk "
            f"(`synchronous_commit = {commit}`, `fsync = {fsync}`). Set both to `on` for this role."
        )
    if triggers != "origin":
        raise StoreRefused(
            f"`{address.shown}` does not run the triggers that protect the record (`session_replication_role = "
            f"{triggers}`). Set it to `origin` for this role."
        )


def refuse_wrong_chain(connection: Connection[Any], address: Address) -> None:
    """Raise `StoreRefused` if the server computes another hash than this client: what it chained could not be read."""
    header, digest = b"header \\ '\0\xff", bytes(range(32))
    row = connection.execute("SELECT next_chain(%s, %s, %s)", (GENESIS, header, digest), binary=True).fetchone()
    if row is None or row[0] != next_chain(GENESIS, header, digest):
        raise StoreRefused(
            f"The functions of the record at `{address.shown}` do not do what this Keepwhole expects. Nothing was "
            "written. Run `keepwhole store migrate` as the schema's owner, and check the server's settings."
        )
