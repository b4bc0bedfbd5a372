"""A whole record as one stream of lines, made while others write to it; compressed, and proof against being cut.

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
from keepwhole.transfer.sync_state import Standing, record_head, standing_of, stones_of

_WINDOW = 31
"""zlib's word for: with the header of gzip."""
_LEVEL = 1
_CHUNK = 262_144


class Backup:
    """The lines of a backup on their way out, and what was left out of them."""

    def __init__(self, store: Store, on_bytes: Callable[[int], None] = lambda count: None) -> None:
        """`on_bytes` is told how many bytes of bodies, about, have gone by."""
        self._store, self._on_bytes = store, on_bytes
        self.sessions = 0
        self.entries = 0
        self.left_out: list[tuple[str, str]] = []
        """Names of sessions, and why."""
        self.head = ""

    def lines(self) -> Iterator[bytes]:
        """All lines. Each session is there up to an entry that was its last at some moment while they were made."""
        digest = hashlib.sha256()
        for line in self._before_trailer():
            digest.update(line)
            yield line
        counts = {"sessions": self.sessions, "entries": self.entries, "left_out": len(self.left_out)}
        yield line_of({"trailer": {**counts, "head": self.head, "digest": digest.hexdigest()}})

    def _before_trailer(self) -> Iterator[bytes]:
        sessions, stones = self._store.sessions(), stones_of(self._store)
        names = {info.name for info in sessions}
        gone = [stone for stone in stones.values() if stone.name not in names]
        now = int(time.time() * 1000)
        yield line_of({"keepwhole": 1, "backup": {"at": now, "sessions": len(sessions), "tombstones": len(gone)}})
        heads = [(stone.name, Standing(seq=stone.seq, chain=stone.chain)) for stone in gone]
        for stone in gone:
            yield line_of({"tombstone": {**stone.as_dict(), "chain": stone.chain.hex()}})
        for info in sessions:
            standing = standing_of(self._store, info.name, stones)
            try:
                yield from self._session(info, stones.get(info.name), standing)
                heads.append((info.name, standing))
            except Damaged as error:
                self.left_out.append((info.name, str(error)))
                yield line_of({"left_out": info.name})
        self.head = record_head(heads)

    def _session(self, info: SessionInfo, stone: Tombstone | None, standing: Standing) -> Iterator[bytes]:
        more = {"ephemeral": info.ephemeral, "ended_at": info.ended_at, "erased_at": stone.at if stone else None}
        for line in archive_lines(self._store, info, stone, (standing.seq, standing.chain), more):
            yield line
            self._on_bytes(len(line) * 3 // 4)
        self.sessions += 1
        self.entries += standing.entries


def compressed(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines as the bytes of a gzip file."""
    packer = zlib.compressobj(_LEVEL, wbits=_WINDOW)
    pending = bytearray()
    for line in lines:
        pending += packer.compress(line)
        if len(pending) >= _CHUNK:
            yield bytes(pending)
            pending.clear()
    yield bytes(pending) + packer.flush()


def is_backup(path: str) -> bool:
    """Whether the file begins as a backup does; a new one may take its place."""
    import gzip

    try:
        with gzip.open(path, "rb") as file:
            return file.read(24).startswith(b'{"keepwhole":1,"backup":')
    except (OSError, EOFError, zlib.error):
        return False
