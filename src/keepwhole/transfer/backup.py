"""A whole record as one stream of lines, made while others write to it, with a trailer that proves it complete.

Format, one object a line: `{"keepwhole": 1, "backup": …}`, a `{"tombstone": …}` for each session that is no more, for
each session its archive (`keepwhole.transfer.archive`) or, where it was erased meanwhile or cannot be read, as much of
it as was written and `{"left_out": name}`, and at last `{"trailer": …}` with the digest of every byte before it.
"""

import hashlib
import time
import zlib
from collections.abc import Callable, Iterable, Iterator

from keepwhole.errors import Damaged
from keepwhole.store.protocol import SessionInfo, Store, Tombstone
from keepwhole.transfer.archive import archive_lines
from keepwhole.transfer.json_lines import line_of
from keepwhole.transfer.sync_state import SyncState, read_state, record_head, tombstones_by_name

_WINDOW = 31
"""zlib's number for a stream with the header of gzip."""
_LEVEL = 1
_CHUNK = 262_144


class Backup:
    """The lines of a backup, and the sessions that were left out of them."""

    def __init__(self, store: Store, on_bytes: Callable[[int], None] = lambda count: None) -> None:
        """`on_bytes` is called with the approximate number of bytes of bodies in each line."""
        self._store, self._on_bytes = store, on_bytes
        self.sessions = 0
        self.entries = 0
        self.left_out: list[tuple[str, str]] = []
        """Names of sessions, and the reasons."""
        self.head = ""

    def lines(self) -> Iterator[bytes]:
        """Yield all lines. Each session ends with an entry that was its last at some moment while they were made."""
        digest = hashlib.sha256()
        for line in self._before_trailer():
            digest.update(line)
            yield line
        counts = {"sessions": self.sessions, "entries": self.entries, "left_out": len(self.left_out)}
        yield line_of({"trailer": {**counts, "head": self.head, "digest": digest.hexdigest()}})

    def _before_trailer(self) -> Iterator[bytes]:
        sessions, stones = self._store.sessions(), tombstones_by_name(self._store)
        names = {info.name for info in sessions}
        gone = [stone for stone in stones.values() if stone.name not in names]
        now = int(time.time() * 1000)
        yield line_of({"keepwhole": 1, "backup": {"at": now, "sessions": len(sessions), "tombstones": len(gone)}})
        heads = [(stone.name, SyncState(seq=stone.seq, chain=stone.chain)) for stone in gone]
        for stone in gone:
            yield line_of({"tombstone": {**stone.as_dict(), "chain": stone.chain.hex()}})
        for info in sessions:
            state = read_state(self._store, info.name, stones)
            try:
                yield from self._session(info, stones.get(info.name), state)
                heads.append((info.name, state))
            except Damaged as error:
                self.left_out.append((info.name, str(error)))
                yield line_of({"left_out": info.name})
        self.head = record_head(heads)

    def _session(self, info: SessionInfo, stone: Tombstone | None, state: SyncState) -> Iterator[bytes]:
        more = {"ephemeral": info.ephemeral, "ended_at": info.ended_at, "erased_at": stone.at if stone else None}
        for line in archive_lines(self._store, info, stone, (state.seq, state.chain), more):
            yield line
            self._on_bytes(len(line) * 3 // 4)
        self.sessions += 1
        self.entries += state.entries


def compressed(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines as the bytes of a gzip file."""
    packer = zlib.compressobj(_LEVEL, wbits=_WINDOW)
    pending = bytearray()
    for line in lines:
        pending += packer.compress(line)
        if len(pending) >= _CHUNK:
            yield bytes(pending)
            pending.clear()
    yield bytes(pending) + packer.flush()


def is_backup(path: str) -> bool:
    """Return whether the file begins as a backup does, so that a new one may replace it."""
    import gzip

    try:
        with gzip.open(path, "rb") as file:
            return file.read(24).startswith(b'{"keepwhole":1,"backup":')
    except (OSError, EOFError, zlib.error):
        return False
