"""A session as one stream of JSON lines, to carry away and bring back. Chain heads prove that nothing changed.

Format, one object a line: `{"holdfast": 1, "session": …, "after": …}`, then for each entry `{"entry": …}` and its
body in `{"body": base64}` pieces, then `{"end": {"entries": …, "head": …}}`.
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from holdfast.canonical.entry import GENESIS, Entry, parse_header
from holdfast.errors import Damaged, UsageError
from holdfast.store.feed import Feed
from holdfast.store.protocol import Body, Draft, SessionInfo, Store, entry_of

_TOGETHER = 64
_PIECE = 3 * 65_536


def export_session(store: Store, info: SessionInfo) -> Iterator[bytes]:
    """The lines of a session's archive, newline included, in bounded memory."""
    after = next((stone for stone in store.tombstones() if stone.name == info.name), None)
    head = after.chain if after else GENESIS
    about = {
        "name": info.name,
        "agent": info.agent,
        "workspace": info.workspace,
        "created_at": info.created_at,
    }
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
    """Bring an archive back, under `name` or its own; every hash must come out the same."""
    records = _Records(lines)
    known = records.last.get("holdfast") == 1
    first = records.take("session")
    if first is None or not known:
        raise UsageError("This is not an archive of a session; make one with `holdfast sessions export`.")
    info = SessionInfo(
        name=name or str(first["name"]),
        agent=first.get("agent"),
        workspace=first.get("workspace"),
        created_at=int(first.get("created_at") or 0),
    )
    if any(other.name == info.name and other.entries for other in store.sessions()):
        raise UsageError(f"There is a session `{info.name}` already. Import under another name with `--as NAME`.")
    info = store.open_session(info)
    batch: list[tuple[Draft, bytes]] = []
    while (entry := records.take("entry")) is not None:
        batch.append(_draft(store, entry, records))
        if len(batch) >= _TOGETHER:
            _append(store, info.name, batch, on_entry)
    _append(store, info.name, batch, on_entry)
    if records.take("end") is None:
        raise Damaged("The archive ends too early; what came before is imported. Export it again for the rest.")
    return info


class _Records:
    """The lines of an archive, one ahead."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self.last: dict[str, Any] = self._next()

    def take(self, key: str) -> Any:
        """The value of the next record if it is of this kind."""
        record = self.last
        if key not in record:
            return None
        self.last = self._next()
        return record[key]

    def bodies(self) -> Iterator[bytes]:
        """The pieces of a body, up to the next record of another kind."""
        while (piece := self.take("body")) is not None:
            yield base64.b64decode(piece)

    def _next(self) -> dict[str, Any]:
        line = next(self._lines, b"{}")
        try:
            return json.loads(line)
        except ValueError as error:
            raise Damaged(f"A line of the archive is not JSON ({error}). Export the session again.") from error


def _draft(store: Store, entry: dict[str, Any], records: _Records) -> tuple[Draft, bytes]:
    raw = entry["header"].encode("ascii")
    _, claimed = parse_header(raw, b"", b"")
    feed = Feed(records.bodies())
    feed.encoding = claimed.encoding if claimed.encoding == "surrogates" else "utf-8"
    body = store.take(feed, claimed.size)
    header, _ = parse_header(raw, body.facts.digest, b"")
    return Draft(header, body), bytes.fromhex(entry["chain"])


def _append(store: Store, session: str, batch: list[tuple[Draft, bytes]], on_entry: Callable[[Entry], None]) -> None:
    if not batch:
        return
    entries = store.append(session, [draft for draft, _ in batch])
    for entry, (_, chain) in zip(entries, batch, strict=True):
        if entry.chain != chain:
            raise Damaged(
                f"Entry {entry.seq} of the archive is not what was exported; import it under another name to "
                "look at it, and export the session again."
            )
        on_entry(entry)
    batch.clear()


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
