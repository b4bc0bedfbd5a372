"""A session that nobody has searched before is read, the newest results first: hits at once, and nothing is missed."""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from keepwhole import SqliteStore
from keepwhole.canonical.body import BLOCK
from keepwhole.recall.first_lines import first_lines
from keepwhole.recall.tools import RecallTools
from keepwhole.store.protocol import Body, Passages
from keepwhole.store.reader import BodyReader
from keepwhole.store.text_search import NewestFirst
from tests.build import draft, numbered_lines, opened

COUNT = 60


class CountingStore(SqliteStore):
    """A store that knows how many bodies were opened."""

    bodies = 0

    def open(self, body: Body) -> BodyReader:
        self.bodies += 1
        return super().open(body)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CountingStore]:
    """Sixty results that nobody has searched; each has its number, all but the first say `needle`."""
    made = CountingStore(str(tmp_path / "home"))
    opened(made)
    texts = ["the first one", *(f"needle no{number}\n{numbered_lines(2_000)}" for number in range(1, COUNT))]
    for start in range(0, COUNT, 20):
        made.append("s", [draft(made, text) for text in texts[start : start + 20]])
    made.bodies = 0
    yield made
    made.close()


def not_indexed(store: SqliteStore) -> Passages:
    """The passages of a session of which one result was indexed."""
    return store.passages("s", until=time.monotonic() - 1)


def test_a_hit_in_the_newest_result_is_there_before_any_other_is_read_or_indexed(store: CountingStore) -> None:
    passages = not_indexed(store)
    before = store.bodies
    scan = NewestFirst(store, "s", f"needle no{COUNT - 1}", passages=passages)
    assert next(scan.matches()).text == f"needle no{COUNT - 1}"
    assert (before, store.bodies) == (1, 2)
    assert not passages.is_all


def test_hits_come_newest_first_and_everything_is_read_for_a_word_that_nothing_has(store: CountingStore) -> None:
    scan = NewestFirst(store, "s", "needle", passages=not_indexed(store))
    assert [match.text for match in islice(scan.matches(), 3)] == [f"needle no{COUNT - back}" for back in (1, 2, 3)]
    assert (scan.looked, scan.reached) == (3, COUNT - 2)
    nothing = NewestFirst(store, "s", "quokka", passages=not_indexed(store))
    assert (list(nothing.matches()), nothing.looked, nothing.reached) == ([], COUNT, 0)


def test_a_search_without_time_goes_on_where_it_stopped_and_reads_each_result_once(store: CountingStore) -> None:
    scan = NewestFirst(store, "s", "needle", passages=not_indexed(store))
    assert list(scan.matches(time.monotonic() - 1)) == []
    assert scan.looked == 0
    found: list[str] = []
    while scan.reached:
        found += [match.text for match in scan.matches(time.monotonic() - 1, least=1)]
    assert found == [f"needle no{number}" for number in range(COUNT - 1, 0, -1)]
    again = NewestFirst(store, "s", "needle", passages=not_indexed(store), below=4)
    assert [match.text for match in again.matches()] == ["needle no2", "needle no1"]


def test_what_the_index_rules_out_is_not_read(store: CountingStore) -> None:
    passages = store.passages("s")
    passages.is_all, passages.indexed_to = False, COUNT  # as it is while newer results are not indexed
    store.append("s", [draft(store, "a new quokka")])
    store.bodies = 0
    scan = NewestFirst(store, "s", "quokka", passages=passages)
    assert ([match.text for match in scan.matches()], scan.reached, store.bodies) == (["a new quokka"], 0, 1)
    assert [match.text for match in NewestFirst(store, "s", "no7", passages=passages).matches()] == ["needle no7"]


@pytest.mark.parametrize("text", ["needle", "Nadel ÄÖ", "針の穴"])
def test_words_across_the_blocks_of_a_long_body_are_found(tmp_path: Path, text: str) -> None:
    store = SqliteStore(str(tmp_path / "home"))
    opened(store)
    for shift in range(0, 12, 3):
        at = 5 * BLOCK - shift
        store.append("s", [draft(store, "x" * at + f" {text}{shift} " + "y" * 2 * BLOCK)])
        scan = NewestFirst(store, "s", f"{text}{shift}".lower(), passages=not_indexed(store))
        assert [match.line for match in scan.matches()] == [1], shift
    store.close()


def test_a_session_that_begins_with_a_large_number_is_read_too(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "home"))
    opened(store)
    store.restart("s", 3_000_000, b"\0" * 32)
    store.append("s", [draft(store, "a needle")])
    scan = NewestFirst(store, "s", "needle", passages=not_indexed(store))
    assert ([match.text for match in scan.matches()], scan.reached) == (["a needle"], 0)
    store.close()


def test_first_lines_of_a_question_are_those_with_its_rarest_names(store: CountingStore) -> None:
    store.append("s", [draft(store, "parse_config of INV-20431 failed\n"), draft(store, "the needle failed\n")])
    lines = first_lines(store, "s", "why did parseConfig of INV-20431 fail?", time.monotonic() + 60)
    assert lines[0].text == "parse_config of INV-20431 failed"
    assert first_lines(store, "s", "a quokka", time.monotonic() + 60) == []
    assert first_lines(store, "s", "needle", time.monotonic() - 1) == []


def test_first_lines_are_of_the_task_that_was_asked_about(store: CountingStore) -> None:
    assert first_lines(store, "s", "needle", time.monotonic() + 60, task_id="7") == []


def test_a_model_is_told_that_there_is_nothing_only_after_everything_was_looked_at(
    store: CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = RecallTools(store, "s", lambda: 8_000)
    monkeypatch.setattr("keepwhole.recall.tools._SEARCH_SECONDS", -1)
    assert (
        "[No result of this session holds these words." in tools.answer("search_artifacts", {"query": "quokka"}).content
    )
    monkeypatch.setattr("keepwhole.recall.tools._THOROUGH", -1)
    for _ in range(3):
        store.append("s", [draft(store, "one more"), draft(store, "and another")])
        told = tools.answer("search_artifacts", {"query": "quokka"}).content
        assert "not every result could be looked at" in told
        assert "No result" not in told


def test_a_small_session_need_not_wait_until_those_before_it_are_indexed(store: CountingStore) -> None:
    long = numbered_lines(10_000)
    for start in range(0, 120, 20):
        store.append("s", [draft(store, f"{number} {long}") for number in range(start, start + 20)])
    opened(store, "small")
    store.append("small", [draft(store, "a quokka")])
    passages = store.passages("small", until=time.monotonic() + 1)
    assert passages.is_all
    assert passages.starting_with("quokk", 9)
    assert not not_indexed(store).is_all
