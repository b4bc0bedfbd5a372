"""Adding entries to a session: one call of the server's `append`, which comes once however often it is sent.

Owns: that an append whose outcome nobody told is there once, and that the server chained what it was given.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.types.numeric import Int8

from holdfast.canonical.entry import KIND_OF, Entry, Result, header_bytes, next_chain
from holdfast.errors import Damaged
from holdfast.store.postgres import table
from holdfast.store.postgres.server import Server
from holdfast.store.protocol import Draft, Row, call_id_of, check_quota, entry_of

_NO_SESSION, _OVER_QUOTA = "HF001", "HF002"
_NO_QUOTA = (1 << 63) - 1
_MOST, _MOST_BYTES = 500, 8_388_608
"""What one call takes; more goes in several, in one transaction."""
_DRAFT = "ROW(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)::draft"


class _Sent(NamedTuple):
    """A draft with the bytes of its header, which the chain covers."""

    draft: Draft
    header: bytes


def append(
    server: Server, session: str, drafts: Sequence[Draft], once: bool, quota: int | None
) -> Callable[[], list[Entry]]:
    """What adds entries, all or none, when it is called, and again is no harm; on return they are on the server's disk.

    It carries a mark of its own, by which the server knows it when it comes again: an earlier call may have come
    through, or be on its way still.
    """
    parts = list(_parts([_Sent(draft, header_bytes(draft.header, draft.body.facts)) for draft in drafts]))
    mark, most = os.urandom(16), _NO_QUOTA if quota is None else quota

    def attempt() -> list[Entry]:
        try:
            return _append(server, session, parts, mark, once, most)
        except psycopg.Error as error:
            if error.sqlstate == _NO_SESSION:
                raise table.no_session(session) from None
            if error.sqlstate == _OVER_QUOTA:
                check_quota(most + 1, most)
            raise

    return attempt


def _append(
    server: Server, session: str, parts: Sequence[Sequence[_Sent]], mark: bytes, once: bool, quota: int
) -> list[Entry]:
    asked = (session, server.key(f"session/{session}"))
    if len(parts) == 1:
        return _told(session, parts[0], server.ask(*_call(asked, parts[0], mark, once, quota)))
    entries: list[Entry] = []
    again: set[str] = set()
    with server.transaction() as execute:
        for number, part in enumerate(parts):
            part = [sent for sent in part if _is_wanted(sent.draft, again)]
            rows = execute(*_call(asked, part, mark + number.to_bytes(4, "big"), once, quota)).fetchall()
            again.update(part[row[0] - 1].draft.header.trace_id for row in rows if row[4] is not None)
            entries += _told(session, part, rows)
    return entries


def _is_wanted(draft: Draft, again: set[str]) -> bool:
    """Whether a draft is none about a result that is on record already."""
    return isinstance(draft.header, Result) or draft.header.trace_id not in again


def _parts(drafts: Sequence[_Sent]) -> Iterator[list[_Sent]]:
    """The drafts, so many at a time as one call takes."""
    part: list[_Sent] = []
    size = 0
    for sent in drafts:
        weight = len(sent.draft.body.inline or b"")
        if part and (len(part) == _MOST or size + weight > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(sent)
        size += weight
    yield part


def _call(asked: tuple[str, str], part: Sequence[_Sent], mark: bytes, once: bool, quota: int) -> tuple[str, list[Any]]:
    """The query and its values."""
    values: list[Any] = [*asked, mark, once, Int8(quota)]
    for sent in part:
        values += _values(*sent)
    rows = ", ".join([_DRAFT] * len(part))
    return f"SELECT * FROM append(%s, %s, %s, %s, %s, ARRAY[{rows}]::draft[])", values


def _values(draft: Draft, raw: bytes) -> tuple[Any, ...]:
    """What a `draft` of the server has; a body with a name of its own becomes a piece."""
    header, body, facts, call_id = draft.header, draft.body, draft.body.facts, call_id_of(draft)
    artifact_id = header.artifact_id if isinstance(header, Result) else None
    return (
        *(KIND_OF[type(header)], header.trace_id, artifact_id, None if call_id is None else table.as_bytes(call_id)),
        *(Int8(header.at), Int8(facts.size), raw, facts.digest, facts.blocks, body.blob, body.inline),
    )


def _told(session: str, part: Sequence[_Sent], rows: Sequence[Any]) -> list[Entry]:
    """The entries the server told of, in the order of the drafts; each must be what was sent."""
    entries: list[Entry] = []
    for place, seq, previous, chain, kind, trace_id, artifact_id, header, digest, blocks in rows:
        if kind is not None:
            row = Row(session, seq, kind, trace_id, artifact_id, previous, header, digest, chain, blocks, None, None)
            entries.append(entry_of(row))
            continue
        draft, raw = part[place - 1]
        facts = draft.body.facts
        if next_chain(previous, raw, facts.digest) != chain:
            raise Damaged(f"Entry {seq} of session `{session}` was not written as it was sent. Check the server.")
        entries.append(Entry(session, seq, draft.header, facts, chain))
    return entries
