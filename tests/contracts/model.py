"""What a store is, said with a dictionary and lists: the model that every back end is compared with.

Owns: the meaning of each call. Must not know: any store; what is a body on disk is a value here.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keepwhole.canonical.entry import GENESIS, Header, Result, header_bytes, next_chain
from keepwhole.errors import NotFound, NotStored, UsageError
from keepwhole.store.protocol import Draft, SessionInfo, Tombstone


class Written(NamedTuple):
    """An entry on record."""

    seq: int
    kind: str
    header: Header
    data: bytes
    digest: bytes
    chain: bytes

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.header.trace_id, self.header.artifact_id) if isinstance(self.header, Result) else ()

    @property
    def call_id(self) -> str | None:
        return self.header.call_id if isinstance(self.header, Result) else None


class Model:
    """Sessions by name, in the order in which they were made, and the tombstones of those that are gone."""

    def __init__(self) -> None:
        self.infos: dict[str, SessionInfo] = {}
        self.entries: dict[str, list[Written]] = {}
        self.stones: dict[str, Tombstone] = {}

    def open_session(self, info: SessionInfo) -> SessionInfo:
        if info.name not in self.infos:
            self.infos[info.name] = info.replace(last_at=info.created_at)
            self.entries[info.name] = []
        return self.info(info.name)

    def info(self, name: str) -> SessionInfo:
        self._there(name)
        entries = self.entries[name]
        last_at = entries[-1].header.at if entries else self.infos[name].created_at
        return self.infos[name].replace(entries=len(entries), stored=self.stored(name), last_at=last_at)

    def sessions(self) -> list[SessionInfo]:
        """The one written to last first; of two, the one that was made last."""
        infos = [self.info(name) for name in reversed(self.infos)]
        return sorted(infos, key=lambda info: -info.last_at)

    def stored(self, name: str) -> int:
        return sum(len(entry.data) for entry in self.entries.get(name, []))

    def append(
        self, name: str, drafts: Sequence[tuple[Draft, bytes]], once: bool, quota: int | None
    ) -> list[tuple[int, bytes]]:
        """The number and the hash of each entry: of a result that is on record already those that it has."""
        self._there(name)
        told: list[Written] = []
        added: list[Written] = []
        repeated: set[str] = set()
        for draft, data in drafts:
            written = self._next(name, added, draft, data)
            again = self._again(name, added, written) if once else None
            if again is not None:
                repeated.add(draft.header.trace_id)
                told.append(again)
            elif draft.header.trace_id not in repeated:
                added.append(written)
                told.append(written)
        if added and quota is not None and self.stored(name) + sum(len(each.data) for each in added) > quota:
            raise NotStored("over the quota")
        self.entries[name] += added
        return [(entry.seq, entry.chain) for entry in told]

    def _next(self, name: str, added: list[Written], draft: Draft, data: bytes) -> Written:
        seq, previous = (added[-1].seq, added[-1].chain) if added else self.head(name)
        digest = draft.body.facts.digest
        chain = next_chain(previous, header_bytes(draft.header, draft.body.facts), digest)
        return Written(seq + 1, type(draft.header).__name__.lower(), draft.header, data, digest, chain)

    def _again(self, name: str, added: list[Written], written: Written) -> Written | None:
        if written.call_id is None:
            return None
        same = (each for each in [*self.entries[name], *added] if each.call_id == written.call_id)
        return next((each for each in same if each.digest == written.digest), None)

    def head(self, name: str) -> tuple[int, bytes]:
        if self.entries.get(name):
            return self.entries[name][-1].seq, self.entries[name][-1].chain
        stone = self.stones.get(name)
        return (stone.seq, stone.chain) if stone else (0, GENESIS)

    def rows(self, name: str, after: int = 0, kinds: tuple[str, ...] = ()) -> list[Written]:
        entries = self.entries.get(name, [])
        return [entry for entry in entries if entry.seq > after and (not kinds or entry.kind in kinds)]

    def find(self, name: str, any_id: str) -> Written | None:
        return next((entry for entry in self.entries.get(name, []) if any_id in entry.ids), None)

    def find_call(self, name: str, call_id: str) -> list[Written]:
        return [entry for entry in self.entries.get(name, []) if entry.call_id == call_id]

    def newest(self, name: str, kind: str, trace_id: str) -> Written | None:
        found = [entry for entry in self.rows(name, 0, (kind,)) if entry.header.trace_id == trace_id]
        return found[-1] if found else None

    def decided(self, name: str, most: int) -> list[str]:
        decisions = reversed(self.rows(name, 0, ("decision",)))
        return list(dict.fromkeys(entry.header.trace_id for entry in decisions))[:most]

    def search(self, name: str, word: str) -> set[tuple[str, int, str]]:
        """Each result that has the word, with the first line that has it."""
        found: set[tuple[str, int, str]] = set()
        for entry in self.rows(name, 0, ("result",)):
            lines = entry.data.decode("utf-8", "replace").split("\n")
            at = next((at for at, line in enumerate(lines) if word in line.lower().split()), None)
            if at is not None:
                found.add((entry.header.trace_id, at + 1, lines[at][:500]))
        return found

    def end(self, name: str, at: int) -> None:
        self._there(name)
        if self.infos[name].ended_at is None:
            self.infos[name] = self.infos[name].replace(ended_at=at)

    def purge(self, name: str, at: int) -> Tombstone:
        info = self.info(name)
        seq, chain = self.head(name)
        stone = Tombstone(name=name, seq=seq, chain=chain, at=at, entries=info.entries, stored=info.stored)
        if seq:
            self.stones[name] = stone
        del self.infos[name], self.entries[name]
        return stone

    def restart(self, name: str, seq: int, chain: bytes) -> None:
        self._there(name)
        if self.entries[name]:
            raise UsageError("it has entries")
        self.stones.pop(name, None)
        if seq:
            self.stones[name] = Tombstone(name=name, seq=seq, chain=chain, at=0, entries=0, stored=0)

    def _there(self, name: str) -> None:
        if name not in self.infos:
            raise NotFound("no such session")
