"""What a journal knows of a session: which result a text or an image is, what was decided, where texts come from."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole import MemoryStore, SqliteStore
from keepwhole.canonical.body import digest_of_bytes, measure
from keepwhole.canonical.entry import Decision
from keepwhole.record.fork_note import TOOL as FORK
from keepwhole.record.fork_note import ForkNote
from keepwhole.record.journal import Journal, digest_of_text, origin_of
from keepwhole.record.known_result import Origin
from keepwhole.store.protocol import Body, Draft, Store
from keepwhole.truncation.client_cut import RULE
from keepwhole.truncation.cut import Cut, encode_cut, whole
from tests.build import NOON, draft, opened

TEXT = "one line of the result\n" * 40


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(str(tmp_path / "home"))
    opened(store)
    yield store
    store.close()


def shown(about: Draft, text: str, rule: str = "age", above: str = "", width: int | None = None) -> Draft:
    """A decision that shows a text in place of a result."""
    cut = encode_cut(Cut(whole(4).pieces, above=above))
    header = Decision(
        at=NOON * 1000,
        trace_id=about.header.trace_id,
        rule=rule,
        strategy="head",
        version="0",
        shown_digest=digest_of_text(text).hex(),
        shown_chars=len(text),
        width=width,
    )
    return Draft(header, Body(measure(cut), inline=cut))


def journal_of(store: Store) -> Journal:
    journal = Journal(store, "s")
    journal.catch_up()
    return journal


def test_a_text_is_a_result_whole_or_a_view_of_it_or_what_the_client_cut(store: Store) -> None:
    kept = draft(store, TEXT, call_id="c1")
    store.append("s", [kept, shown(kept, "a view"), shown(kept, "a cut", RULE)])
    asked = [
        ("c1", TEXT, None),
        ("c1", "a view", None),
        ("c1", "a cut", None),
        ("c1", "else", None),
        ("c2", TEXT, None),
    ]
    found = journal_of(store).match_all(asked)
    told = [match and (match.known.result.trace_id, match.is_whole, match.is_client_cut) for match in found]
    trace_id = kept.header.trace_id
    assert told == [(trace_id, True, False), (trace_id, False, False), (trace_id, False, True), None, None]


def test_an_image_is_a_result_by_its_bytes_or_by_those_that_were_sent_in_its_place(store: Store) -> None:
    data, smaller = b"\x89PNG\r\n\x1a\n" + bytes(50), b"\x89PNG\r\n\x1a\n" + bytes(9)
    kept = draft(store, data, call_id="c1", media_type="image/png")
    scaled = shown(kept, "", width=9)
    small = Draft(scaled.header.replace(shown_digest=digest_of_bytes(smaller).hex()), scaled.body)
    store.append("s", [kept, small])
    asked = [("c1", "", digest_of_bytes(one)) for one in (data, smaller, b"another")]
    found = journal_of(store).match_all(asked)
    assert [match and match.is_whole for match in found] == [True, False, None]


def test_the_newest_of_several_results_of_a_call_is_meant(store: Store) -> None:
    first, second = (draft(store, TEXT, call_id="c1") for _ in range(2))
    store.append("s", [first, second, shown(first, "a view")])
    journal = journal_of(store)
    whole_text, view = journal.match_all([("c1", TEXT, None), ("c1", "a view", None)])
    assert whole_text is not None
    assert view is not None
    assert whole_text.known.result.trace_id == second.header.trace_id
    assert view.known.result.trace_id == first.header.trace_id
    assert [known.seq for known in journal.results_of_call("c1")] == [1, 2]
    assert list(journal.results_of_call("c9")) == []


def test_a_view_that_names_its_result_is_known_in_any_call_the_newest_of_equal_ones(store: Store) -> None:
    first, second = (draft(store, TEXT, call_id=f"c{number}") for number in (1, 2))
    named = [shown(one, "a view", above=one.header.trace_id) for one in (first, second)]
    store.append("s", [first, second, *named, shown(first, "unnamed")])
    journal = journal_of(store)
    journal.match_all([("c1", "", None), ("c2", "", None)])
    of_second, unnamed = journal.match_all([("c9", "a view", None), ("c9", "unnamed", None)])
    assert unnamed is None
    assert of_second is not None
    assert (of_second.known.result.trace_id, of_second.is_whole) == (second.header.trace_id, False)


@pytest.mark.parametrize(("tool", "called", "is_known"), [("bash", "bash", True), ("bash", "get_artifact", False)])
def test_what_a_recall_reads_is_no_result_of_another_tool_whose_call_had_the_same_id(
    store: Store, tool: str, called: str, is_known: bool
) -> None:
    for recorded, asked in ((tool, called), (called, tool)):
        store.append("s", [draft(store, TEXT + asked, call_id=asked, tool=recorded)])
        (match,) = journal_of(store).match_all([(asked, TEXT + asked, None)], [asked])
        assert (match is not None) is is_known
        (any_tool,) = journal_of(store).match_all([(asked, TEXT + asked, None)])
        assert any_tool is not None


def test_a_result_with_halves_of_characters_is_known_as_it_can_be_shown(store: Store) -> None:
    store.append("s", [draft(store, "a \ud800 b", call_id="c1")])
    journal = journal_of(store)
    asked = ["a \ud800 b", "a \ufffd b", "a \ufffd c", "a \ufffd  b"]
    found = journal.match_all([("c1", text, None) for text in asked])
    assert [match and match.is_whole for match in found] == [True, False, None, None]


def test_a_client_has_cut_a_result_where_a_shorter_text_has_a_known_mark(store: Store) -> None:
    image = draft(store, b"\x89PNG\r\n\x1a\n" + bytes(900), call_id="c2", media_type="image/png")
    store.append("s", [draft(store, TEXT, call_id="c1"), image])
    journal = journal_of(store)
    journal.match_all([("c1", "", None), ("c2", "", None)])
    cut, cleared = "a line\n[truncated: 900 more]", "[Old tool result content cleared]"
    for call_id, text, is_cut in (
        ("c1", cut, True),
        ("c1", cleared, True),
        ("c1", "a line", False),
        ("c1", cut.ljust(len(TEXT) - 1), True),
        ("c1", cut.ljust(len(TEXT)), False),
        ("c2", cleared, True),
        ("c2", cut, False),
        ("c9", cut, False),
    ):
        assert journal.is_foreign_cut(call_id, text) is is_cut, (call_id, text)


def test_texts_come_from_the_entry_that_produced_them_first(store: Store) -> None:
    kept, again = draft(store, TEXT), draft(store, TEXT)
    data = draft(store, b"\xff\x00\x01")
    store.append("s", [kept, again, data, shown(kept, "a view"), shown(again, "a view")])
    journal = journal_of(store)
    wanted = {TEXT: Origin(kept.header.trace_id), "a view": Origin(kept.header.trace_id, 4)}
    for _ in range(2):
        found = journal.origins_of([TEXT, "a view", "nobody's", b"\xff\x00\x01"])
        assert found == {**wanted, b"\xff\x00\x01": Origin(data.header.trace_id, 0, is_text=False)}
    later = draft(store, "later")
    store.append("s", [later])
    journal.catch_up()
    assert journal.origins_of(["later"]) == {"later": Origin(later.header.trace_id)}


def test_what_produces_only_bytes_is_no_origin_of_a_text(store: Store) -> None:
    kept = draft(store, b"\x89PNG\r\n\x1a\n" + bytes(50), media_type="image/png")
    store.append("s", [kept, shown(kept, "drawn", width=9)])
    journal = journal_of(store)
    assert journal.origins_of(["drawn"]) == {}
    assert journal.origins_of([b"drawn"]) == {b"drawn": Origin(kept.header.trace_id, 2, is_text=False)}
    assert Journal(store, "unknown").origins_of([TEXT]) == {}


def test_a_result_is_found_by_either_of_its_ids_and_read_whole(store: Store) -> None:
    kept = draft(store, TEXT, call_id="c1")
    store.append("s", [kept])
    journal = journal_of(store)
    known = journal.find(kept.header.trace_id)
    assert known is not None
    assert journal.find(kept.header.artifact_id) is known
    assert journal.find("art_9") is None
    assert (journal.original_text(known), journal.original(known)) == (TEXT, TEXT)
    part = journal.original(known, is_part=True)
    assert part is not None
    assert not isinstance(part, str)
    assert (part.media_type, part.data) == ("text/plain", TEXT.encode())
    store.purge("s", NOON)
    assert journal.original_text(known) is None
    assert journal.original(known, is_part=True) is None


def test_after_a_purge_everything_is_forgotten_and_read_anew(store: Store) -> None:
    assert journal_of(store).seq == 0
    kept = draft(store, TEXT, call_id="c1")
    store.append("s", [kept, shown(kept, "a view")])
    journal = journal_of(store)
    journal.match_all([("c1", TEXT, None)])
    assert (journal.seq, journal.generation) == (2, 0)
    store.purge("s", NOON)
    opened(store)
    store.append("s", [draft(store, "another life", call_id="c2")])
    journal.catch_up()
    assert journal.generation == 1
    old, new = journal.match_all([("c1", TEXT, None), ("c2", "another life", None)])
    assert old is None
    assert new is not None


def test_decisions_that_were_appended_with_an_entry_are_told_of_the_past_and_of_later(store: Store) -> None:
    one, two, three = (draft(store, f"{TEXT}{number}", call_id=f"c{number}") for number in range(3))
    store.append("s", [one, two, shown(one, "a"), shown(two, "b")])
    journal = journal_of(store)
    ids = [each.header.trace_id for each in (one, two)]
    assert [journal.decisions_with(seq) for seq in (1, 2, 3, 4)] == [[], ids, ids[1:], []]
    store.append("s", [three, shown(three, "c"), shown(one, "d")])
    journal.catch_up()
    assert journal.decisions_with(5) == [three.header.trace_id, one.header.trace_id]
    assert journal.decisions_with(7) == []


def test_own_notes_are_told_the_newest_first_and_name_where_a_fork_comes_from(store: Store) -> None:
    notes = [
        draft(store, "", tool=FORK, arguments=json.dumps(ForkNote((name,), turns).as_arguments()))
        for turns, name in enumerate(("first", "second"))
    ]
    assert origin_of(store, "s") is None
    store.append("s", [*notes, draft(store, TEXT, tool="bash")])
    journal = journal_of(store)
    assert [known.seq for known in journal.of_tool(FORK)] == [2, 1]
    assert journal.of_tool("bash") == []
    assert journal.fork == ForkNote(("second",), 1, seq=2)
    assert origin_of(store, "s") == "second"
