"""What every database has of the record in its columns, as values."""

from typing import Any

from keepwhole.canonical.entry import KINDS
from keepwhole.errors import NotFound
from keepwhole.store.protocol import Row, SessionInfo, Tombstone

COLUMNS = (
    "s.name, e.seq, e.kind, e.trace_id, e.artifact_id, e.previous, e.header, e.digest, e.chain, e.blocks, "
    "e.body, e.blob"
)
LIGHT = COLUMNS.replace("e.body", "CASE e.kind WHEN 'decision' THEN e.body END")
ENTRIES = "FROM entries e JOIN sessions s ON s.id = e.session WHERE s.name ="
OF_KIND = {kind: f"e.kind = '{kind}'" for kind in KINDS}
"""Kinds spelled out, as the partial indexes have them."""
STONE = "name, seq, chain, at, entries, stored"
TOMBSTONES = f"SELECT {STONE} FROM tombstones ORDER BY at, name"


def as_row(values: Any) -> Row:
    """A row of `COLUMNS`. What damage turned into another type is left empty, and so fails its check."""
    name, seq, kind, trace_id, artifact_id, previous, header, digest, chain, blocks, body, blob = values
    return Row(
        session=str(name),
        seq=seq if isinstance(seq, int) else 0,
        kind=str(kind),
        trace_id=str(trace_id),
        artifact_id=artifact_id if isinstance(artifact_id, str) else None,
        previous=_bytes_or_none(previous) or b"",
        header=_bytes_or_none(header) or b"",
        digest=_bytes_or_none(digest) or b"",
        chain=_bytes_or_none(chain) or b"",
        blocks=_bytes_or_none(blocks) or b"",
        inline=_bytes_or_none(body),
        blob=blob if isinstance(blob, str) else None,
    )


def _bytes_or_none(value: object) -> bytes | None:
    return value if isinstance(value, bytes) else None


def as_session(values: Any) -> SessionInfo:
    """A row of a query for sessions."""
    name, agent, workspace, created_at, ephemeral, ended_at, entries, stored, last = values
    return SessionInfo(
        name=name,
        agent=agent,
        workspace=workspace,
        created_at=created_at,
        ephemeral=bool(ephemeral),
        ended_at=ended_at,
        entries=entries or 0,
        stored=stored or 0,
        last_at=last or created_at,
    )


def as_tombstone(values: Any) -> Tombstone:
    """A row of `STONE`."""
    name, seq, chain, at, entries, stored = values
    return Tombstone(name=name, seq=seq, chain=chain, at=at, entries=entries, stored=stored)


def as_bytes(text: str) -> bytes:
    """Text of a provider as bytes: lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


def no_session(session: str) -> NotFound:
    """The error for a name that no session has."""
    return NotFound(f"There is no session `{session}`. `keepwhole sessions list` shows those there are.")
