"""The schema of the record: created and brought up to date by the numbered scripts in `sql/`, when its owner asks."""

import os
from typing import Any

from psycopg import Connection, sql

from keepwhole.errors import StoreRefused
from keepwhole.install import newer_schema
from keepwhole.store.postgres.address import Address
from keepwhole.version import VERSION

SQL = os.path.join(os.path.dirname(__file__), "sql")
_LOCK = 0x486F6C6466617374
_READ = "sessions, entries, pieces, endings, tombstones, record, migrations, passages, indexed"
_CALLED = (
    "append, next_chain, open_session, end_session, put_piece, condemn, remove, purge, restart, index_passages, "
    "newest, secret, add_forgotten, removed_up_to"
)
_GRANTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}",
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM {role}",
    f"GRANT SELECT ON {_READ} TO {{role}}",
    f"GRANT EXECUTE ON FUNCTION {_CALLED} TO {{role}}",
)
"""Who writes the record reads its tables, and changes them by functions alone, which run as the owner."""


def scripts() -> list[str]:
    """Return the migration scripts, in order."""
    texts: list[str] = []
    for name in sorted(name for name in os.listdir(SQL) if name.endswith(".sql")):
        with open(os.path.join(SQL, name), encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def version_of(connection: Connection[Any]) -> int:
    """Return the version of the schema in the connection's search path; 0 for none."""
    if connection.execute("SELECT to_regclass('migrations')").fetchone() == (None,):
        return 0
    row = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
    return row[0] if row else 0


def needed_version(connection: Connection[Any]) -> str:
    """Return the version of Keepwhole that brought the schema to its version; empty where it does not say."""
    if not _says_what_it_needs(connection):
        return ""
    row = connection.execute("SELECT needs FROM migrations ORDER BY version DESC LIMIT 1").fetchone()
    return (row[0] or "") if row else ""


def _says_what_it_needs(connection: Connection[Any]) -> bool:
    query = "SELECT 1 FROM pg_attribute WHERE attrelid = 'migrations'::regclass AND attname = 'needs'"
    return connection.execute(query).fetchone() is not None


def refuse_other(address: Address, connection: Connection[Any]) -> None:
    """Raise `StoreRefused` for a schema of another version; for a newer one it names the version that reads it."""
    known, found = len(scripts()), version_of(connection)
    if found > known:
        raise StoreRefused(newer_schema(f"`{address.shown}`", found, known, needed_version(connection)))
    if found < known:
        raise StoreRefused(
            f"`{address.shown}` has no record of this version in its schema `{address.schema}` yet. "
            f"Run `keepwhole store migrate` with `KEEPWHOLE_STORE={address.shown}`, as the schema's owner."
        )


def _writers(connection: Connection[Any]) -> list[str]:
    """Return the roles that may write to the record."""
    query = (
        "SELECT DISTINCT r.rolname FROM pg_proc p, aclexplode(p.proacl) a JOIN pg_roles r ON r.oid = a.grantee "
        "WHERE p.oid = 'append'::regproc AND a.grantee <> p.proowner"
    )
    return [name for (name,) in connection.execute(query).fetchall()]


def _refuse_others_schema(connection: Connection[Any], address: Address) -> None:
    """Raise `StoreRefused` for a schema in which somebody else can drop, change or shadow what is created now."""
    row = connection.execute(
        "SELECT pg_get_userbyid(nspowner), current_user, (SELECT min(CASE a.grantee WHEN 0 THEN 'PUBLIC' "
        "ELSE pg_get_userbyid(a.grantee)::text END) FROM aclexplode(nspacl) a "
        "WHERE a.privilege_type = 'CREATE' AND a.grantee <> nspowner) FROM pg_namespace WHERE nspname = %s",
        (address.schema,),
    ).fetchone()
    owner, me, creator = row or ("", "", None)
    if owner != me or creator is not None:
        whose = f"belongs to `{owner}`, not to `{me}`" if owner != me else f"lets `{creator}` create in it"
        raise StoreRefused(
            f"The schema `{address.schema}` at `{address.shown}` {whose}, who could take the record away. Nothing was "
            "changed. Run `keepwhole store migrate` as the schema's owner, with no right to create in it for others; "
            "or choose another schema with `?schema=`."
        )


def migrate(connection: Connection[Any], address: Address, role: str | None = None) -> int:
    """Bring the schema up to date in one transaction; return how many scripts were run.

    A `role` may then add to the record and read it, but neither change nor delete. Roles that could before still can.
    """
    names = {"schema": sql.Identifier(address.schema)}
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if connection.execute("SELECT to_regnamespace(%s)", (address.schema,)).fetchone() == (None,):
            connection.execute(sql.SQL("CREATE SCHEMA {schema}").format(**names))
        _refuse_others_schema(connection, address)
        connection.execute(sql.SQL("SET LOCAL search_path TO {schema}, pg_temp").format(**names))
        found = version_of(connection)
        if found > len(scripts()):
            refuse_other(address, connection)
        writers = {*(_writers(connection) if found else ()), *([role] if role else ())}
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (version bigint PRIMARY KEY)")
        for version, script in enumerate(scripts()[found:], found + 1):
            connection.execute(script.encode())
            connection.execute("INSERT INTO migrations (version) VALUES (%s)", (version,))
        if _says_what_it_needs(connection):
            connection.execute("UPDATE migrations SET needs = %s WHERE needs IS NULL", (VERSION,))
        for kind in ("TABLES", "FUNCTIONS"):
            connection.execute(sql.SQL(f"REVOKE ALL ON ALL {kind} IN SCHEMA {{schema}} FROM PUBLIC").format(**names))
        for writer in sorted(writers):
            for grant in _GRANTS:
                connection.execute(sql.SQL(grant).format(**names, role=sql.Identifier(writer)))
    return len(scripts()) - found
