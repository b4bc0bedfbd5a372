"""A store that is damaged on purpose, byte by byte, and what may and may not be seen of it afterwards."""

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from keepwhole import KeepwholeError, NotFound, Session, SqliteStore
from tests.torture.bodies import pieces, text
from tests.torture.checks import opened

SESSIONS = ("one", "two")
SIZES = (10, 900, 9_000, 40_000, 70_000)
_NEAR = 250


class Kept(NamedTuple):
    """A result that was kept and its bytes."""

    session: str
    trace_id: str
    data: bytes


class Image:
    """The files of a store, from which it can be restored after each damage."""

    def __init__(self, folder: Path, kept: list[Kept]) -> None:
        self.folder = folder
        self.kept = kept
        names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
        self.files = {name: (folder / name).read_bytes() for name in names if not name.endswith(("-shm", ".lock"))}

    def blobs(self) -> list[str]:
        """The names of the files of large bodies."""
        return [name for name in self.files if name.startswith("blobs/")]

    def damage(self, name: str, at: int, by: int) -> None:
        """Restore everything, then change one byte of the file `name`."""
        changed = bytearray(self.files[name])
        changed[at] ^= by
        self.replace(name, bytes(changed))

    def replace(self, name: str, data: bytes) -> None:
        """Restore everything, then give the file `name` another content."""
        for stale in ("record.db-wal", "record.db-shm"):
            (self.folder / stale).unlink(missing_ok=True)
        for other, whole in self.files.items():
            if other.startswith("record.") and other != name:
                (self.folder / other).write_bytes(whole)
        (self.folder / name).write_bytes(data)

    def restore(self, name: str) -> None:
        """Undo the damage to a file."""
        (self.folder / name).write_bytes(self.files[name])

    def owner(self, name: str) -> dict[int, str]:
        """For every byte of a file that is part of a live body or header: the session it is part of."""
        data, owners = self.files[name], dict[int, str]()
        for session, part in self._live_parts():
            for start in range(0, len(part), 64):
                at = data.find(part[start : start + 64]) if len(part[start : start + 64]) >= 48 else -1
                if at >= 0 and data.count(part[start : start + 64]) == 1:
                    owners.update(dict.fromkeys(range(at, at + len(part[start : start + 64])), session))
        return owners

    def _live_parts(self) -> Iterator[tuple[str, bytes]]:
        yield from ((kept.session, kept.data) for kept in self.kept)
        with opened(str(self.folder)) as store:
            for session in SESSIONS:
                yield from ((session, row.header) for row in store.rows(session))

    def places(self, name: str, chance: random.Random) -> Iterator[int]:
        """Endless places to damage: half of them anywhere, half where rows and index entries begin."""
        data = self.files[name]
        marks = [at for kept in self.kept for at in _all(data, kept.trace_id.encode())]
        while True:
            yield chance.randrange(len(data))
            if marks:
                yield max(0, chance.choice(marks) - chance.randrange(-24, _NEAR))


def _all(data: bytes, part: bytes) -> Iterator[int]:
    at = data.find(part)
    while at >= 0:
        yield at
        at = data.find(part, at + 1)


def make(folder: Path, *, checkpointed: bool, sizes: Sequence[int] = SIZES) -> Image:
    """A store with results of every size; if not `checkpointed`, half of it is in the WAL alone."""
    kept: list[Kept] = []
    with opened(str(folder)) as store:
        _fill(store, kept, 0, sizes)
    if checkpointed:
        return Image(folder, kept)
    copy = folder.with_name("copy")
    with opened(str(folder)) as store:
        _fill(store, kept, 100, sizes)
        shutil.copytree(folder, copy)
    return Image(copy, kept)


def _fill(store: SqliteStore, kept: list[Kept], seed: int, sizes: Sequence[int]) -> None:
    for number, size in enumerate(sizes):
        for name in SESSIONS:
            seed += 1
            data = text(seed, size).encode() if number % 2 else random.Random(seed).randbytes(size)
            shown = Session(name, store=store).keep("tool", {"n": seed}, pieces(data), call_id=f"call-{seed}")
            assert shown.problem is None
            kept.append(Kept(name, str(shown.trace_id), data))


class Seen(NamedTuple):
    """What a damaged store gave: which results it no longer finds or refuses, and which sessions are not whole."""

    missing: set[str]
    refused: set[str]
    broken: set[str]


def look(image: Image) -> Seen:
    """Read everything in every way; `AssertionError` for a wrong byte, any foreign error goes through."""
    seen = Seen(set(), set(), set())
    with opened(str(image.folder)) as store:
        for name in SESSIONS:
            try:
                if not Session(name, store=store).verify().whole:
                    seen.broken.add(name)
            except KeepwholeError:
                seen.broken.add(name)
        for kept in image.kept:
            _read(store, kept, seen)
        _list(store)
    return seen


def _read(store: SqliteStore, kept: Kept, seen: Seen) -> None:
    session = Session(kept.session, store=store)
    try:
        assert session.recall_bytes(kept.trace_id) == kept.data, "wrong bytes were served"
        assert session.recall(kept.trace_id, chars=(0, 5)) == kept.data.decode("utf-8", "surrogateescape")[:5]
    except NotFound:
        seen.missing.add(kept.trace_id)
    except KeepwholeError:
        seen.refused.add(kept.trace_id)
    for ask in (session.shown, lambda id: session.call_tool("get_artifact", {"id": id})):
        try:
            ask(kept.trace_id)
        except KeepwholeError:
            pass


def _list(store: SqliteStore) -> None:
    for ask in (store.sessions, store.tombstones, lambda: [Session(n, store=store).artifacts() for n in SESSIONS]):
        try:
            ask()
        except KeepwholeError:
            pass


def judge_beginning(image: Image, seen: Seen) -> str:
    """What is wrong where only a whole beginning of what was kept may be left, in the order it was kept."""
    if seen.refused:
        return "a result is damaged instead of gone"
    if bool(seen.missing) != bool(seen.broken):
        return "results are gone and verify does not notice" if seen.missing else "verify finds what is not there"
    there = [kept.trace_id not in seen.missing for kept in image.kept]
    return "" if there == sorted(there, reverse=True) else "results are missing from the middle"
