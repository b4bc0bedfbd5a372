"""Which of the results that are new since the request before a request shows.

Owns: how that is read from the request's manifest.
Must not know: steps.

Theory of operation. A client sends its next request as soon as it has an answer, and that request's results may be on
record before the request that was answered is: its entry is written when the answer is. What the model has read back
in a hidden round is on record before the request that asked for it, too. So of two results in a row,

    result 1 · result 2 · request 1 · request 2

the second may be of request 2. The manifest of request 1 tells: it has a long result as a reference, and what is short
is in its literal bytes, with the id of its call. Where a session has one branch only, results are taken from a request
if it shows others of the same step: a request that names none of them tells nothing.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepwhole.canonical.body import BodyFacts
from keepwhole.canonical.entry import Result
from keepwhole.canonical.manifest import LiteralPiece, Piece, ShownPiece, decode_manifest
from keepwhole.errors import StoreError
from keepwhole.exchange.manifest_writer import LONG
from keepwhole.store.protocol import Store, body_of
from keepwhole.wire.gemini.call_ids import is_made

_LATE = 2_000
"""Milliseconds by which the entry of a request may be late: a result that was kept earlier than that before the entry
is surely not of the request after it."""


class NewInRequest(NamedTuple):
    """What is new in a request since the one that its manifest rests on."""

    traces: frozenset[str]
    """The results that it has as references."""
    bytes: bytes
    """What it has as it was sent."""

    def shows(self, result: Result, facts: BodyFacts) -> bool:
        """Whether the request shows a result; one of which nothing is known counts as shown."""
        if result.trace_id in self.traces:
            return True
        if result.call_id is None or is_made(result.call_id):
            return facts.chars < LONG or not self.traces
        return json.dumps(result.call_id).encode() in self.bytes


def new_in_request(store: Store, session: str, seq: int) -> NewInRequest | None:
    """What is new in the request with this entry number; None where its manifest cannot be read, or has nothing."""
    try:
        row = store.entry(session, seq)
        if row is None:
            return None
        with store.open(body_of(row)) as reader:
            pieces = decode_manifest(reader.read())
    except StoreError:
        return None
    found = _new_in(pieces)
    return found if any(found) else None


def _new_in(pieces: Iterable[Piece]) -> NewInRequest:
    known = list(pieces)
    traces = frozenset(piece.trace_id for piece in known if isinstance(piece, ShownPiece))
    return NewInRequest(traces, b"".join(piece.data for piece in known if isinstance(piece, LiteralPiece)))


def may_be_of_next(results: Sequence[Result], at: int) -> bool:
    """Whether some of these results may be of the request after the one whose entry was written at `at`."""
    turns = {result.turn for result in results}
    return len(turns) > 1 or any(result.at > at - _LATE for result in results)
