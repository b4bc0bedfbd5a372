"""A session as one stream of JSON lines, to carry away and bring back. Chain heads prove that nothing changed.

Format, one object a line: `{"holdfast": 1, "session": …, "after": …}`, then for each entry `{"entry": …}` and its
body in `{"body": base64}` pieces, then `{"end": {"entries": …, "head": …}}`.
"""

import base64
import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from holdfast.canonical.entry import GENESIS, Entry, next_chain, parse_header
from holdfast.canonical.ids import is_session_id
from holdfast.errors import Damaged, HoldfastError, NotStored, UsageError
from holdfast.store.feed import Feed
from holdfast.store.protocol import Body, Draft, SessionInfo, Store, Tombstone, entry_of

_TOGETHER = 64
_PIECE = 3 * 65_536


def export_session(store: Store, info: SessionInfo) -> Iterator[bytes]:
    """The lines of a session's archive, newline included, in bounded memory."""
    after = next((stone for stone in store.tombstones() if stone.name == info.name), None)
    head = after.chain if after else GENESIS
    about = {"name": info.name, "agent": info.agent, "workspace": info.workspace, "created_at": info.created_at}
    yield _line({"holdfast": 1, "session": about, "after": [after.seq if after else 0, head.hex()]})
    count = 0
    for row in store.rows(info.name):
        entry = entry_of(row)
        yield _line({"entry": {"header": row.header.decode("ascii"), "chain": row.chain.hex()}})
        with store.open(Body(entry.facts, row.inline, row.blob)) as reader:
            for start in range(0, entry.facts.size, _PIECE):
                yield _line({"body": base64.b64encode(reader.read(start, start + _PIECE)).decode("ascii")})
        head, count = row.chain, count + 1
    yield _line({"end": {"entries": count, "head": head.hex()}})


def import_session(
    store: Store,
    lines: Iterable[bytes],
    name: str | None = None,
    on_entry: Callable[[Entry], None] = lambda entry: None,
) -> SessionInfo:
    """Bring an archive back, under `name` or its own; every hash must come out the same, or nothing is brought in."""
    records = _Records(lines)
    try:
        info, seq, chain = _begin(records.take("session"), name)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError("This is not an archive of a session; make one with `holdfast sessions export`.") from None
    if any(other.name == info.name and other.entries for other in store.sessions()):
        raise UsageError(f"There is a session `{info.name}` already. Import under another name with `--as NAME`.")
    before = next((stone for stone in store.tombstones() if stone.name == info.name), None)
    info = store.open_session(info)
    try:
        store.restart(info.name, seq, chain)
        _Import(store, info.name, chain, on_entry).run(records)
    except (ValueError, KeyError, TypeError, AttributeError, HoldfastError) as error:
        _undo(store, info, before)
        if isinstance(error, NotStored):
            raise
        raise Damaged(f"The archive is not what was exported ({error}). Export the session again.") from error
    return info


def _undo(store: Store, info: SessionInfo, before: Tombstone | None) -> None:
    """Leave everything as it was before an import that failed."""
    now = int(time.time() * 1000)
    store.purge(info.name, now)
    store.open_session(info)
    store.restart(info.name, before.seq if before else 0, before.chain if before else GENESIS)
    store.purge(info.name, now)


def _begin(first: dict[str, Any], name: str | None) -> tuple[SessionInfo, int, bytes]:
    """The session an archive tells of, and where its chain begins."""
    if first["holdfast"] != 1:
        raise ValueError
    about = first["session"]
    info = SessionInfo(
        name=name or str(about["name"]),
        agent=about.get("agent"),
        workspace=about.get("workspace"),
        created_at=int(about.get("created_at") or 0),
    )
    if not is_session_id(info.name):
        raise ValueError
    seq, chain = first["after"]
    return info, int(seq), bytes.fromhex(chain)


class _Import:
    """Entries on their way in; each is checked against its hash before it is appended."""

    def __init__(self, store: Store, session: str, chain: bytes, on_entry: Callable[[Entry], None]) -> None:
        self._store, self._session, self._on_entry = store, session, on_entry
        self._head = chain
        self._count = 0
        self._batch: list[Draft] = []

    def run(self, records: "_Records") -> None:
        """Take every entry, and make sure that none is missing."""
        while records.next_is("entry"):
            self._batch.append(self._draft(records.take("entry")["entry"], records))
            if len(self._batch) >= _TOGETHER:
                self._append()
        self._append()
        end = records.take("end")["end"]
        if end["entries"] != self._count or bytes.fromhex(end["head"]) != self._head:
            raise ValueError("entries are missing at its end")

    def _draft(self, entry: dict[str, Any], records: "_Records") -> Draft:
        raw = entry["header"].encode("ascii")
        _, claimed = parse_header(raw, b"", b"")
        feed = Feed(records.bodies())
        feed.encoding = "surrogates" if claimed.encoding == "surrogates" else "utf-8"
        taken = self._store.take(feed, claimed.size)
        taken.reader.close()
        body = taken.body
        self._head = next_chain(self._head, raw, body.facts.digest)
        if self._head != bytes.fromhex(entry["chain"]):
            self._store.discard(body)
            raise ValueError(f"entry {self._count + len(self._batch) + 1} was changed")
        return Draft(parse_header(raw, body.facts.digest, b"")[0], body)

    def _append(self) -> None:
        for entry in self._store.append(self._session, self._batch):
            self._on_entry(entry)
        self._count += len(self._batch)
        self._batch = []


class _Records:
    """The lines of an archive, one ahead."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self._next = self._read()

    def next_is(self, key: str) -> bool:
        """Whether the next record is of this kind."""
        return key in self._next

    def take(self, key: str) -> dict[str, Any]:
        """The next record, which must be of this kind."""
        record = self._next
        if key not in record:
            raise UsageError(f"The archive has no `{key}` where one must be. Export the session again.")
        self._next = self._read()
        return record

    def bodies(self) -> Iterator[bytes]:
        """The pieces of a body, up to the next record of another kind."""
        while self.next_is("body"):
            yield base64.b64decode(self.take("body")["body"])

    def _read(self) -> dict[str, Any]:
        try:
            record = json.loads(next(self._lines, b"{}"))
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise UsageError("The archive has a line that is no JSON object. Export the session again.")
        return cast("dict[str, Any]", record)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
