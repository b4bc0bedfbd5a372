"""The record's SQL, and its rows as values."""

from collections.abc import Callable
from typing import Any, TypeAlias

from holdfast.canonical.entry import GENESIS
from holdfast.canonical.utf8 import showable
from holdfast.errors import NotFound
from holdfast.store.protocol import Draft, Row, SessionInfo, call_id_of

Execute: TypeAlias = Callable[..., Any]

COLUMNS = (
    "s.name, e.seq, e.kind, e.trace_id, e.artifact_id, e.previous, e.header, e.digest, e.chain, e.blocks, "
    "e.body, e.blob"
)
LIGHT = COLUMNS.replace("e.body", "CASE e.kind WHEN 'decision' THEN e.body END")
FROM = "FROM entries e JOIN sessions s ON s.id = e.session WHERE s.name = %s"
SESSIONS = """
SELECT s.name, s.agent, s.workspace, s.created_at, s.ephemeral, d.at,
       coalesce(h.seq - coalesce(t.seq, 0), 0), coalesce(h.stored, 0), coalesce(h.at, s.created_at) AS last
FROM sessions s LEFT JOIN endings d ON d.session = s.id LEFT JOIN tombstones t ON t.name = s.name
LEFT JOIN LATERAL (SELECT seq, stored, at FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1) h ON true
"""
"""Numbers have no gap, so the entries of a session need not be counted."""
OF_CALL = "e.call_id IS NOT NULL AND sha256(e.call_id) = sha256(%s) AND e.call_id = %s"
INSERT_ENTRY = (
    "INSERT INTO entries (session, seq, kind, trace_id, artifact_id, call_id, at, stored, previous, header, "
    "digest, chain, blob, blocks, body) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
NEWER = "SELECT 1 FROM entries WHERE session = %s AND seq > %s AND kind IN ('result', 'decision') LIMIT 1"
_INSERT_SESSION = (
    "INSERT INTO sessions (name, agent, workspace, created_at, ephemeral) VALUES (%s, %s, %s, %s, %s) "
    "ON CONFLICT (name) DO NOTHING"
)
_HEAD = """
SELECT s.id, coalesce(e.seq, t.seq, 0), coalesce(e.chain, t.chain), coalesce(e.stored, 0)
FROM sessions s LEFT JOIN tombstones t ON t.name = s.name
LEFT JOIN LATERAL (SELECT * FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1) e ON true
WHERE s.name = %s
"""


def as_row(values: Any) -> Row:
    """A row of `COLUMNS`."""
    name, seq, kind, trace_id, artifact_id, previous, header, digest, chain, blocks, body, blob = values
    return Row(
        session=name,
        seq=seq,
        kind=kind,
        trace_id=trace_id,
        artifact_id=artifact_id,
        previous=previous,
        header=header,
        digest=digest,
        chain=chain,
        blocks=blocks,
        inline=body,
        blob=blob,
    )


def as_session(values: Any) -> SessionInfo:
    """A row of `SESSIONS`."""
    name, agent, workspace, created_at, ephemeral, ended_at, entries, stored, last = values
    return SessionInfo(
        name=name,
        agent=agent,
        workspace=workspace,
        created_at=created_at,
        ephemeral=ephemeral,
        ended_at=ended_at,
        entries=entries,
        stored=stored,
        last_at=last,
    )


def insert_session(execute: Execute, info: SessionInfo) -> None:
    """Add a session unless there is one of that name."""
    agent = None if info.agent is None else as_text(info.agent)
    workspace = None if info.workspace is None else as_text(info.workspace)
    execute(_INSERT_SESSION, (info.name, agent, workspace, info.created_at, info.ephemeral))


def entry_values(number: int, row: Row, draft: Draft, stored: int) -> tuple[Any, ...]:
    """What `INSERT_ENTRY` takes; `stored` is the session's total with this entry."""
    header, call_id = draft.header, call_id_of(draft)
    return (
        *(number, row.seq, row.kind, row.trace_id, row.artifact_id, None if call_id is None else as_bytes(call_id)),
        *(header.at, stored, row.previous, row.header, row.digest, row.chain, row.blob, row.blocks, row.inline),
    )


def known_call(execute: Execute, session: str, draft: Draft) -> Row | None:
    """The row on record that this draft is again: the same call with the same bytes."""
    call_id = call_id_of(draft)
    if call_id is None:
        return None
    query = f"SELECT {COLUMNS} {FROM} AND {OF_CALL} AND e.digest = %s ORDER BY e.seq LIMIT 1"
    call = as_bytes(call_id)
    values = execute(query, (session, call, call, draft.body.facts.digest)).fetchone()
    return None if values is None else as_row(values)


def number_and_head(execute: Execute, session: str) -> tuple[int, int, bytes, int]:
    """The number of a session and where its chain stands: last seq, last hash, bytes stored."""
    row = execute(_HEAD, (session,)).fetchone()
    if row is None:
        raise no_session(session)
    number, seq, chain, stored = row
    return number, seq, chain or GENESIS, stored


def no_session(session: str) -> NotFound:
    """The error for a name that no session has."""
    return NotFound(f"There is no session `{session}`. `holdfast sessions list` shows those there are.")


def as_text(text: str) -> str:
    """Text that the server takes: no lone surrogate, no NUL."""
    return showable(text).replace("\0", "\ufffd")


def as_bytes(text: str) -> bytes:
    """Text of a provider as bytes: lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")
