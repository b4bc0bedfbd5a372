"""What the record of a run says, read with the store alone."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from keepwhole.canonical.entry import Decision, Request, Result
from keepwhole.store.protocol import body_of, entry_of
from keepwhole.store.sqlite.store import SqliteStore


class Recorded(NamedTuple):
    """A record, as far as tests ask."""

    outputs: dict[str, str]
    """What tools returned, by call ids."""
    batches: frozenset[str]
    """Digests of the requests for which results were shown anew that an earlier request had shown otherwise."""

    def is_batch(self, data: bytes) -> bool:
        """Whether these bytes are a request for which older results were shown anew."""
        return hashlib.sha256(data).hexdigest() in self.batches


def recorded(home: Path) -> Recorded:
    """The record in a home."""
    store = SqliteStore(str(home / ".keepwhole"))
    try:
        outputs: dict[str, str] = {}
        batches: set[str] = set()
        for info in store.sessions():
            outputs |= dict(_outputs(store, info.name))
            batches |= set(_batches(store, info.name))
        return Recorded(outputs, frozenset(batches))
    finally:
        store.close()


def _outputs(store: SqliteStore, session: str) -> Iterator[tuple[str, str]]:
    for row in store.rows(session, kind="result"):
        header = entry_of(row).header
        if isinstance(header, Result) and header.call_id:
            with store.open(body_of(row)) as reader:
                yield header.call_id, reader.text()


def _batches(store: SqliteStore, session: str) -> Iterator[str]:
    """The digests of requests before which a result was decided anew that was there at the request before."""
    arrived: dict[str, int] = {}
    last = 0
    is_batch = False
    for row in store.rows(session, light=True):
        header = entry_of(row).header
        if isinstance(header, Result):
            arrived[header.trace_id] = row.seq
        elif isinstance(header, Decision):
            is_batch |= arrived.get(header.trace_id, 0) <= last
        elif isinstance(header, Request):
            if is_batch:
                yield header.digest
            last, is_batch = row.seq, False
