"""`SyncState`: how far a session has come in a record, and what a copy of it from another record may do there.

Owns: the rules by which nothing is overwritten, and nothing that was erased comes back or stays behind.
Must not know: how entries are copied.

Theory of operation
-------------------
A session in a record is the entries after `start_seq` up to `seq`. It starts at 0, or after its tombstone if it was
purged and its name used again. Each entry's `chain` hash covers all entries before it, so two records have the same
session up to a number exactly if they have the same hash there. For a session that comes from a record (there) to
another one (here), `verdict_for` compares the last entry here with the entry of that number there:

    there            here             verdict   what is done
    1..9             1..5, same       go on     entries 6..9 are added
    1..9             1..9, same       go on     nothing is missing
    1..5             1..9             ahead     left alone
    1..9             1..5, other      differs   left alone
    after 6: 7..9    nothing          begin     a tombstone at 6, then 7..9
    after 6: 7..9    1..5             erase     what was erased there is erased here; a tombstone at 6, then 7..9
    1..9             erased up to 5   go on     entries 6..9 are added; 1..5 stay erased

Invariants: an entry here is never changed; an entry is erased here only if it was erased there; an entry that was
erased here is not brought back.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.canonical.entry import GENESIS
from keepwhole.store.protocol import Store, Tombstone

Verdict: TypeAlias = Literal["go on", "begin", "erase", "ahead", "differs"]
Tombstones: TypeAlias = Mapping[str, Tombstone]


class SyncState(NamedTuple):
    """The number and hash that a session starts after, and those of its last entry."""

    start_seq: int = 0
    start_chain: bytes = GENESIS
    seq: int = 0
    chain: bytes = GENESIS

    @property
    def entries(self) -> int:
        """How many entries the session has."""
        return self.seq - self.start_seq


def tombstones_by_name(store: Store) -> dict[str, Tombstone]:
    """Return the tombstones of a record by name."""
    return {stone.name: stone for stone in store.tombstones()}


def read_state(store: Store, name: str, stones: Tombstones) -> SyncState:
    """Read the state of a session; one that does not exist is at its tombstone, or at the beginning."""
    stone, last = stones.get(name), store.last(name)
    start_seq, start_chain = (stone.seq, stone.chain) if stone else (0, GENESIS)
    return (
        SyncState(start_seq, start_chain, last.seq, last.chain)
        if last
        else SyncState(start_seq, start_chain, start_seq, start_chain)
    )


def chain_at(store: Store, name: str, here: SyncState, seq: int) -> bytes | None:
    """Return the hash of a session at this number; None if it has no such entry."""
    if seq == here.start_seq:
        return here.start_chain
    row = store.entry(name, seq)
    return row.chain if row else None


def verdict_for(there: SyncState, here: SyncState, hash_there: Callable[[int], bytes | None]) -> Verdict:
    """Return what to do here with a session of another record, in which it has the hash `hash_there` at a number."""
    if here.seq > there.seq:
        return "ahead"
    if here.seq >= there.start_seq and hash_there(here.seq) != here.chain:
        return "differs"
    if here.entries and here.start_seq < there.start_seq:
        return "erase"
    return "begin" if here.seq < there.start_seq else "go on"


def record_head(states: Iterable[tuple[str, SyncState]]) -> str:
    """Return one hash for the heads of many sessions: equal if each of them is."""
    lines = sorted(f"{name} {state.seq} {state.chain.hex()}\n" for name, state in states)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
