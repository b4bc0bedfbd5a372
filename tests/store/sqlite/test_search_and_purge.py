"""What the SQLite back end does beyond the contract: ranking, large bodies, and a purge that leaves no trace."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.errors import NotStored
from keepwhole.store.passages import EACH, INDEXED_BYTES
from keepwhole.store.sqlite import text_index
from keepwhole.truncation.words import stem
from tests.build import NOON, decision, draft, numbered_lines, opened

CANARY = "zebracanary"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(str(tmp_path))
    yield store
    store.close()


def all_bytes(folder: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file())


def test_the_best_match_comes_first(store: SqliteStore) -> None:
    opened(store)
    aside = draft(store, numbered_lines(300) + "an engine is mentioned\n")
    about = draft(store, "engine engine engine\n")
    store.append("s", [about, aside])
    assert [match.trace_id for match in store.search("s", "engine")] == [about.header.trace_id, aside.header.trace_id]


@pytest.mark.parametrize("inline_body", [32_768, 2_000_000])
def test_words_beyond_the_index_are_found_wherever_the_body_is_kept(tmp_path: Path, inline_body: int) -> None:
    store = SqliteStore(str(tmp_path / "home"), inline_body=inline_body)
    opened(store)
    far = draft(store, "first words\n" + numbered_lines(INDEXED_BYTES // 20) + "the needle\n")
    store.append("s", [far])
    assert [match.trace_id for match in store.search("s", "needle")] == [far.header.trace_id]
    assert [match.trace_id for match in store.search("s", "first needle")] == [far.header.trace_id]
    store.close()


def test_a_word_that_lies_across_two_blocks_of_one_endless_line_is_found(store: SqliteStore) -> None:
    opened(store)
    edge = 5 * 65_536
    store.append("s", [draft(store, "x " * (edge // 2 - 3) + " needle " + "y " * 10_000)])
    assert [match.line for match in store.search("s", "needle")] == [1]


def test_a_damaged_body_stops_neither_a_search_nor_a_purge(store: SqliteStore) -> None:
    session = Session("s", store=store)
    session.keep("t", None, numbered_lines(9_000))
    session.keep("t", None, "a line that is whole")
    (blob,) = (path for path in Path(store.folder, "blobs").rglob("*") if path.is_file())
    blob.write_bytes(b"")
    assert [match.text for match in store.search("s", "whole")] == ["a line that is whole"]
    assert store.purge("s", NOON).entries == 3


def test_a_body_that_is_damaged_after_it_was_indexed_does_not_hide_the_others(store: SqliteStore) -> None:
    session = Session("s", store=store)
    session.keep("t", None, "needle\n" + numbered_lines(30_000))
    session.keep("t", None, "another needle")
    assert len(store.search("s", "needle")) == 2
    (blob,) = (path for path in Path(store.folder, "blobs").rglob("*") if path.is_file())
    blob.write_bytes(b"damaged")
    assert [match.text for match in store.search("s", "needle")] == ["another needle"]


def test_a_search_does_not_read_what_is_not_text(store: SqliteStore) -> None:
    session = Session("s", store=store)
    session.keep("t", None, b"\x89PNG\r\n\x1a\n words in a picture")
    assert store.search("s", "picture") == []


def test_a_purge_leaves_no_byte_of_the_content_in_any_file(store: SqliteStore) -> None:
    session = Session("gone", store=store)
    session.keep(CANARY, {"path": CANARY}, f"{CANARY} small", call_id=CANARY, question=CANARY)
    session.keep("t", None, f"{CANARY} large\n" * 10_000)
    Session("stays", store=store).keep("t", None, "other words")
    assert len(store.search("gone", CANARY)) == 2
    assert len(store.passages("gone").newest([[stem(CANARY)]], 9)) > 2
    assert CANARY.encode() in all_bytes(store.folder)
    store.purge("gone", NOON)
    assert stem(CANARY).encode() not in all_bytes(store.folder)


def test_a_purge_takes_the_files_of_its_session_and_no_others(store: SqliteStore) -> None:
    for name in ("gone", "stays"):
        Session(name, store=store).keep("t", None, numbered_lines(9_000))
    kept = [row.blob for row in store.rows("stays", kind="result")]
    store.purge("gone", NOON)
    assert [path.name for path in Path(store.folder, "blobs").rglob("*") if path.is_file()] == kept


def test_a_purge_removes_the_lock_of_a_held_session(store: SqliteStore) -> None:
    session = Session("gone", store=store, ephemeral=True)
    session.keep("t", None, "x")
    assert list(Path(store.folder).glob("session-*.lock"))
    store.purge("gone", NOON)
    assert not list(Path(store.folder).glob("session-*.lock"))


def test_the_index_is_sound_after_many_purges(store: SqliteStore) -> None:
    for turn in range(4):
        name = f"s{turn}"
        Session(name, store=store).keep("t", None, f"common word{turn}")
        assert len(store.search(name, "common")) == 1
        store.purge(name, NOON)
    Session("last", store=store).keep("t", None, "common words")
    assert len(store.search("last", "common")) == 1
    with store.database.writing() as execute:
        execute("INSERT INTO passages (passages, rank) VALUES ('integrity-check', 0)")


def test_a_discarded_body_leaves_no_file(store: SqliteStore) -> None:
    opened(store)
    store.discard(draft(store, numbered_lines(9_000)).body)
    assert [path for path in Path(store.folder, "blobs").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(("size", "files"), [(32_768, 0), (32_769, 1)])
def test_bodies_up_to_32_kilobytes_lie_in_the_row(store: SqliteStore, size: int, files: int) -> None:
    opened(store)
    store.append("s", [draft(store, b"x" * size)])
    assert len([path for path in Path(store.folder).rglob("blobs/*/*") if path.is_file()]) == files


def test_what_is_purged_while_its_words_are_gathered_is_not_indexed(store: SqliteStore) -> None:
    session = Session("gone", store=store)
    session.keep("t", None, f"{CANARY} once")
    gathered = store._index.gather(0)
    store.purge("gone", NOON)
    Session("gone", store=store).keep("t", None, "something else")
    assert not store._index.add(gathered)
    assert store.passages("gone").newest([[stem(CANARY)]], 9) == []
    assert stem(CANARY).encode() not in all_bytes(store.folder)


def test_two_that_catch_up_at_once_index_everything_once(store: SqliteStore) -> None:
    session = Session("s", store=store)
    session.keep("t", None, "quokka")
    first, second = store._index.gather(0), store._index.gather(0)
    assert store._index.add(first)
    assert not store._index.add(second)
    assert len(store.passages("s").newest([["quokka"]], 9)) == 1


def test_sessions_that_take_turns_are_indexed_each_for_itself(store: SqliteStore) -> None:
    sessions = [Session(name, store=store) for name in ("a", "b", "c")]
    for number in range(9):
        sessions[number % 3].keep("t", None, f"quokka {number}")
    for session in sessions:
        found = store.passages(session.id)
        places = found.places(found.newest([["quokka"]], 9)).values()
        assert [place.seq for place in places] == [3, 2, 1]


def test_a_search_without_time_indexes_one_result_and_says_how_far_the_index_goes(store: SqliteStore) -> None:
    session = Session("s", store=store)
    for number in range(3):
        session.keep("t", None, f"quokka {number}")
    for indexed in (1, 2):
        found = store.passages("s", until=0.0)
        assert (found.is_all, found.indexed_to) == (False, indexed)
        assert found.newest([["quokka"]], 9) == [EACH * seq for seq in range(indexed, 0, -1)]
    assert store.passages("s", until=0.0).is_all
    assert store.passages("s").newest([["quokka"]], 9) == [3 * EACH, 2 * EACH, EACH]


def test_the_results_of_other_sessions_that_wait_are_indexed_first(store: SqliteStore) -> None:
    for name in ("other", "s"):
        session = Session(name, store=store)
        for number in range(2):
            session.keep("t", None, f"quokka {number}")
    none = store.passages("s", until=0.0)
    assert (none.is_all, none.indexed_to, none.newest([["quokka"]], 9)) == (False, 0, [])
    everything = store.passages("s", until=time.monotonic() + 60)
    assert (everything.is_all, everything.newest([["quokka"]], 9)) == (True, [2 * EACH, EACH])
    assert everything.indexed_to == 0, "nothing is left to be read"


def test_the_results_of_a_session_are_held_in_memory_where_the_index_cannot_be_written(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("other", "s"):
        session = Session(name, store=store)
        for number in range(2):
            session.keep("t", None, f"quokka {number} of {name}")
    monkeypatch.setattr(store.database, "writing", _refused)
    found = store.passages("s")
    assert (found.is_all, found.indexed_to) == (True, 2)
    assert found.newest([["quokka"]], 9) == [2 * EACH, EACH]
    assert [place.seq for place in found.places([2 * EACH, EACH]).values()] == [2, 1]
    monkeypatch.undo()
    assert store.passages("other").newest([["quokka"]], 9) == [2 * EACH, EACH]


def _refused() -> None:
    raise NotStored("the disk is full")


def test_the_newest_passages_above_a_number_are_found(store: SqliteStore) -> None:
    session = Session("s", store=store)
    for number in range(4):
        session.keep("t", None, f"quokka {number}")
    found = store.passages("s")
    assert found.newest([["quokka"]], 2) == [4 * EACH, 3 * EACH]
    assert found.newest([["quokka"]], 9, above=2 * EACH) == [4 * EACH, 3 * EACH]
    assert found.newest([["quokka"]], 9, above=2 * EACH - 1) == [4 * EACH, 3 * EACH, 2 * EACH]
    assert found.starting_with("quok", 1) == [4 * EACH]
    assert found.starting_with("uok", 1) == []


def test_passages_are_numbered_as_in_the_indexes_that_records_have(store: SqliteStore) -> None:
    for name in ("first", "second"):
        Session(name, store=store).keep("t", None, "quokka " * 700)
        store.passages(name)
    numbers = store.database.select("SELECT rowid FROM passages WHERE passages MATCH 'quokka' ORDER BY rowid")
    assert [number for (number,) in numbers] == [session * 2**36 + 64 + at for session in (1, 2) for at in (0, 1)]


def test_of_very_many_results_the_number_of_the_last_entry_stands_for_how_many_there_are(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(store)
    kept = [draft(store, f"text {number}") for number in range(3)]
    store.append("s", [*kept, decision(kept[0].header.trace_id), decision(kept[1].header.trace_id)])
    assert store.passages("s").size() == 3
    for many, size in ((4, 3), (3, 5)):
        monkeypatch.setattr(text_index, "_MANY", many)
        assert store.passages("s").size() == size


def test_a_session_without_results_has_no_passages(store: SqliteStore) -> None:
    Session("first", store=store).keep("t", None, "quokka")
    assert len(store.passages("first").newest([["quokka"]], 9)) == 1
    opened(store)
    for name in ("s", "unknown"):
        found = store.passages(name)
        assert (found.is_all, found.size(), found.newest([["quokka"]], 9), list(found.beyond())) == (True, 0, [], [])
