"""Adding entries to a session: one call of the server's `append`, which comes once however often it is sent.

Owns: that an append whose outcome nobody told is there once, and that the server chained what it was given.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

import psycopg
from psycopg.postgres import types as oids

from keepwhole.canonical.entry import KIND_OF, Entry, Result, header_bytes, next_chain
from keepwhole.errors import Damaged
from keepwhole.store.columns import as_bytes, no_session
from keepwhole.store.postgres.server import Call, Server, Statement
from keepwhole.store.protocol import Draft, Row, Terms, call_id_of, elsewhere, entry_of, over_quota, overtaken

_NO_SESSION, _OVER_QUOTA, _OVERTAKEN, _ELSEWHERE = "HF001", "HF002", "HF003", "HF004"
_NO_QUOTA = (1 << 63) - 1
_MOST, _MOST_BYTES = 500, 8_388_608
"""What one call takes; more goes in several, in one transaction."""
_TEXT, _BYTES, _INT, _BOOL = (oids[name].oid for name in ("text", "bytea", "int8", "bool"))
_ASKED = (_TEXT, _TEXT, _BYTES, _BOOL, _BOOL, _INT, _INT, _BYTES)
_DRAFT = (_TEXT, _TEXT, _TEXT, _BYTES, _INT, _INT, _BYTES, _BYTES, _BYTES, _TEXT, _BYTES)


class _Sent(NamedTuple):
    """A draft with the bytes of its header, which the chain covers."""

    draft: Draft
    header: bytes

    @property
    def values(self) -> tuple[bytes | None, ...]:
        """As the server has them; a body with a name of its own becomes a piece."""
        header, body, facts, call_id = self.draft.header, self.draft.body, self.draft.body.facts, call_id_of(self.draft)
        return (
            *(KIND_OF[type(header)].encode(), header.trace_id.encode()),
            header.artifact_id.encode() if isinstance(header, Result) else None,
            None if call_id is None else as_bytes(call_id),
            *(_int(header.at), _int(facts.size), self.header, facts.digest, facts.blocks),
            *(None if body.blob is None else body.blob.encode(), body.inline),
        )


class Append:
    """An append that may be sent more than once, and whose mark tells the server so."""

    def __init__(self, server: Server, session: str, drafts: Sequence[Draft], terms: Terms) -> None:
        self._server, self._session, self._terms = server, session, terms
        self._mark, self._sent_before = os.urandom(12), False
        sent = [_Sent(draft, header_bytes(draft.header, draft.body.facts)) for draft in drafts]
        self._parts = list(_parts(sent))

    def __call__(self) -> list[Entry]:
        """Send it; on return the entries are on the server's disk."""
        try:
            with self._server.calls(together=len(self._parts) > 1) as call:
                return list(self._entries(call))
        except psycopg.Error as error:
            if error.sqlstate == _NO_SESSION:
                raise no_session(self._session) from None
            if error.sqlstate == _OVER_QUOTA:
                raise over_quota() from None
            if error.sqlstate == _OVERTAKEN:
                raise overtaken(self._terms.get("after")) from None
            if error.sqlstate == _ELSEWHERE:
                raise elsewhere(self._session) from None
            raise
        finally:
            self._sent_before = True

    def _entries(self, call: Call) -> Iterator[Entry]:
        again: set[str] = set()
        for number, part in enumerate(self._parts):
            part = [sent for sent in part if _is_wanted(sent.draft, again)] if again else part
            result = call(
                _statement(len(part)), [*self._asked(number), *(value for sent in part for value in sent.values)]
            )
            for row in range(result.ntuples):
                sent, entry = _told(self._session, part, partial(result.get_value, row))
                if entry.header is not sent.draft.header:
                    again.add(sent.draft.header.trace_id)
                yield entry

    def _asked(self, number: int) -> tuple[bytes | None, ...]:
        """What a call says besides its drafts; where the session must stand is for the first of several."""
        key, first = self._server.key(f"session/{self._session}"), not number
        quota, after = self._terms.get("quota"), self._terms.get("after") if first else None
        return (
            *(self._session.encode(), key.encode(), self._mark + number.to_bytes(4, "big")),
            *(_bool(self._sent_before), _bool(self._terms.get("once", False))),
            *(_int(_NO_QUOTA if quota is None else quota), None if after is None else _int(after)),
            self._terms.get("head") if first else None,
        )


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


@cache
def _statement(count: int) -> Statement:
    """The call of `append` with so many drafts."""
    places = iter(range(1, len(_ASKED) + count * len(_DRAFT) + 1))
    asked = ", ".join(f"${next(places)}" for _ in _ASKED)
    drafts = (", ".join(f"${next(places)}" for _ in _DRAFT) for _ in range(count))
    rows = ", ".join(f"ROW({draft})::draft" for draft in drafts)
    return Statement(f"SELECT * FROM append({asked}, ARRAY[{rows}]::draft[])", _ASKED + _DRAFT * count)


def _told(session: str, part: Sequence[_Sent], value: Callable[[int], bytes | None]) -> tuple[_Sent, Entry]:
    """What a row of the answer is about, and its entry: as it was sent, or one that was there before."""
    place, seq, previous, chain, kind = (value(column) or b"" for column in range(5))
    sent, number = part[int.from_bytes(place, "big") - 1], int.from_bytes(seq, "big")
    if kind:
        trace_id, artifact_id, header, digest, blocks = (value(column) or b"" for column in range(5, 10))
        ids = (kind.decode(), trace_id.decode(), artifact_id.decode() or None)
        return sent, entry_of(Row(session, number, *ids, previous, header, digest, chain, blocks, None, None))
    facts = sent.draft.body.facts
    if next_chain(previous, sent.header, facts.digest) != chain:
        raise Damaged(f"Entry {number} of session `{session}` was not written as it was sent. Check the server.")
    return sent, Entry(session, number, sent.draft.header, facts, chain)


def _int(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def _bool(value: bool) -> bytes:
    return b"\1" if value else b"\0"
