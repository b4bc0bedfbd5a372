"""The record's SQL, and its rows as values."""

from collections.abc import Callable
from typing import Any, TypeAlias

from keepwhole.canonical.utf8 import showable
from keepwhole.store.columns import ENTRIES
from keepwhole.store.protocol import SessionInfo

Execute: TypeAlias = Callable[..., Any]

FROM = f"{ENTRIES} %s"
SESSIONS = """
SELECT s.name, s.agent, s.workspace, s.created_at, s.ephemeral, d.at,
       coalesce(h.seq - coalesce(t.seq, 0), 0), coalesce(h.stored, 0), coalesce(h.at, s.created_at) AS last
FROM sessions s LEFT JOIN endings d ON d.session = s.id LEFT JOIN tombstones t ON t.name = s.name
LEFT JOIN LATERAL (SELECT seq, stored, at FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1) h ON true
"""
"""Numbers have no gap, so the entries of a session need not be counted."""
OF_CALL = "e.call_id IS NOT NULL AND sha256(e.call_id) = sha256(%s) AND e.call_id = %s"
OTHER_LETTERS = "right(e.artifact_id, 22) <> right(e.trace_id, 22)"
"""Artifacts that cannot be found by their result's id."""
_INSERT_SESSION = (
    "INSERT INTO sessions (name, agent, workspace, created_at, ephemeral) VALUES (%s, %s, %s, %s, %s) "
    "ON CONFLICT (name) DO NOTHING"
)


def insert_session(execute: Execute, info: SessionInfo) -> None:
    """Add a session unless there is one of that name."""
    agent = None if info.agent is None else as_text(info.agent)
    workspace = None if info.workspace is None else as_text(info.workspace)
    execute(_INSERT_SESSION, (info.name, agent, workspace, info.created_at, info.ephemeral))


def as_text(text: str) -> str:
    """Text that the server takes: no lone surrogate, no NUL."""
    return showable(text).replace("\0", "\ufffd")
