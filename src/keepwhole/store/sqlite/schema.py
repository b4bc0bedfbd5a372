"""The schema of the file: created once, migrated by the numbered scripts in `sql/`, each in one transaction."""

import os
import re
import sqlite3
from collections.abc import Callable, Sequence

from keepwhole.errors import StoreRefused
from keepwhole.install import newer_schema
from keepwhole.store.durable import sync
from keepwhole.store.regular_file import open_regular
from keepwhole.version import VERSION

APPLICATION_ID = 0x486F6C64
_HEADER, _VERSION_AT = 100, 60
SQL = os.path.join(os.path.dirname(__file__), "sql")
_CREATES = re.compile(r"CREATE (?:UNIQUE |VIRTUAL )?(TABLE|INDEX|TRIGGER) (\w+)")
_OF_THE_INDEX = frozenset(("passages_config", "passages_data", "passages_idx"))
"""The tables that FTS5 makes for itself."""


class Transaction:
    """A transaction as a context manager, which commits at the end and rolls back on any error."""

    def __init__(self, connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> None:
        self._connection = connection
        self._begin = begin

    def __enter__(self) -> Callable[..., sqlite3.Cursor]:
        """Begin, and return the connection's `execute`."""
        self._connection.execute(self._begin)
        return self._connection.execute

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit, or roll back."""
        if kind is None:
            try:
                self._connection.execute("COMMIT")
                return
            except sqlite3.Error:
                self._roll_back()
                raise
        self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def scripts() -> list[str]:
    """Return the migration scripts, in order."""
    names = sorted(name for name in os.listdir(SQL) if name.endswith(".sql"))
    texts: list[str] = []
    for name in names:
        with open(os.path.join(SQL, name), encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def version_of(connection: sqlite3.Connection) -> int:
    """Return the schema version of the open file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def version_in_file(path: str) -> int:
    """Return the schema version in a file's header, without opening it as a database; 0 for none."""
    try:
        with open_regular(path) as file:  # a pipe would be waited for
            header = file.read(_HEADER)
    except FileNotFoundError:
        return 0
    known = len(header) == _HEADER and header.startswith(b"SQLite format 3\x00")
    return int.from_bytes(header[_VERSION_AT : _VERSION_AT + 4], "big") if known else 0


def refuse_newer(path: str, found: int, known: int, connection: sqlite3.Connection | None = None) -> None:
    """Raise `StoreRefused` for a file that a later Keepwhole wrote; it names the version that reads it."""
    if found > known:
        needs = needed_version(connection) if connection is not None else _needed_version_in_file(path)
        raise StoreRefused(newer_schema(f"`{path}`", found, known, needs))


def needed_version(connection: sqlite3.Connection) -> str:
    """Return the version of Keepwhole that brought a file to its schema; empty where the file does not say."""
    try:
        row = connection.execute("SELECT needs FROM formats ORDER BY schema DESC LIMIT 1").fetchone()
    except sqlite3.Error:
        return ""
    return str(row[0]) if row else ""


def _needed_version_in_file(path: str) -> str:
    """The same, of a file that is not opened for anything else: nothing is created beside it."""
    try:
        from urllib.parse import quote  # most commands never need it, and it takes long to import

        connection = sqlite3.connect(f"file:{quote(path)}?immutable=1", uri=True)
    except sqlite3.Error:
        return ""
    try:
        return needed_version(connection)
    finally:
        connection.close()


def migrate(connection: sqlite3.Connection, path: str, migrations: Sequence[str]) -> None:
    """Bring the file up to date, each script in one transaction; a file that may have data is copied first."""
    found = version_of(connection)
    refuse_newer(path, found, len(migrations), connection)
    if found == len(migrations):
        return
    if int(connection.execute("PRAGMA application_id").fetchone()[0]) not in (0, APPLICATION_ID):
        raise StoreRefused(f"`{path}` belongs to another program. Set `KEEPWHOLE_HOME` to another folder.")
    if found == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
    else:
        _back_up(connection, f"{path}.before-{found + 1}")
    ends = [len(migrations)] if found == 0 else range(found + 1, len(migrations) + 1)
    for end in ends:
        with Transaction(connection, "BEGIN EXCLUSIVE") as execute:
            for statement in (each for script in migrations[found:end] for each in statements(script)):
                execute(statement)
            if execute("SELECT 1 FROM sqlite_master WHERE name = 'formats'").fetchone():
                execute("INSERT INTO formats VALUES (?, ?)", (end, VERSION))
            execute(f"PRAGMA application_id = {APPLICATION_ID}")
            execute(f"PRAGMA user_version = {end}")
        found = end


def statements(script: str) -> list[str]:
    """Return the statements of a script, triggers whole."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found


def strange_objects(connection: sqlite3.Connection, migrations: Sequence[str]) -> list[str]:
    """Return what in the schema of an up-to-date file is not what the scripts make: added, changed or missing."""
    expected = {found.group(2): (found.group(1).lower(), sql) for found, sql in _created(migrations)}
    strange: list[str] = []
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
        if kind in ("table", "index") and (name.startswith("sqlite_") or name in _OF_THE_INDEX):
            continue
        wanted = expected.pop(name, None)
        if wanted is None:
            strange.append(f"the {kind} `{name}` is not Keepwhole's")
        elif wanted != (kind, _plain(sql)):
            strange.append(f"the {kind} `{name}` was changed")
    return strange + [f"the {kind} `{name}` is missing" for name, (kind, _) in expected.items()]


def _created(migrations: Sequence[str]) -> list[tuple[re.Match[str], str]]:
    """Return the statements that create something, as the file keeps them."""
    plain = (_plain(statement) for script in migrations for statement in statements(script))
    return [(found, statement) for statement in plain if (found := _CREATES.match(statement)) is not None]


def _plain(statement: str | None) -> str:
    """Return a statement without comments, in one line."""
    lines = (line.partition("--")[0] for line in (statement or "").splitlines())
    return " ".join(" ".join(lines).split()).removesuffix(";").rstrip()


def _back_up(connection: sqlite3.Connection, target: str) -> None:
    part = target + ".part"
    if os.path.exists(part):
        os.unlink(part)
    connection.execute("VACUUM INTO ?", (part,))
    fd = os.open(part, os.O_RDWR)
    try:
        os.fchmod(fd, 0o600)
        sync(fd)
    finally:
        os.close(fd)
    os.replace(part, target)
