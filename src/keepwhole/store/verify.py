"""Checking that a session is what was written: chain, numbers, every body's hash, every recorded view and request.

What the chain does not cover is checked by the back end, if it can (`ChecksStorage`), and files that were laid out for
reading are compared with the results that they are copies of. A session that does not exist is not whole.
"""

from collections.abc import Callable, Iterator

from keepwhole.canonical.body import digest_of, measure
from keepwhole.canonical.entry import GENESIS, Decision, Entry, Request, Result
from keepwhole.canonical.utf8 import encode
from keepwhole.canonical.value import Value
from keepwhole.errors import KeepwholeError
from keepwhole.store.protocol import (
    Body,
    ChecksStorage,
    HasResultFiles,
    Row,
    Store,
    check_forgotten,
    entry_of,
    rows_with_forgotten,
)
from keepwhole.store.requests import Requests, bytes_of_view
from keepwhole.truncation.cut import decode_cut


class Finding(Value):
    """One entry that is not as it was written."""

    seq: int
    """The number of the entry; 0 if the finding is about the session as a whole."""
    what: str


class Verification(Value):
    """The result of checking one session."""

    session: str
    entries: int
    bytes: int
    head: str
    """The chain hash of the last entry; equal heads mean equal sessions."""
    findings: tuple[Finding, ...]
    forgotten: int = 0
    """Entries that were deleted permanently; only their hashes are left."""

    @property
    def whole(self) -> bool:
        """Whether everything is as it was written."""
        return not self.findings


def verify(store: Store, session: str, on_entry: Callable[[Entry], None] = lambda entry: None) -> Verification:
    """Check every entry of `session` against the chain and every byte against its digest."""
    seq, previous = _start(store, session)
    entries = size = 0
    findings = [Finding(*found) for found in _around(store, session, is_purged=seq > 0)]
    requests = Requests(store, session)
    forgotten = 0
    for row, is_forgotten in rows_with_forgotten(store, session):
        seq += 1
        if row.seq != seq:
            findings.append(Finding(row.seq, f"numbers {seq} to {row.seq - 1} are missing"))
            seq = row.seq
        if row.previous != previous:
            findings.append(Finding(row.seq, "does not follow from the entry before it"))
        previous = row.chain
        entries += 1
        try:
            if is_forgotten:
                forgotten += 1
                check_forgotten(row)
                continue
            entry = entry_of(row)
            _check(store, row, entry)
            if isinstance(entry.header, Request):
                requests.body(row)
            size += entry.facts.size
            on_entry(entry)
        except KeepwholeError as error:
            findings.append(Finding(row.seq, str(error)))
    return Verification(
        session=session,
        entries=entries,
        bytes=size,
        head=previous.hex(),
        findings=tuple(findings),
        forgotten=forgotten,
    )


def _start(store: Store, session: str) -> tuple[int, bytes]:
    """Return where the chain of a session starts: after its tombstone, if it was purged before."""
    for stone in store.tombstones():
        if stone.name == session:
            return stone.seq, stone.chain
    return 0, GENESIS


def _around(store: Store, session: str, is_purged: bool) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with a session besides its entries."""
    if store.session(session) is None and not is_purged:
        yield 0, "there is no session of this name, so nothing was verified"
    if isinstance(store, ChecksStorage):
        yield from store.session_findings(session)


def _check(store: Store, row: Row, entry: Entry) -> None:
    header = entry.header
    body = Body(entry.facts, row.inline, row.blob)
    with store.open(body) as reader:
        counted = sum(len(chunk) for chunk in reader.stream())
    if row.inline is not None and len(row.inline) != entry.facts.size:
        raise KeepwholeError("its body has another size")
    if counted != entry.facts.size or (not counted and digest_of([]) != entry.facts.digest):
        raise KeepwholeError("its body has another size")
    if isinstance(header, Decision):
        _check_view(store, row, header, body)
    elif isinstance(header, Result) and isinstance(store, HasResultFiles):
        with store.open(body) as reader:
            arguments = encode(header.arguments or "")[0]
            path = store.files.changed_file(row.session, row.trace_id, reader.stream(), header.media_type, arguments)
            if path is not None:
                raise KeepwholeError(f"its copy for reading, `{path}`, was changed; delete that file")


def _check_view(store: Store, row: Row, decision: Decision, body: Body) -> None:
    """Raise `KeepwholeError` unless the cut of a decision still gives the view that was shown."""
    subject = store.find(row.session, decision.trace_id)
    if subject is None:
        raise KeepwholeError("it decides about a result that is not in the record")
    result = entry_of(subject)
    with store.open(body) as reader:
        cut = decode_cut(reader.read())
    if not cut.covers(result.facts.chars):
        raise KeepwholeError("its cut does not cover the result")
    with store.open(Body(result.facts, subject.inline, subject.blob)) as source:
        shown = bytes_of_view(source, cut)
    if measure(shown).digest.hex() != decision.shown_digest:
        raise KeepwholeError("its cut does not give the view that was shown")
