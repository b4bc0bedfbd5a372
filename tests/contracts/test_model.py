"""Model equivalence: whatever is done to a store, in any order, by two handles in turn, it is a dictionary and lists.

Briefly by default. At length under `torture`: `KEEPWHOLE_MODEL_SEQUENCES` says how many sequences of fifty steps,
of which a tenth is done to stores on servers, where a step takes ten times as long.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from keepwhole import KeepwholeError, MemoryStore
from keepwhole.canonical import ids
from keepwhole.canonical.entry import GENESIS
from keepwhole.store.protocol import Draft, Row, SessionInfo, Store, entry_of
from keepwhole.store.verify import verify
from tests.build import NOON, decision, draft, request, response, seeded, stored_bytes, taken
from tests.contracts.broken_stores import Forgetful, Unended
from tests.contracts.model import Model, Written
from tests.stores import EACH, place

SEQUENCES = int(os.environ.get("KEEPWHOLE_MODEL_SEQUENCES", "10000"))
_RENEWED = 100
"""Sequences after which a new record is begun, so that lists do not grow long."""
CALLS = ("call_1", "call_2", "\ud800\0é")
WORDS = ("alpha", "bravo")
BODIES = (
    *(b"", b"a", b"one alpha two\nthree", b"first\nsecond bravo\nthird alpha", "é bravo\n".encode() * 9, b"\xff\0\n"),
    *(b"x" * 32_768, b"y" * 40_000 + b" alpha", b"z" * 280_000 + b"\nbravo"),
)
KINDS_OF_ENTRIES = ("result", "decision", "request", "response")
names, handles, moments = st.sampled_from("aaabbc"), st.integers(0, 1), st.integers(0, 9)
calls = st.none() | st.sampled_from((CALLS[0], *CALLS))
bodies = st.integers(0, len(BODIES) - 1) | st.integers(0, 4)
"""Those that are small more often."""
drafts = st.lists(st.tuples(st.sampled_from(KINDS_OF_ENTRIES), bodies, calls, st.integers(0, 5)), max_size=4)


class Records:
    """Records of one kind, each for many sequences; a name has the number of its sequence in it."""

    def __init__(self, kind: str, folder: Path, memory: Callable[[], Store] = MemoryStore) -> None:
        self._kind, self._folder, self._memory = kind, folder, memory
        self._opened: list[Store] = []
        self.sequences = self.steps = 0

    def next(self) -> tuple[str, list[Store], Callable[[], Store]]:
        """A prefix for names, two handles, and what opens another one."""
        number = self.sequences
        self.sequences += 1
        if number % _RENEWED == 0:
            self.close()
            self._reopen = self._made(number)
            self._opened = [self._reopen(), self._reopen()]
        return f"{number}-", self._opened, self._reopen

    def _made(self, number: int) -> Callable[[], Store]:
        if self._kind == "memory":
            store = self._memory()
            return lambda: store
        return place(self._kind, self._folder / str(number)).open

    def close(self) -> None:
        for store in self._opened:
            store.close()


class StoreMachine(RuleBasedStateMachine):
    """One sequence: each step is done to the model and to the store, and both must say the same."""

    def __init__(self, records: Records) -> None:
        super().__init__()
        self.model = Model()
        self.records = records
        self.prefix, self.stores, self.reopen = records.next()
        self.random = seeded(self.prefix)
        self.steps = 0
        self.ids: list[str] = ["trace_unknown", "art_1_" + "A" * 22, "\ud800\0"]

    def same(self, told: Callable[[], Any], expected: Callable[[], Any]) -> Any:
        """Both give the same, or fail for the same reason."""
        outcomes: list[Any] = []
        errors: list[KeepwholeError] = []
        for act in (expected, told):
            try:
                outcomes.append(act())
            except KeepwholeError as error:
                outcomes.append(_reason(error))
                errors.append(error)
        assert outcomes[1] == outcomes[0], errors
        return outcomes[0]

    @initialize()
    def begin(self) -> None:
        self.open(0, "a", 0)
        self.open(1, "b", 1)

    @rule(handle=handles, name=names, at=moments)
    def open(self, handle: int, name: str, at: int) -> None:
        info = SessionInfo(name=self.prefix + name, created_at=NOON + at, agent=f"agent {at}")
        self.same(lambda: self.stores[handle].open_session(info), lambda: self.model.open_session(info))

    @rule(
        handle=handles,
        name=names,
        specs=drafts,
        once=st.booleans(),
        quota=st.none() | st.sampled_from((0, 60, 33_000, 90_000)),
        at=moments,
    )
    def append(self, handle: int, name: str, specs: Any, once: bool, quota: int | None, at: int) -> None:
        store, session = self.stores[handle], self.prefix + name
        made = [self.drafted(store, session, NOON + at, *spec) for spec in specs]
        both = [(each, data) for each, data in made]
        self.same(
            lambda: [
                (e.seq, e.chain) for e in store.append(session, [each for each, _ in made], once=once, quota=quota)
            ],
            lambda: self.model.append(session, both, once, quota),
        )

    def drafted(
        self, store: Store, session: str, at: int, kind: str, body: int, call_id: str | None, which: int
    ) -> tuple[Draft, bytes]:
        """A draft and the bytes of its body."""
        about = [entry.header.trace_id for entry in self.model.entries.get(session, [])] or ["trace_nobody"]
        trace_id = about[which % len(about)]
        if kind == "decision":
            made = decision(trace_id, f"rule {which}")
            return made, made.body.inline or b""
        data = BODIES[body]
        if kind == "response":
            return response(store, trace_id, data, at=at), data
        own = ids.trace_id(self.random(ids.RANDOM_BYTES))
        self.ids.append(own)
        if kind == "request":
            return request(store, data, at=at, trace_id=own), data
        artifact = ids.artifact_id(NOON, own) if which else f"art_{NOON}_of_its_own_{len(self.ids)}"
        self.ids.append(artifact)
        return draft(store, data, at=at, trace_id=own, artifact_id=artifact, call_id=call_id), data

    @rule(handle=handles, body=bodies)
    def discard(self, handle: int, body: int) -> None:
        self.stores[handle].discard(taken(self.stores[handle], BODIES[body]))

    @rule(handle=handles, name=names, at=moments)
    def end(self, handle: int, name: str, at: int) -> None:
        session = self.prefix + name
        self.same(lambda: self.stores[handle].end(session, NOON + at), lambda: self.model.end(session, NOON + at))

    @rule(handle=handles, name=names, at=moments)
    def purge(self, handle: int, name: str, at: int) -> None:
        session = self.prefix + name
        self.same(lambda: self.stores[handle].purge(session, NOON + at), lambda: self.model.purge(session, NOON + at))

    @rule(handle=handles, name=names, seq=st.integers(0, 3))
    def restart(self, handle: int, name: str, seq: int) -> None:
        session, chain = self.prefix + name, bytes([seq]) * len(GENESIS)
        self.same(
            lambda: self.stores[handle].restart(session, seq, chain), lambda: self.model.restart(session, seq, chain)
        )

    @rule(handle=handles)
    def close_and_reopen(self, handle: int) -> None:
        self.stores[handle].close()
        self.stores[handle] = self.reopen()

    @rule(handle=handles, name=names, after=st.integers(0, 6), kinds=st.sets(st.sampled_from(KINDS_OF_ENTRIES)))
    def read_rows(self, handle: int, name: str, after: int, kinds: set[str]) -> None:
        store, session, wanted = self.stores[handle], self.prefix + name, tuple(sorted(kinds))
        expected = self.model.rows(session, after, wanted)
        light = list(store.rows(session, after=after, kind=wanted, light=True))
        assert [_told(row) for row in light] == [_expected(entry) for entry in expected]
        assert [row.inline for row in light if row.kind == "decision"] == [
            entry.data for entry in expected if entry.kind == "decision"
        ]
        whole = list(store.rows(session, after=after, kind=wanted))
        assert [(_told(row), stored_bytes(store, row)) for row in whole] == [
            (_expected(entry), entry.data) for entry in expected
        ]

    @rule(handle=handles, name=names)
    def find(self, handle: int, name: str) -> None:
        store, session = self.stores[handle], self.prefix + name
        at = {entry.seq: entry for entry in self.model.rows(session)}
        assert _told(store.last(session)) == _expected(at[max(at)] if at else None)
        for seq in (0, 1, max(at, default=3), max(at, default=3) + 1):
            assert _told(store.entry(session, seq)) == _expected(at.get(seq))
        for any_id in (*self.ids[1:3], *self.ids[-4:]):
            assert _told(store.find(session, any_id)) == _expected(self.model.find(session, any_id))
            for kind in KINDS_OF_ENTRIES:
                assert _told(store.newest(session, kind, any_id)) == _expected(self.model.newest(session, kind, any_id))
        for call in CALLS:
            told = [_told(row) for row in store.find_call(session, call)]
            assert told == [_expected(entry) for entry in self.model.find_call(session, call)]
        for most in (1, 3, 99):
            assert store.last_decided(session, most) == self.model.decided(session, most)

    @rule(handle=handles, name=names, word=st.sampled_from(WORDS))
    def search(self, handle: int, name: str, word: str) -> None:
        session = self.prefix + name
        found = self.stores[handle].search(session, word, 1_000)
        assert {(match.trace_id, match.line, match.text) for match in found} == self.model.search(session, word)
        assert len(found) == len(self.model.search(session, word))

    @rule(handle=handles, name=names)
    def prove(self, handle: int, name: str) -> None:
        session = self.prefix + name
        proof = verify(self.stores[handle], session)
        entries = self.model.rows(session)
        assert proof.entries == len(entries)
        assert not entries or proof.head == entries[-1].chain.hex()

    @invariant()
    def lists_agree(self) -> None:
        self.steps += 1
        self.records.steps += 1
        if self.steps % 8 == 0:
            self.find(self.steps % 4 // 2, "aab"[self.steps % 3])
        store = self.stores[0]
        assert [info for info in store.sessions() if info.name.startswith(self.prefix)] == self.model.sessions()
        stones = {stone.name: stone for stone in store.tombstones() if stone.name.startswith(self.prefix)}
        assert stones == self.model.stones
        for name in "abc":
            assert store.stored(self.prefix + name) == self.model.stored(self.prefix + name)


def _reason(error: KeepwholeError) -> str:
    """Why something failed, by what a caller tells apart."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    return next(name for name in ("NotFound", "UsageError", "NotStored", "KeepwholeError") if name in kinds)


def _expected(entry: Written | None) -> Any:
    return entry and (entry.seq, entry.kind, entry.header, entry.digest, entry.chain)


def _told(row: Row | None) -> Any:
    """What a row says of itself; reading it checks it."""
    return row and (row.seq, row.kind, entry_of(row).header, row.digest, row.chain)


def run(kind: str, folder: Path, sequences: int, steps: int) -> None:
    quiet = list(HealthCheck)
    some = settings(max_examples=sequences, stateful_step_count=steps, deadline=None, suppress_health_check=quiet)
    records = Records(kind, folder)
    compare(records, some)
    print(f"\n{kind}: {records.sequences:,} sequences, {records.steps:,} steps")


def compare(records: Records, some: settings) -> None:
    try:
        run_state_machine_as_test(lambda: StoreMachine(records), settings=some)  # type: ignore[arg-type]
    finally:
        records.close()


@pytest.mark.parametrize("kind", ["memory", *EACH])
def test_a_store_is_a_dictionary_and_lists(kind: str, tmp_path: Path) -> None:
    run(kind, tmp_path, 8, 25)


@pytest.mark.torture
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", ["memory", *EACH])
def test_a_store_is_a_dictionary_and_lists_at_length(kind: str, tmp_path: Path) -> None:
    run(kind, tmp_path, SEQUENCES // 10 if kind.startswith("postgres") else SEQUENCES, 50)


@pytest.mark.parametrize("broken", [Forgetful, Unended])
def test_a_store_that_is_none_is_caught(broken: type[MemoryStore], tmp_path: Path) -> None:
    some = settings(max_examples=100, stateful_step_count=25, deadline=None, phases=[Phase.generate])
    with pytest.raises(AssertionError):
        compare(Records("memory", tmp_path, broken), some)
