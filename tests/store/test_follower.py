"""RecordFollower a record: each new entry once, and the truth about what was purged."""

from keepwhole import MemoryStore
from keepwhole.store.follower import RecordFollower
from keepwhole.store.protocol import Row
from tests.build import NOON, decision, draft, opened


def seen(rows: object) -> list[int]:
    return [row.seq for row in rows]  # type: ignore[attr-defined]


def test_each_entry_is_new_once() -> None:
    store = MemoryStore()
    opened(store)
    following = RecordFollower(store, "s", "result")
    store.append("s", [draft(store), draft(store)])
    assert following.look()
    assert seen(following.new()) == [1, 2]
    assert following.look()
    assert seen(following.new()) == []
    store.append("s", [draft(store)])
    assert following.look()
    assert seen(following.new()) == [3]


def test_entries_of_other_kinds_are_stepped_over_and_not_looked_at_again() -> None:
    class Counting(MemoryStore):
        asked = 0

        def rows(self, *args: object, **named: object) -> object:  # type: ignore[override]
            self.asked += 1
            return super().rows(*args, **named)  # type: ignore[arg-type]

    store = Counting()
    opened(store)
    result = draft(store)
    store.append("s", [result, decision(result.header.trace_id)])
    following = RecordFollower(store, "s", "result")
    following.look()
    assert seen(following.new()) == [1]
    following.look()
    before = store.asked
    assert seen(following.new()) == []
    assert store.asked == before


def test_a_reader_that_breaks_off_goes_on_where_it_did() -> None:
    store = MemoryStore()
    opened(store)
    store.append("s", [draft(store) for _ in range(3)])
    following = RecordFollower(store, "s", "result")
    following.look()
    rows = following.new()
    next(rows), next(rows)
    rows.close()
    assert following.look()
    assert seen(following.new()) == [2, 3]


def test_a_purged_session_is_told_and_read_from_its_beginning() -> None:
    store = MemoryStore()
    opened(store)
    store.append("s", [draft(store)])
    following = RecordFollower(store, "s", "result")
    following.look()
    list(following.new())
    store.purge("s", NOON)
    opened(store)
    store.append("s", [draft(store)])
    assert not following.look()
    assert seen(following.new()) == [2]
    assert following.look()


def test_what_came_after_the_look_is_new_the_next_time() -> None:
    store = MemoryStore()
    opened(store)
    store.append("s", [draft(store)])
    following = RecordFollower(store, "s", "result")
    following.look()
    store.append("s", [draft(store)])
    assert seen(following.new()) == [1]
    following.look()
    assert seen(following.new()) == [2]


def test_a_session_that_is_purged_between_look_and_reading_is_told_the_next_time() -> None:
    store = MemoryStore()
    opened(store)
    store.append("s", [draft(store)])
    following = RecordFollower(store, "s", "result")
    following.look()
    list(following.new())
    store.append("s", [draft(store)])
    following.look()
    store.purge("s", NOON)
    opened(store)
    store.append("s", [draft(store)])
    assert seen(following.new()) == [2]  # as it was when it was looked at
    assert not following.look()
    assert seen(following.new()) == [3]


def test_a_session_that_is_purged_during_the_look_is_read_from_its_beginning() -> None:
    class Purged(MemoryStore):
        armed = False

        def entry(self, session: str, seq: int) -> Row | None:
            if self.armed:
                self.armed = False
                self.purge(session, NOON)
                opened(self)
                self.append("s", [draft(self)])
            return super().entry(session, seq)

    store = Purged()
    opened(store)
    store.append("s", [draft(store)])
    following = RecordFollower(store, "s", "result")
    following.look()
    list(following.new())
    store.append("s", [draft(store) for _ in range(70)])  # more than is seen at a glance
    store.armed = True
    assert not following.look()
    assert seen(following.new()) == [72]
