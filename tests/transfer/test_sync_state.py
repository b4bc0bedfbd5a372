"""What a copy may do with a session of another record: nothing is overwritten, and nothing erased comes back."""

import pytest

from keepwhole import MemoryStore
from keepwhole.canonical.entry import GENESIS
from keepwhole.transfer.sync_state import SyncState, chain_at, read_state, record_head, tombstones_by_name, verdict_for
from tests.build import NOON, draft, opened


def hash_of(seq: int, history: str = "a") -> bytes:
    return f"{history}{seq}".encode() if seq else GENESIS


def state(start: int, seq: int, history: str = "a") -> SyncState:
    return SyncState(start, hash_of(start), seq, hash_of(seq, history))


@pytest.mark.parametrize(
    ("there", "here", "verdict"),
    [
        (state(0, 9), state(0, 5), "go on"),
        (state(0, 9), state(0, 9), "go on"),
        (state(0, 9), state(0, 0), "go on"),
        (state(0, 0), state(0, 0), "go on"),
        (state(0, 5), state(0, 6), "ahead"),
        (state(0, 9), state(0, 5, "b"), "differs"),
        (state(0, 9), state(0, 9, "b"), "differs"),
        (state(6, 9), state(0, 0), "begin"),
        (state(6, 9), state(3, 3), "begin"),
        (state(6, 9), state(6, 6), "go on"),
        (state(6, 9), state(0, 5), "erase"),
        (state(6, 9), state(0, 8), "erase"),
        (state(6, 9), state(0, 8, "b"), "differs"),
        (state(6, 9), state(6, 8), "go on"),
        (state(0, 9), state(5, 5), "go on"),
        (state(0, 9), state(5, 7), "go on"),
    ],
)
def test_the_last_entry_here_says_what_is_done(there: SyncState, here: SyncState, verdict: str) -> None:
    assert verdict_for(there, here, hash_of) == verdict


def test_a_session_begins_at_its_tombstone_or_at_nothing() -> None:
    store = MemoryStore()
    opened(store)
    assert read_state(store, "s", {}) == read_state(store, "unknown", {}) == SyncState(0, GENESIS, 0, GENESIS)
    first, second = store.append("s", [draft(store), draft(store)])
    assert read_state(store, "s", {}) == SyncState(0, GENESIS, 2, second.chain)
    store.purge("s", NOON)
    erased = read_state(store, "s", tombstones_by_name(store))
    assert erased == SyncState(2, second.chain, 2, second.chain)
    opened(store)
    (third,) = store.append("s", [draft(store)])
    again = read_state(store, "s", tombstones_by_name(store))
    assert again == SyncState(2, second.chain, 3, third.chain)
    assert [state.entries for state in (erased, again)] == [0, 1]
    hashes = [chain_at(store, "s", again, seq) for seq in (1, 2, 3, 4)]
    assert hashes == [None, second.chain, third.chain, None]
    assert first.chain not in hashes


def test_one_hash_stands_for_the_heads_of_all_sessions_in_any_order() -> None:
    one, other = ("a", state(0, 3)), ("b", state(0, 4))
    head = record_head([one, other])
    assert record_head([other, one]) == head
    assert len({head, record_head([one]), record_head([one, ("b", state(0, 4, "b"))]), record_head([])}) == 4
