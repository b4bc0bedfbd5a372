"""A session as one stream of JSON lines, to export and to import. Chain heads prove that nothing changed.

Format, one object a line: `{"keepwhole": 1, "session": …, "after": …}`, then for each entry `{"entry": …}` and its
body in `{"body": base64}` pieces (of a forgotten entry only hashes, and no body), then `{"end": {"entries": …,
"head": …}}`.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from keepwhole.canonical.entry import GENESIS, KINDS, Entry, parse_header
from keepwhole.canonical.ids import is_session_id
from keepwhole.errors import Damaged, KeepwholeError, NotStored, UsageError
from keepwhole.store.protocol import (
    Body,
    Row,
    SessionInfo,
    Store,
    Tombstone,
    check_forgotten,
    entry_of,
    rows_with_forgotten,
)
from keepwhole.transfer.entry_writer import NUMBERS, EntryWriter, check_fields
from keepwhole.transfer.json_lines import PIECE, RecordReader, line_of, piece_of

_AT_HAND = 4_194_304
"""Bytes of a body that is read at once; a larger one is streamed."""
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
"""The exceptions that reading a malformed record may raise."""


def export_session(store: Store, info: SessionInfo, withheld: frozenset[int] = frozenset()) -> Iterator[bytes]:
    """Yield the lines of a session's archive, in bounded memory; of entries that are `withheld` only hashes."""
    return archive_lines(store, info, tombstone_of(store, info.name), withheld=withheld)


def archive_lines(
    store: Store,
    info: SessionInfo,
    after: Tombstone | None,
    up_to: tuple[int, bytes] | None = None,
    more: dict[str, Any] | None = None,
    withheld: frozenset[int] = frozenset(),
) -> Iterator[bytes]:
    """Yield the lines of an archive that starts after a tombstone and ends with the entry of this number and hash.

    `more` is added to the description of the session; entries that are `withheld` are written as if they had been
    forgotten. Raises `Damaged` if that last entry is not reached.
    """
    head = after.chain if after else GENESIS
    about = {"name": info.name, "agent": info.agent, "workspace": info.workspace, "created_at": info.created_at}
    yield line_of(
        {"keepwhole": 1, "session": {**about, **(more or {})}, "after": [after.seq if after else 0, head.hex()]}
    )
    count = 0
    for row, is_forgotten in rows_with_forgotten(store, info.name):
        if up_to is not None and row.seq > up_to[0]:
            break
        if row.previous != head:
            raise Damaged(f"Entry {row.seq} of session `{info.name}` does not follow from the one before it.")
        if is_forgotten:
            check_forgotten(row)
            yield line_of({"entry": {"forgotten": _left_of(row), "chain": row.chain.hex()}})
            head, count = row.chain, count + 1
            continue
        if row.seq in withheld:
            left = _left_of(row) | {"header": hashlib.sha256(row.header).hexdigest()}
            yield line_of({"entry": {"forgotten": left, "chain": row.chain.hex()}})
            head, count = row.chain, count + 1
            continue
        entry = entry_of(row)
        yield line_of({"entry": {"header": row.header.decode("ascii"), "chain": row.chain.hex()}})
        with store.open(Body(entry.facts, row.inline, row.blob)) as reader:
            for start in range(0, entry.facts.size, PIECE):
                yield piece_of(reader.read(start, start + PIECE))
        head, count = row.chain, count + 1
    if up_to is not None and head != up_to[1]:
        raise Damaged(f"Session `{info.name}` was erased meanwhile, or entries of it are missing.")
    yield line_of({"end": {"entries": count, "head": head.hex()}})


def _left_of(row: Row) -> dict[str, Any]:
    ids = {"kind": row.kind, "trace_id": row.trace_id, "artifact_id": row.artifact_id}
    return {**ids, "header": row.header.hex(), "digest": row.digest.hex()}


def import_session(
    store: Store,
    lines: Iterable[bytes],
    name: str | None = None,
    on_entry: Callable[[Entry], None] = lambda entry: None,
) -> SessionInfo:
    """Import an archive, under `name` or its own; every hash must be the same, or nothing is imported."""
    if name is not None and not is_session_id(name):
        raise UsageError(f"{name[:60]!r} cannot name a session. Use 1 to 128 letters, digits and `._:@-`.")
    try:
        records = RecordReader(lines)
        info, seq, chain = parse_beginning(records.read("session"), name)
    except UNREADABLE:
        raise UsageError("This is not an archive of a session; make one with `keepwhole sessions export`.") from None
    there = store.session(info.name)
    if there is not None and there.entries:
        raise UsageError(f"Session `{info.name}` already exists. Import it under another name with `--as NAME`.")
    before = tombstone_of(store, info.name)
    info = store.open_session(info)
    try:
        store.restart(info.name, seq, chain)
        with EntryWriter(store, info.name, chain, on_entry) as writer:
            _copy_entries(writer, records)
    except (*UNREADABLE, KeepwholeError) as error:
        undo_import(store, info, before)
        if isinstance(error, NotStored):
            raise
        raise Damaged(f"The archive is not what was exported ({error}). Export the session again.") from error
    return info


def _copy_entries(writer: EntryWriter, records: RecordReader) -> None:
    """Write every entry of an archive, and make sure that none is missing."""
    count = 0
    while records.next_is("entry"):
        copy_entry(writer, records.read("entry")["entry"], records)
        count += 1
    writer.finish()
    end = records.read("end")["end"]
    if end["entries"] != count or bytes.fromhex(end["head"]) != writer.head:
        raise ValueError("entries are missing at its end")


def copy_entry(writer: EntryWriter, entry: dict[str, Any], records: RecordReader) -> None:
    """Write one entry, whose body comes next in the records."""
    if "forgotten" in entry:
        left = entry["forgotten"]
        kind, trace_id, artifact_id = left["kind"], left["trace_id"], checked_text(left["artifact_id"])
        if kind not in KINDS or not isinstance(trace_id, str):
            raise ValueError("a forgotten entry has an invalid value")
        hashes = (parse_hash(left["header"]), parse_hash(left["digest"]), parse_hash(entry["chain"]))
        writer.add_forgotten(kind, trace_id, artifact_id, *hashes)
        return
    raw = entry["header"].encode("ascii")
    header, claimed = parse_header(raw, b"", b"")
    check_fields(header)
    chain = bytes.fromhex(entry["chain"])
    if checked_number(claimed.size) <= _AT_HAND:
        writer.add(raw, header, claimed, chain, records.read_body(claimed.size))
    else:
        writer.add(raw, header, claimed, chain, records.read_pieces)
        writer.finish()  # before the next line is read


def undo_import(store: Store, info: SessionInfo, before: Tombstone | None) -> None:
    """Restore what there was before a session was imported."""
    now = before.at if before else int(time.time() * 1000)
    store.purge(info.name, now)
    store.open_session(info)
    store.restart(info.name, before.seq if before else 0, before.chain if before else GENESIS)
    store.purge(info.name, now)


def parse_beginning(first: dict[str, Any], name: str | None = None) -> tuple[SessionInfo, int, bytes]:
    """Return the session that an archive describes, and the number and hash it starts after."""
    if first["keepwhole"] != 1:
        raise ValueError
    about = first["session"]
    info = SessionInfo(
        name=name or about["name"],
        agent=checked_text(about.get("agent")),
        workspace=checked_text(about.get("workspace")),
        created_at=checked_moment(about.get("created_at") or 0),
    )
    if not is_session_id(info.name):
        raise ValueError
    seq, chain = first["after"]
    return info, checked_number(seq), parse_hash(chain)


def tombstone_of(store: Store, name: str) -> Tombstone | None:
    """Return the tombstone of this name."""
    return next((stone for stone in store.tombstones() if stone.name == name), None)


def checked_number(value: object) -> int:
    """Return a number of a record; `ValueError` if a back end could not store it."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < NUMBERS:
        raise ValueError("a number is out of range")
    return value


def checked_moment(value: object) -> int:
    """Return milliseconds since 1970, or before it where a clock was not set; `ValueError` if it cannot be stored."""
    if isinstance(value, bool) or not isinstance(value, int) or not -NUMBERS < value < NUMBERS:
        raise ValueError("a time is out of range")
    return value


def parse_hash(value: str) -> bytes:
    """Return a chain hash from its hexadecimal digits."""
    chain = bytes.fromhex(value)
    if len(chain) != len(GENESIS):
        raise ValueError("a hash has the wrong length")
    return chain


def checked_text(value: object) -> str | None:
    """Return a text that may be missing; `ValueError` for any other value."""
    if value is not None and not isinstance(value, str):
        raise ValueError("a value is not text")
    return value
