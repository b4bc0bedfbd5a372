"""Loads many entries into a PostgreSQL record with `COPY`: the rows are the same as after appends, chains included.

All sessions have the same length and follow each other in time. Indexes are created after the rows, which gives the
same tables much faster.
"""

import os
import struct
from collections.abc import Iterator
from typing import Any

import psycopg

from bench.support.setup import say
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import GENESIS, Result, header_bytes, next_chain
from keepwhole.store.postgres.address import address_of

LENGTH = 100
"""Entries of a session."""
SIZE = 300
START = 1_760_000_000_000
_COLUMNS = (
    "session, seq, kind, trace_id, artifact_id, call_id, at, stored, previous, header, digest, chain, blocks, body, "
    "minute"
)
_BEGIN, _END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
_NUMBER = struct.Struct(">iq")
_NULL = b"\xff\xff\xff\xff"
_HOLE = "0" * 22
"""The placeholder for an id in a header."""
_MOMENT = b"%d" % START
_WORDS = ("parser", "index", "socket", "cursor", "ledger", "anchor", "budget", "branch", "kernel", "mirror")


class _Entry:
    """The parts of an entry that are the same in every session: a body, and a header with a gap for the id."""

    def __init__(self, seq: int) -> None:
        line = f"{seq} {_WORDS[seq % 10]} of the {_WORDS[seq // 10 % 10]} went through\n"
        self.body = (line * 20).encode()[:SIZE]
        self.facts = measure(self.body)
        result = Result(
            at=START, trace_id=f"trace_{_HOLE}", artifact_id=f"art_1_{_HOLE}", tool="bench", call_id=f"call_{_HOLE}"
        )
        self.header = header_bytes(result, self.facts).split(_HOLE.encode())


def _field(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def _session(number: int, entries: list[_Entry]) -> bytes:
    """The rows of a session."""
    previous, rows = GENESIS, list[bytes]()
    random = os.urandom(11 * LENGTH).hex().encode()
    session, at = _NUMBER.pack(8, number), START + number * 7_000
    moment = b"%d" % at
    for seq, entry in enumerate(entries, 1):
        name = random[(seq - 1) * 22 : seq * 22]
        header = name.join(entry.header).replace(_MOMENT, moment, 1)
        chain = next_chain(previous, header, entry.facts.digest)
        rows += (
            *(b"\0\x0f", session, _NUMBER.pack(8, seq), b"\0\0\0\x06result", b"\0\0\0\x1ctrace_", name),
            *(b"\0\0\0\x1cart_1_", name, b"\0\0\0\x1bcall_", name, _NUMBER.pack(8, at)),
            *(_NUMBER.pack(8, seq * SIZE), b"\0\0\0\x20", previous, _field(header)),
            *(b"\0\0\0\x20", entry.facts.digest, b"\0\0\0\x20", chain, b"\0\0\0\0", _field(entry.body)),
            _NUMBER.pack(8, at // 60_000) if seq == 1 else _NULL,
        )
        previous = chain
    return b"".join(rows)


def name_of(number: int) -> str:
    return f"session-{number:07}"


def load(url: str, count: int) -> None:
    """Fill an empty record with `count` entries."""
    address, sessions = address_of(url), count // LENGTH
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {address.schema}".encode())
        connection.execute("SET maintenance_work_mem TO '1GB'")
        indexes = list(_drop_indexes(connection))
        connection.execute(
            b"INSERT INTO sessions (id, name, created_at, ephemeral) OVERRIDING SYSTEM VALUE "
            b"SELECT i, 'session-' || lpad(i::text, 7, '0'), %s + i * 7000, false FROM generate_series(1, %s) i",
            (START, sessions),
        )
        entries = [_Entry(seq) for seq in range(1, LENGTH + 1)]
        with connection.cursor().copy(f"COPY entries ({_COLUMNS}) FROM STDIN (FORMAT binary)".encode()) as copy:
            copy.write(_BEGIN)
            for number in range(1, sessions + 1):
                copy.write(_session(number, entries))
                if number % 10_000 == 0:
                    say(f"loaded {number * LENGTH:,} of {count:,} entries")
            copy.write(_END)
        for index in indexes:
            say(f"making {index}")
            connection.execute(index.encode())
        connection.execute("VACUUM (ANALYZE) entries")
        connection.execute("VACUUM (ANALYZE) sessions")
        connection.execute("CHECKPOINT")


def _drop_indexes(connection: "psycopg.Connection[Any]") -> Iterator[str]:
    """Drop the indexes of `entries` except its key; yield the statements that create them again."""
    query = (
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
        "WHERE indrelid = 'entries'::regclass AND NOT indisprimary"
    )
    for name, definition in connection.execute(query).fetchall():
        connection.execute(f"DROP INDEX {name}".encode())
        yield definition
