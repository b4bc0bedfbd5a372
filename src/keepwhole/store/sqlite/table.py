"""The statements of SQLite's tables that PostgreSQL does not share."""

from keepwhole.canonical.entry import GENESIS
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import NotStored
from keepwhole.store.protocol import Draft, Head, Row, SessionInfo, call_id_of
from keepwhole.store.row_check import describe
from keepwhole.store.sql_store import COLUMNS, ENTRIES, Execute, as_bytes, as_row, unknown_session

SESSIONS = """
SELECT s.name, s.agent, s.workspace, s.created_at, s.ephemeral, d.at,
       (SELECT seq FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1)
       - coalesce((SELECT seq FROM tombstones t WHERE t.name = s.name), 0),
       (SELECT stored FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1),
       coalesce((SELECT at FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1), s.created_at) AS last
FROM sessions s LEFT JOIN endings d ON d.session = s.id
"""
"""Numbers have no gap, so the entries of a session need not be counted."""
BY_LAST = " ORDER BY last DESC, s.id DESC"
AMONG_NEWEST = """
WHERE s.id IN (
    SELECT s.id FROM sessions s ORDER BY
        coalesce((SELECT at FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1), s.created_at) DESC,
        s.id DESC LIMIT ?
)
"""
_NEWER = "SELECT 1 FROM entries WHERE session = ? AND seq > ? AND kind IN ('result', 'decision') LIMIT 1"
_INSERT_SESSION = (
    "INSERT INTO sessions (name, agent, workspace, created_at, ephemeral) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (name) DO NOTHING"
)
_INSERT_ENTRY = (
    "INSERT INTO entries (session, seq, kind, trace_id, artifact_id, call_id, at, stored, previous, header, "
    "digest, chain, blob, blocks, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def insert_session(execute: Execute, info: SessionInfo) -> tuple[int, bytes] | None:
    """Add a session; return its number and the digest of its description. None if there is one of that name."""
    agent = None if info.agent is None else showable(info.agent)
    workspace = None if info.workspace is None else showable(info.workspace)
    about = (info.name, agent, workspace, info.created_at, int(info.ephemeral))
    added = execute(_INSERT_SESSION, about)
    return (added.lastrowid, describe(about)) if added.rowcount else None


def insert_entry(execute: Execute, number: int, row: Row, draft: Draft, stored: int) -> int:
    """Add an entry to the session with this number and return its row id; `stored` is the session's total with it."""
    header, call_id = draft.header, call_id_of(draft)
    added = execute(
        _INSERT_ENTRY,
        (
            *(number, row.seq, row.kind, row.trace_id, row.artifact_id, None if call_id is None else as_bytes(call_id)),
            *(header.at, stored, row.previous, row.header, row.digest, row.chain, row.blob, row.blocks, row.inline),
        ),
    )
    if added.rowcount != 1:  # something in the database swallowed it
        raise NotStored("The database did not take an entry that it was given. Run `keepwhole doctor`.")
    return added.lastrowid


def condemn(execute: Execute, blob: str) -> bool:
    """Make sure that no entry ever refers to a body; return whether none refers to it."""
    if execute("SELECT 1 FROM entries WHERE blob = ?", (blob,)).fetchone():
        return False
    execute("INSERT INTO condemned VALUES (?) ON CONFLICT DO NOTHING", (blob,))
    return True


def is_overtaken(execute: Execute, number: int, after: int) -> bool:
    """Return whether a session has a result or a decision with a greater number."""
    return execute(_NEWER, (number, after)).fetchone() is not None


def known_call(execute: Execute, session: str, draft: Draft) -> Row | None:
    """Return the stored row that this draft repeats: the same call with the same bytes."""
    call_id = call_id_of(draft)
    if call_id is None:
        return None
    query = f"SELECT {COLUMNS} {ENTRIES} AND e.call_id = ? AND e.digest = ? ORDER BY +e.seq LIMIT 1"
    values = execute(query, (session, as_bytes(call_id), draft.body.facts.digest)).fetchone()
    return None if values is None else as_row(values)


def number_and_head(execute: Execute, session: str) -> tuple[int, Head]:
    """Return the number of a session and the head of its chain, in one query."""
    row = execute(
        "SELECT s.id, e.seq, e.chain, e.stored FROM sessions s LEFT JOIN entries e ON e.session = s.id "
        "WHERE s.name = ? ORDER BY e.seq DESC LIMIT 1",
        (session,),
    ).fetchone()
    if row is None or row[1] is None:
        number = number_of(execute, session)
        return number, head_of(execute, session, number)
    return row[0], Head(*row[1:])


def number_of(execute: Execute, session: str) -> int:
    """Return the number of a session in this file."""
    row = execute("SELECT id FROM sessions WHERE name = ?", (session,)).fetchone()
    if row is None:
        raise unknown_session(session)
    return row[0]


def head_of(execute: Execute, session: str, number: int) -> Head:
    """Return the head of a session: last seq, last hash, bytes stored; those of its tombstone if it was purged."""
    row = execute(
        "SELECT seq, chain, stored FROM entries WHERE session = ? ORDER BY seq DESC LIMIT 1", (number,)
    ).fetchone()
    if row is None:
        row = execute("SELECT seq, chain, 0 FROM tombstones WHERE name = ?", (session,)).fetchone()
    return Head(*row) if row else Head(0, GENESIS, 0)
