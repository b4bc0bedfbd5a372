"""A session as one stream of JSON lines, to carry away and bring back. Chain heads prove that nothing changed.

Format, one object a line: `{"keepwhole": 1, "session": …, "after": …}`, then for each entry `{"entry": …}` and its
body in `{"body": base64}` pieces, then `{"end": {"entries": …, "head": …}}`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from keepwhole.canonical.entry import GENESIS, Entry, parse_header
from keepwhole.canonical.ids import is_session_id
from keepwhole.errors import Damaged, KeepwholeError, NotStored, UsageError
from keepwhole.store.protocol import Body, SessionInfo, Store, Tombstone, entry_of
from keepwhole.transfer.entry_writer import NUMBERS, Incoming, check_fields
from keepwhole.transfer.json_lines import PIECE, Records, line_of, piece_of

_AT_HAND = 4_194_304
"""Bytes of a body that are read at once; a larger one passes through."""
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
"""What reading a record of another shape may raise."""


def export_session(store: Store, info: SessionInfo) -> Iterator[bytes]:
    """The lines of a session's archive, newline included, in bounded memory."""
    return archive_lines(store, info, stone_of(store, info.name))


def archive_lines(
    store: Store,
    info: SessionInfo,
    after: Tombstone | None,
    up_to: tuple[int, bytes] | None = None,
    more: dict[str, Any] | None = None,
) -> Iterator[bytes]:
    """The same where the tombstone is known, up to the entry of this number and hash, with `more` said of the session.

    `Damaged` if that entry is not reached.
    """
    head = after.chain if after else GENESIS
    about = {"name": info.name, "agent": info.agent, "workspace": info.workspace, "created_at": info.created_at}
    yield line_of(
        {"keepwhole": 1, "session": {**about, **(more or {})}, "after": [after.seq if after else 0, head.hex()]}
    )
    count = 0
    for row in store.rows(info.name):
        if up_to is not None and row.seq > up_to[0]:
            break
        if row.previous != head:
            raise Damaged(f"Entry {row.seq} of session `{info.name}` does not follow from the one before it.")
        entry = entry_of(row)
        yield line_of({"entry": {"header": row.header.decode("ascii"), "chain": row.chain.hex()}})
        with store.open(Body(entry.facts, row.inline, row.blob)) as reader:
            for start in range(0, entry.facts.size, PIECE):
                yield piece_of(reader.read(start, start + PIECE))
        head, count = row.chain, count + 1
    if up_to is not None and head != up_to[1]:
        raise Damaged(f"Session `{info.name}` was erased meanwhile, or entries of it are missing.")
    yield line_of({"end": {"entries": count, "head": head.hex()}})


def import_session(
    store: Store,
    lines: Iterable[bytes],
    name: str | None = None,
    on_entry: Callable[[Entry], None] = lambda entry: None,
) -> SessionInfo:
    """Bring an archive back, under `name` or its own; every hash must come out the same, or nothing is brought in."""
    try:
        records = Records(lines)
        info, seq, chain = beginning(records.take("session"), name)
    except UNREADABLE:
        raise UsageError("This is not an archive of a session; make one with `keepwhole sessions export`.") from None
    there = store.session(info.name)
    if there is not None and there.entries:
        raise UsageError(f"There is a session `{info.name}` already. Import under another name with `--as NAME`.")
    before = stone_of(store, info.name)
    info = store.open_session(info)
    try:
        store.restart(info.name, seq, chain)
        with Incoming(store, info.name, chain, on_entry) as incoming:
            _take_all(incoming, records)
    except (*UNREADABLE, KeepwholeError) as error:
        undo(store, info, before)
        if isinstance(error, NotStored):
            raise
        raise Damaged(f"The archive is not what was exported ({error}). Export the session again.") from error
    return info


def _take_all(incoming: Incoming, records: Records) -> None:
    """Take every entry, and make sure that none is missing."""
    count = 0
    while records.next_is("entry"):
        take_entry(incoming, records.take("entry")["entry"], records)
        count += 1
    incoming.finish()
    end = records.take("end")["end"]
    if end["entries"] != count or bytes.fromhex(end["head"]) != incoming.head:
        raise ValueError("entries are missing at its end")


def take_entry(incoming: Incoming, entry: dict[str, Any], records: Records) -> None:
    """Take an entry, whose body comes next."""
    raw = entry["header"].encode("ascii")
    header, claimed = parse_header(raw, b"", b"")
    check_fields(header)
    chain = bytes.fromhex(entry["chain"])
    if number(claimed.size) <= _AT_HAND:
        incoming.add(raw, header, claimed, chain, records.body(claimed.size))
    else:
        incoming.add(raw, header, claimed, chain, records.bodies)
        incoming.finish()  # before the next line is read


def undo(store: Store, info: SessionInfo, before: Tombstone | None) -> None:
    """Leave everything as it was before a session was brought in."""
    now = before.at if before else int(time.time() * 1000)
    store.purge(info.name, now)
    store.open_session(info)
    store.restart(info.name, before.seq if before else 0, before.chain if before else GENESIS)
    store.purge(info.name, now)


def beginning(first: dict[str, Any], name: str | None = None) -> tuple[SessionInfo, int, bytes]:
    """The session an archive tells of, and where its chain begins."""
    if first["keepwhole"] != 1:
        raise ValueError
    about = first["session"]
    info = SessionInfo(
        name=name or about["name"],
        agent=text_or_none(about.get("agent")),
        workspace=text_or_none(about.get("workspace")),
        created_at=number(about.get("created_at") or 0),
    )
    if not is_session_id(info.name):
        raise ValueError
    seq, chain = first["after"]
    return info, number(seq), hash_of(chain)


def stone_of(store: Store, name: str) -> Tombstone | None:
    """What stays of an earlier session of this name."""
    return next((stone for stone in store.tombstones() if stone.name == name), None)


def number(value: object) -> int:
    """A number of a record, which every back end can hold."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < NUMBERS:
        raise ValueError("a number cannot be that")
    return value


def hash_of(value: str) -> bytes:
    """A chain hash, from its hexadecimal digits."""
    chain = bytes.fromhex(value)
    if len(chain) != len(GENESIS):
        raise ValueError("a hash has another length")
    return chain


def text_or_none(value: object) -> str | None:
    """Words that may be missing."""
    if value is not None and not isinstance(value, str):
        raise ValueError("words cannot be that")
    return value
