"""Where a session stands in a record, and what one that comes from another record may do there.

Owns: the rules by which nothing is overwritten, and nothing that was erased comes back or stays behind.
Must not know: how entries are carried.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.canonical.entry import GENESIS
from keepwhole.store.protocol import Store, Tombstone

Verdict: TypeAlias = Literal["go on", "begin", "erase", "ahead", "differs"]
Stones: TypeAlias = Mapping[str, Tombstone]


class Standing(NamedTuple):
    """Where a session stands: the number and hash it begins after, and those of its last entry."""

    began: int = 0
    origin: bytes = GENESIS
    seq: int = 0
    chain: bytes = GENESIS

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return self.seq - self.began


def stones_of(store: Store) -> dict[str, Tombstone]:
    """What stays of purged sessions, by name."""
    return {stone.name: stone for stone in store.tombstones()}


def standing_of(store: Store, name: str, stones: Stones) -> Standing:
    """Where a session stands; one that is not there stands at its tombstone, or at the beginning."""
    stone, last = stones.get(name), store.last(name)
    began, origin = (stone.seq, stone.chain) if stone else (0, GENESIS)
    return Standing(began, origin, last.seq, last.chain) if last else Standing(began, origin, began, origin)


def chain_at(store: Store, name: str, here: Standing, seq: int) -> bytes | None:
    """The hash of a session's entry with this number."""
    if seq == here.began:
        return here.origin
    row = store.entry(name, seq)
    return row.chain if row else None


def verdict_on(there: Standing, here: Standing, hash_there: Callable[[int], bytes | None]) -> Verdict:
    """What to do with a session that comes from `there`, where it has the hash `hash_there` at a number.

    It goes on after the last entry `here`, or begins where it begins there. Entries here that were erased there are
    erased first. One that is ahead here, or is not the same, is left alone. One that was erased here is not brought
    back: what is here then stands at its tombstone, and it goes on after that.
    """
    if here.seq > there.seq:
        return "ahead"
    if here.seq >= there.began and hash_there(here.seq) != here.chain:
        return "differs"
    if here.entries and here.began < there.began:
        return "erase"
    return "begin" if here.seq < there.began else "go on"


def record_head(standings: Iterable[tuple[str, Standing]]) -> str:
    """One hash for the heads of many sessions: equal where each of them is."""
    lines = sorted(f"{name} {standing.seq} {standing.chain.hex()}\n" for name, standing in standings)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
