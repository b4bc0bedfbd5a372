"""Adding entries to a session: one call of the server's function `append`, which is safe to send more than once.

Owns: that an append whose answer was lost is stored once, and that the server chained what it was given.
Must not know: when a call is sent again.

Theory of operation
-------------------
The function `append` (`sql/0002_append.sql`) locks the session, reads its head, and numbers, chains and inserts the
drafts: one round trip, one transaction. The connection may break after the commit and before the answer. The caller
then cannot know whether the rows exist, and `Server.retry` sends the same `Append` again. For example:

    1st call   mark = 5a…01, two drafts    rows 8 and 9 inserted with attempt = 5a…01, committed; connection lost
    2nd call   mark = 5a…01, sent before   rows 8 and 9 have this mark: returned, nothing inserted

The mark is 12 random bytes for the whole append and 4 for the part: an append of more than 500 drafts or 8 MB is sent
as several calls in one transaction. Invariants:

- A draft is inserted at most once per mark, even if the first call reaches the server after the second.
- `after` and `head` are checked against the rows of others only: rows with the same first 12 bytes of the mark are this
  append's own. They are sent with the first part alone.
- The server answers each inserted draft with `previous` and `chain`; the chain is computed again here, so that a server
  that stored other bytes than it was sent is noticed before anything is acknowledged.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

import psycopg
from psycopg.postgres import types as oids
from psycopg.pq.abc import PGresult

from keepwhole.canonical.entry import KIND_OF, Entry, Result, header_bytes, next_chain
from keepwhole.errors import Damaged
from keepwhole.store.postgres.server import Call, Server
from keepwhole.store.postgres.statements import Statement, Values
from keepwhole.store.protocol import Draft, Row, Terms, call_id_of, entry_of, head_error, overtaken_error, quota_error
from keepwhole.store.sql_store import as_bytes, unknown_session

_NO_SESSION, _OVER_QUOTA, _OVERTAKEN, _OTHER_HEAD = "HF001", "HF002", "HF003", "HF004"
_NO_QUOTA = (1 << 63) - 1
_MOST, _MOST_BYTES = 500, 8_388_608
"""Drafts and bytes of one call; more are sent in several, in one transaction."""
_TEXT, _BYTES, _INT, _BOOL = (oids[name].oid for name in ("text", "bytea", "int8", "bool"))
_ARGUMENTS = (_TEXT, _BYTES, _BOOL, _BOOL, _INT, _INT, _BYTES)
_DRAFT = (_TEXT, _TEXT, _TEXT, _BYTES, _INT, _INT, _BYTES, _BYTES, _BYTES, _TEXT, _BYTES)


class _EncodedDraft(NamedTuple):
    """A draft with the bytes of its header, which the chain covers."""

    draft: Draft
    header: bytes

    @property
    def values(self) -> tuple[bytes | None, ...]:
        """The values of a `draft` in the server's binary format."""
        header, body, facts, call_id = self.draft.header, self.draft.body, self.draft.body.facts, call_id_of(self.draft)
        return (
            *(KIND_OF[type(header)].encode(), header.trace_id.encode()),
            header.artifact_id.encode() if isinstance(header, Result) else None,
            None if call_id is None else as_bytes(call_id),
            *(_int(header.at), _int(facts.size), self.header, facts.digest, facts.blocks),
            *(None if body.blob is None else body.blob.encode(), body.inline),
        )


class Append:
    """An append that may be sent more than once; its mark tells the server so."""

    def __init__(self, server: Server, session: str, drafts: Sequence[Draft], terms: Terms) -> None:
        self.session = session
        self._server, self._terms = server, terms
        self._mark, self._sent_before = os.urandom(12), False
        sent = [_EncodedDraft(draft, header_bytes(draft.header, draft.body.facts)) for draft in drafts]
        self._parts = list(_parts(sent))

    @property
    def goes_alone(self) -> bool:
        """Whether it is not to be sent together with others: it is too large, or was sent before."""
        return self._sent_before or len(self._parts) > 1

    @property
    def size(self) -> int:
        """The bytes of the bodies that are sent with it."""
        return sum(_weight(sent) for part in self._parts for sent in part)

    def __call__(self) -> list[Entry]:
        """Send the append; on return the entries are on the server's disk."""
        try:
            with self._server.calls(together=len(self._parts) > 1) as call:
                return list(self._entries(call))
        except psycopg.Error as error:
            raise_refusal(error, self.session, self._terms.get("after"))
            raise
        finally:
            self._sent_before = True

    def begin(self) -> tuple[Statement, Values]:
        """Return the call of an append of one part, which somebody else sends."""
        call = self._call(0, self._parts[0])
        self._sent_before = True
        return call

    def read(self, result: PGresult) -> list[Entry]:
        """Return the entries of an append of one part from the server's answer."""
        return [entry for _, entry in self._answered(self._parts[0], result)]

    def _entries(self, call: Call) -> Iterator[Entry]:
        repeated: set[str] = set()
        for number, part in enumerate(self._parts):
            part = [sent for sent in part if _is_wanted(sent.draft, repeated)] if repeated else part
            for sent, entry in self._answered(part, call(*self._call(number, part))):
                if entry.header is not sent.draft.header:
                    repeated.add(sent.draft.header.trace_id)
                yield entry

    def _call(self, number: int, part: Sequence[_EncodedDraft]) -> tuple[Statement, Values]:
        return _statement(len(part)), [*self._arguments(number), *(value for sent in part for value in sent.values)]

    def _answered(self, part: Sequence[_EncodedDraft], result: PGresult) -> Iterator[tuple[_EncodedDraft, Entry]]:
        for row in range(result.ntuples):
            yield _answered(self.session, part, partial(result.get_value, row))

    def _arguments(self, number: int) -> tuple[bytes | None, ...]:
        """Return the arguments before the drafts; the terms about the head are for the first of several calls."""
        first = not number
        quota, after = self._terms.get("quota"), self._terms.get("after") if first else None
        return (
            *(self.session.encode(), self._mark + number.to_bytes(4, "big")),
            *(_bool(self._sent_before), _bool(self._terms.get("once", False))),
            *(_int(_NO_QUOTA if quota is None else quota), None if after is None else _int(after)),
            self._terms.get("head") if first else None,
        )


def raise_refusal(error: psycopg.Error, session: str, after: int | None = None) -> None:
    """Raise what it means that the server refused to add to a session, if it did."""
    if error.sqlstate == _NO_SESSION:
        raise unknown_session(session) from None
    if error.sqlstate == _OVER_QUOTA:
        raise quota_error() from None
    if error.sqlstate == _OVERTAKEN:
        raise overtaken_error(after) from None
    if error.sqlstate == _OTHER_HEAD:
        raise head_error(session) from None


def _is_wanted(draft: Draft, repeated: set[str]) -> bool:
    """Return whether a draft is not a decision about a result that was stored before."""
    return isinstance(draft.header, Result) or draft.header.trace_id not in repeated


def _weight(sent: _EncodedDraft) -> int:
    return len(sent.draft.body.inline or b"")


def _parts(drafts: Sequence[_EncodedDraft]) -> Iterator[list[_EncodedDraft]]:
    """Yield the drafts of each call."""
    part: list[_EncodedDraft] = []
    size = 0
    for sent in drafts:
        weight = _weight(sent)
        if part and (len(part) == _MOST or size + weight > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(sent)
        size += weight
    yield part


@cache
def _statement(count: int) -> Statement:
    """Return the call of `append` with this many drafts."""
    places = iter(range(1, len(_ARGUMENTS) + count * len(_DRAFT) + 1))
    arguments = ", ".join(f"${next(places)}" for _ in _ARGUMENTS)
    drafts = (", ".join(f"${next(places)}" for _ in _DRAFT) for _ in range(count))
    rows = ", ".join(f"ROW({draft})::draft" for draft in drafts)
    return Statement(f"SELECT * FROM append({arguments}, ARRAY[{rows}]::draft[])", _ARGUMENTS + _DRAFT * count)


def _answered(
    session: str, part: Sequence[_EncodedDraft], value: Callable[[int], bytes | None]
) -> tuple[_EncodedDraft, Entry]:
    """Return the draft that a row of the answer is about, and its entry: the new one, or an earlier one."""
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
