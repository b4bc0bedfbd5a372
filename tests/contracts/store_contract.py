"""The contract of a back end: a class that inherits `StoreContract` and has a `store` fixture tests that back end."""

import hashlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.canonical.body import BLOCK
from keepwhole.canonical.entry import GENESIS, header_bytes
from keepwhole.errors import NotFound, NotStored, Overtaken, QuotaExceeded, UsageError
from keepwhole.exchange.request_log import LoggedAnswer, RequestLog
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import FindsCalls, SessionInfo, Store, body_of, decision_of, entry_of
from keepwhole.store.verify import verify
from tests.build import NOON, decision, draft, numbered_lines, opened, request, response, stored_bytes, taken

SIZES = (0, 1, 100, 32_768, 32_769, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7, 1_048_577)
ODD_IDS = ("", "art_", "trace_", "'; DROP TABLE entries; --", "../../etc/passwd", "a\x00b", "\ud800", "x" * 5_000)


def pieces(data: bytes, size: int = 10_000) -> Iterator[bytes]:
    """The same bytes as a stream of chunks."""
    return (data[start : start + size] for start in range(0, len(data), size))


def patterned(size: int) -> bytes:
    """`size` bytes of text in which no two blocks are alike."""
    return b"".join(b"%09d\n" % number for number in range(size // 10 + 1))[:size]


def filled(store: Store, name: str = "work") -> Session:
    """A session with results of every kind: short, cut, large, binary, not quite text, with a decision and without."""
    session = Session(name, store=store)
    session.keep("note", {"why": "\ud800 alone"}, "short")
    session.keep("read_file", {"path": "a"}, numbered_lines(1_000), call_id="call_1")
    session.keep("run", None, numbered_lines(9_000), is_error=True, exit_code=2, turn=3)
    session.keep("run", None, b"\xff\xfe not quite \xc3 text \xe2\x82" * 20)
    session.keep("draw", None, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 300)
    session.keep("odd", None, "half a pair: \udc80 " * 9_000)
    session.keep("none", None, "")
    sent = RequestLog(session)
    for words in ("a first question", "another one"):
        body = f'{{"messages": [{{"role": "user", "content": "{words}"}}, {{"content": "{"said " * 100}"}}]}}'
        sent.add_answer(sent.add(body.encode()) or "", LoggedAnswer(b"\xff what came " * 9_000, 200))
    return session


def with_words(store: Store, **texts: str) -> None:
    """A session whose calls and results say this."""
    session = Session("s", store=store)
    for name, text in texts.items():
        session.keep("call", {"name": name}, text)


def texts_found(store: Store, *groups: tuple[str, ...], **only: str) -> list[str]:
    """What the passages say that have a word of every group."""
    passages = store.passages("s", **only)
    numbers = passages.newest(groups, 10)
    places = passages.places(numbers)
    return [Session("s", store=store).recall(places[number].trace_id) for number in numbers]


class BodyContract:
    """What a store promises about bodies, wherever it keeps the large ones."""

    @pytest.mark.parametrize("size", SIZES)
    def test_a_body_comes_back_byte_for_byte(self, store: Store, size: int) -> None:
        data = patterned(size)
        opened(store)
        store.append("s", [draft(store, pieces(data))])
        assert stored_bytes(store, next(store.rows("s"))) == data

    def test_a_body_can_be_read_before_it_is_appended(self, store: Store) -> None:
        opened(store)
        body = taken(store, patterned(100_000))
        with store.open(body) as reader:
            assert reader.read(70_000, 70_010) == patterned(100_000)[70_000:70_010]

    def test_text_with_lone_surrogates_comes_back_as_text(self, store: Store) -> None:
        opened(store)
        text = "half \ud83d a pair \udc00 " * 10_000
        store.append("s", [draft(store, text)])
        with store.open(body_of(next(store.rows("s")))) as reader:
            assert reader.text() == text

    def test_two_readers_of_one_body_do_not_disturb_each_other(self, store: Store) -> None:
        opened(store)
        data = patterned(200_000)
        body = taken(store, data)
        with store.open(body) as first, store.open(body) as second:
            streamed = b"".join(b"".join(pair) for pair in zip(first.stream(), second.stream(), strict=True))
        assert len(streamed) == 2 * len(data)

    def test_a_discarded_body_is_no_entry(self, store: Store) -> None:
        opened(store)
        store.discard(taken(store, patterned(100_000)))
        store.discard(taken(store, b"small"))
        assert list(store.rows("s")) == []
        assert store.stored("s") == 0

    # The quota

    @pytest.mark.parametrize("size", [11, 40_000, 3_000_000])
    def test_a_body_over_the_room_is_refused_and_given_back_whole(self, store: Store, size: int) -> None:
        opened(store)
        data = patterned(size)
        with pytest.raises(QuotaExceeded) as refused:
            store.store_body(Feed(pieces(data)), size - 1)
        assert refused.value.rescue is not None
        assert b"".join(refused.value.rescue.chunks()) == data

    @pytest.mark.parametrize("size", [0, 10, 40_000, 3_000_000])
    def test_a_body_that_just_fits_the_room_is_taken(self, store: Store, size: int) -> None:
        opened(store)
        found = store.store_body(Feed(pieces(patterned(size))), size)
        found.reader.close()
        assert found.body.facts.size == size

    # Searching, purging, proving

    def test_a_search_finds_words_far_inside_a_long_body(self, store: Store) -> None:
        opened(store)
        far = draft(store, numbered_lines(40_000) + "the needle\n")
        store.append("s", [far, draft(store, numbered_lines(10))])
        (match,) = store.search("s", "needle text")
        assert match.trace_id == far.header.trace_id
        (match,) = store.search("s", "needle")
        assert (match.line, match.text) == (40_001, "the needle")

    def test_a_purge_leaves_a_tombstone_and_nothing_else(self, store: Store) -> None:
        session = filled(store, "gone")
        before = verify(store, "gone")
        trace = next(store.rows("gone")).trace_id
        stone = store.purge("gone", 99)
        assert (stone.name, stone.at, stone.entries, stone.stored) == ("gone", 99, before.entries, before.bytes)
        assert (stone.seq, stone.chain.hex()) == (before.entries, before.head)
        assert store.tombstones() == [stone]
        assert store.sessions() == []
        assert list(store.rows("gone")) == []
        assert store.find("gone", trace) is None
        assert store.find_call("gone", "call_1") == []
        assert store.search("gone", "line") == []
        assert store.stored("gone") == 0
        session.close()

    def test_a_purge_leaves_other_sessions_alone(self, store: Store) -> None:
        filled(store, "gone")
        filled(store, "stays")
        before = verify(store, "stays")
        found = len(store.search("stays", "line text"))
        store.purge("gone", NOON)
        assert verify(store, "stays") == before
        assert len(store.search("stays", "line text")) == found > 0

    def test_verify_finds_nothing_in_a_good_record(self, store: Store) -> None:
        filled(store)
        proof = verify(store, "work")
        assert proof.findings == ()
        assert proof.whole
        assert proof.entries == len(list(store.rows("work"))) > 7
        assert proof.bytes == store.stored("work")
        assert proof.head == list(store.rows("work"))[-1].chain.hex()


class StoreContract(BodyContract):
    """What `keepwhole.store.protocol.Store` promises, a test for each sentence."""

    # Sessions

    def test_a_session_is_found_by_its_name_and_by_no_other(self, store: Store) -> None:
        opened(store, "s")
        opened(store, "another")
        store.append("s", [draft(store), draft(store)])
        found = store.session("s")
        assert found in store.sessions()
        assert found is not None
        assert (found.name, found.entries) == ("s", 2)
        assert [store.session(name) for name in ("", "S", "s ", "s\0", "\ud800", "x" * 5_000)] == [None] * 6

    def test_a_new_session_is_as_it_was_asked_for(self, store: Store) -> None:
        wanted = SessionInfo(name="s", agent="me", workspace="/here", created_at=5, ephemeral=True)
        got = store.open_session(wanted)
        assert (got.name, got.agent, got.workspace, got.created_at, got.ephemeral) == ("s", "me", "/here", 5, True)
        assert (got.ended_at, got.entries, got.stored, got.last_at) == (None, 0, 0, 5)

    def test_a_session_that_is_opened_again_stays_as_it_was_made(self, store: Store) -> None:
        first = store.open_session(SessionInfo(name="s", agent="me", created_at=5))
        assert store.open_session(SessionInfo(name="s", agent="you", created_at=9, ephemeral=True)) == first
        assert len(store.sessions()) == 1

    def test_the_session_written_to_last_is_listed_first(self, store: Store) -> None:
        for at, name in enumerate(("a", "b", "c"), 1):
            store.open_session(SessionInfo(name=name, created_at=at))
        store.append("a", [draft(store, at=9)])
        assert [info.name for info in store.sessions()] == ["a", "c", "b"]
        assert store.sessions()[0].last_at == 9

    def test_a_session_knows_how_many_entries_and_bytes_it_holds(self, store: Store) -> None:
        opened(store, "s")
        opened(store, "other")
        store.append("s", [draft(store, b"12345"), draft(store, b"678")])
        store.append("other", [draft(store, b"x")])
        info = next(info for info in store.sessions() if info.name == "s")
        assert (info.entries, info.stored, store.stored("s")) == (2, 8, 8)

    def test_a_session_that_does_not_exist_holds_nothing(self, store: Store) -> None:
        assert store.stored("nobody") == 0
        assert list(store.rows("nobody")) == []
        assert store.find("nobody", "trace_x") is None

    # Entries

    def test_entries_come_back_in_the_order_they_were_appended(self, store: Store) -> None:
        opened(store)
        drafts = [draft(store, b"%d" % number, at=1_000 - number) for number in range(6)]
        store.append("s", drafts[:4])
        store.append("s", drafts[4:])
        assert [stored_bytes(store, row) for row in store.rows("s")] == [b"%d" % number for number in range(6)]

    def test_numbers_run_from_one_without_a_gap_in_every_session(self, store: Store) -> None:
        for name in ("a", "b"):
            opened(store, name)
        for size in (1, 3, 2):
            for name in ("a", "b"):
                store.append(name, [draft(store) for _ in range(size)])
        assert [row.seq for row in store.rows("a")] == [1, 2, 3, 4, 5, 6]
        assert [row.seq for row in store.rows("b")] == [1, 2, 3, 4, 5, 6]

    def test_what_append_returns_is_what_is_read_back(self, store: Store) -> None:
        opened(store)
        entries = store.append("s", [draft(store, b"x" * 100_000, call_id="c"), decision("trace_1")])
        assert [entry_of(row) for row in store.rows("s")] == entries

    def test_an_entry_that_belongs_after_another_is_not_added_anywhere_else(self, store: Store) -> None:
        opened(store)
        (first,) = store.append("s", [draft(store)], head=GENESIS)
        with pytest.raises(NotStored):
            store.append("s", [draft(store)], head=GENESIS)
        store.append("s", [draft(store)], head=first.chain)
        stone = store.purge("s", NOON)
        opened(store)
        with pytest.raises(NotStored):
            store.append("s", [draft(store)], head=GENESIS)
        assert store.append("s", [draft(store)], head=stone.chain)[0].seq == 3

    def test_a_record_can_be_told_from_another(self, store: Store) -> None:
        assert store.identity() == store.identity() != MemoryStore().identity()

    def test_every_entry_is_chained_to_the_one_before_it(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store), draft(store, b"more")])
        store.append("s", [draft(store, b"y" * 100_000)])
        previous = GENESIS
        for row in store.rows("s"):
            entry = entry_of(row)
            header = hashlib.sha256(header_bytes(entry.header, entry.facts)).digest()
            expected = hashlib.sha256(b"hf1" + previous + header + entry.facts.digest).digest()
            assert row.previous == previous
            assert row.chain == expected
            previous = row.chain

    def test_entries_are_appended_all_or_none(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store, b"first")])
        impossible = draft(store, b"no header can hold an object", arguments=object())
        with pytest.raises(TypeError):
            store.append("s", [draft(store, b"second"), impossible])
        store.append("s", [draft(store, b"third")])
        assert [(row.seq, stored_bytes(store, row)) for row in store.rows("s")] == [(1, b"first"), (2, b"third")]
        assert store.stored("s") == len(b"first" + b"third")

    def test_nothing_is_appended_to_a_session_that_does_not_exist(self, store: Store) -> None:
        with pytest.raises(NotFound, match="nobody"):
            store.append("nobody", [draft(store)])
        assert store.sessions() == []

    def test_appending_nothing_changes_nothing(self, store: Store) -> None:
        opened(store)
        assert store.append("s", []) == []
        assert list(store.rows("s")) == []

    def test_many_threads_append_without_a_gap_or_a_loss(self, store: Store) -> None:
        opened(store)
        done: list[int] = []

        def work(worker: int) -> None:
            for number in range(10):
                entries = store.append("s", [draft(store, b"%d/%d" % (worker, number))])
                done.append(entries[0].seq)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == list(range(1, 61))
        assert len({stored_bytes(store, row) for row in store.rows("s")}) == 60
        assert verify(store, "s").whole

    # Finding

    def test_rows_can_be_read_from_a_number_on_and_by_kind(self, store: Store) -> None:
        opened(store)
        for _ in range(3):
            subject = draft(store)
            store.append("s", [subject, decision(subject.header.trace_id)])
        assert [row.seq for row in store.rows("s", after=4)] == [5, 6]
        assert [row.seq for row in store.rows("s", kind="decision")] == [2, 4, 6]
        assert [row.seq for row in store.rows("s", after=2, kind="result")] == [3, 5]

    def test_a_long_session_is_read_to_its_end(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store, b"%d" % number) for number in range(700)])
        assert [row.seq for row in store.rows("s")] == list(range(1, 701))
        assert [row.seq for row in store.rows("s", after=256)] == list(range(257, 701))

    def test_a_result_is_found_by_either_of_its_ids(self, store: Store) -> None:
        opened(store)
        wanted = draft(store, b"wanted")
        store.append("s", [draft(store), wanted, decision(wanted.header.trace_id), draft(store)])
        header: Any = wanted.header
        for any_id in (header.trace_id, header.artifact_id):
            row = store.find("s", any_id)
            assert row is not None
            assert (row.kind, stored_bytes(store, row)) == ("result", b"wanted")

    def test_what_was_decided_about_last_is_told_first_and_once(self, store: Store) -> None:
        opened(store)
        opened(store, "theirs")
        drafts = [draft(store, b"%d" % number) for number in range(4)]
        ids = [one.header.trace_id for one in drafts]
        store.append("s", [*drafts, decision(ids[1]), decision(ids[0]), decision(ids[2]), decision(ids[1])])
        foreign = draft(store)
        store.append("theirs", [foreign, decision(foreign.header.trace_id)])
        assert store.last_decided("s", 10) == [ids[1], ids[2], ids[0]]
        assert store.last_decided("s", 2) == [ids[1], ids[2]]
        assert store.last_decided("none", 2) == []

    def test_a_result_is_found_only_in_its_own_session(self, store: Store) -> None:
        opened(store, "mine")
        opened(store, "theirs")
        secret = draft(store, call_id="call_1")
        store.append("theirs", [secret, decision(secret.header.trace_id)])
        header: Any = secret.header
        assert store.find("mine", header.trace_id) is None
        assert store.find("mine", header.artifact_id) is None
        assert store.find_call("mine", "call_1") == []
        assert store.decision("mine", header.trace_id) is None

    def test_of_several_results_those_on_record_are_not_added_again_nor_decided_about(self, store: Store) -> None:
        opened(store)
        old = draft(store, b"old", call_id="c1")
        store.append("s", [old])
        again, new = draft(store, b"old", call_id="c1"), draft(store, b"new", call_id="c2")
        late = [again, decision(again.header.trace_id), new, decision(new.header.trace_id)]
        entries = store.append("s", late, once=True)
        assert [entry.header.trace_id for entry in entries] == [old.header.trace_id, *[new.header.trace_id] * 2]
        assert [row.kind for row in store.rows("s")] == ["result", "result", "decision"]

    @pytest.mark.parametrize("kind", ["result", "decision"])
    def test_what_was_decided_without_something_that_is_on_record_is_not_added(self, store: Store, kind: str) -> None:
        opened(store)
        first = store.append("s", [subject := draft(store)])[-1]
        newer = draft(store) if kind == "result" else decision(subject.header.trace_id)
        seq = store.append("s", [newer], after=first.seq)[-1].seq
        late = draft(store, b"late", call_id="c1")
        with pytest.raises(Overtaken):
            store.append("s", [late, decision(late.header.trace_id)], once=True, after=first.seq)
        assert [row.seq for row in store.rows("s")] == [first.seq, seq]
        assert store.append("s", [late], once=True, after=seq)[0].seq == seq + 1

    def test_what_was_sent_and_answered_overtakes_nothing(self, store: Store) -> None:
        opened(store)
        first = store.append("s", [subject := draft(store)])[-1]
        asked = request(store)
        store.append("s", [asked, response(store, asked.header.trace_id)])
        assert store.append("s", [decision(subject.header.trace_id)], after=first.seq)[0].seq == first.seq + 3

    def test_nothing_overtakes_the_first_entry_of_a_session_that_was_purged(self, store: Store) -> None:
        opened(store)
        seq = store.append("s", [draft(store), draft(store)])[-1].seq
        store.purge("s", 1)
        opened(store)
        assert store.append("s", [draft(store)], after=0)[0].seq == seq + 1

    def test_an_artifact_id_with_letters_of_its_own_is_found_too(self, store: Store) -> None:
        opened(store)
        wanted = draft(store, b"from an archive", artifact_id="art_1700000000_" + "Z" * 22)
        store.append("s", [draft(store), wanted])
        row = store.find("s", "art_1700000000_" + "Z" * 22)
        assert row is not None
        assert row.trace_id == wanted.header.trace_id

    def test_an_artifact_id_of_another_second_is_nobodys(self, store: Store) -> None:
        opened(store)
        store.append("s", [wanted := draft(store)])
        header: Any = wanted.header
        assert store.find("s", header.artifact_id.replace("_17", "_18")) is None

    @pytest.mark.parametrize("odd", ODD_IDS)
    def test_an_id_that_nobody_has_is_not_found_however_it_is_written(self, store: Store, odd: str) -> None:
        opened(store)
        store.append("s", [draft(store)])
        assert store.find("s", odd) is None
        assert store.find_call("s", odd) == []
        assert store.decision("s", odd) is None

    def test_the_results_of_a_call_are_found_in_order(self, store: Store) -> None:
        opened(store)
        drafts = [draft(store, b"%d" % number, call_id=f"call_{number % 2}") for number in range(5)]
        store.append("s", [*drafts, draft(store, b"no call")])
        assert [stored_bytes(store, row) for row in store.find_call("s", "call_1")] == [b"1", b"3"]

    def test_a_call_id_with_a_lone_surrogate_is_found(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store, call_id="\ud800x")])
        assert len(store.find_call("s", "\ud800x")) == 1
        assert store.find_call("s", "\ufffdx") == []

    def test_calls_are_counted_in_every_session_that_has_results_of_them(self, store: Store) -> None:
        assert isinstance(store, FindsCalls)
        calls = {"one": ["c1"], "none": ["c9"], "two": ["c1", "c2", "c2"], "late": ["c1"], "gone": ["c1", "c2"]}
        for name, made in calls.items():
            opened(store, name)
            store.append(name, [draft(store, b"%d" % at, call_id=each) for at, each in enumerate(made)])
        store.purge("gone", 1)
        assert list(store.count_calls(["c1", "c2", "c3"]).items()) == [("one", 1), ("two", 2), ("late", 1)]
        assert store.count_calls(["c3", "\ud800"]) == {}
        assert store.count_calls([]) == {}

    def test_the_newest_decision_holds(self, store: Store) -> None:
        opened(store)
        one, two = draft(store), draft(store)
        store.append("s", [one, two, decision(one.header.trace_id, "first")])
        store.append("s", [decision(one.header.trace_id, "second")])
        row = store.decision("s", one.header.trace_id)
        assert row is not None
        assert decision_of(row).rule == "second"
        assert store.decision("s", two.header.trace_id) is None

    def with_requests(self, store: Store) -> tuple[str, str]:
        """A session with a result, its decision, two requests and two responses to the first; the requests' ids."""
        opened(store)
        result, one, two = draft(store, b"body"), request(store), request(store)
        ids = one.header.trace_id, two.header.trace_id
        store.append("s", [one, response(store, ids[0]), result, decision(result.header.trace_id)])
        store.append("s", [two, response(store, ids[0], b"needle said again")])
        return ids

    def test_rows_of_several_kinds_can_be_read_together(self, store: Store) -> None:
        self.with_requests(store)
        kinds = ["request", "response", "result", "decision", "request", "response"]
        assert [row.kind for row in store.rows("s")] == kinds
        assert [row.seq for row in store.rows("s", kind=("result", "decision"))] == [3, 4]
        assert [row.seq for row in store.rows("s", after=1, kind=("request", "response"))] == [2, 5, 6]
        assert [row.seq for row in store.rows("s", kind="request")] == [1, 5]
        assert [entry_of(row).kind for row in store.rows("s")] == kinds

    def test_a_light_decision_has_its_body(self, store: Store) -> None:
        self.with_requests(store)
        light = next(row for row in store.rows("s", light=True) if row.kind == "decision")
        assert stored_bytes(store, light) == stored_bytes(store, next(store.rows("s", kind="decision")))

    def test_an_entry_is_found_by_its_number(self, store: Store) -> None:
        self.with_requests(store)
        rows = list(store.rows("s"))
        assert [store.entry("s", seq) for seq in range(8)] == [None, *rows, None]
        assert store.entry("nobody", 1) is None
        assert store.entry("s", -1) is None

    def test_entries_after_a_purge_are_found_by_their_numbers(self, store: Store) -> None:
        self.with_requests(store)
        store.purge("s", NOON)
        opened(store)
        assert store.last("s") is None
        store.append("s", [draft(store, b"later")])
        assert [store.entry("s", seq) for seq in (1, 6)] == [None, None]
        assert store.entry("s", 7) == next(store.rows("s"))

    def test_the_last_entry_is_the_one_written_last(self, store: Store) -> None:
        assert store.last("s") is None
        self.with_requests(store)
        last = store.last("s")
        assert last is not None
        assert (last.seq, last.kind, last.chain) == (6, "response", list(store.rows("s"))[-1].chain)

    def test_the_newest_entry_of_a_kind_is_found_by_its_id(self, store: Store) -> None:
        one, two = self.with_requests(store)
        found = store.newest("s", "response", one)
        assert found is not None
        assert stored_bytes(store, found) == b"needle said again"
        assert [row.seq for row in (store.newest("s", "request", id) for id in (one, two)) if row] == [1, 5]
        assert store.newest("s", "response", two) is None
        assert store.newest("s", "result", one) is None
        assert store.newest("nobody", "request", one) is None
        assert [store.newest("s", "request", id) for id in ODD_IDS] == [None] * len(ODD_IDS)

    def test_requests_and_responses_are_never_found_as_results(self, store: Store) -> None:
        one, two = self.with_requests(store)
        assert [store.find("s", id) for id in (one, two)] == [None, None]
        assert store.search("s", "needle") == []
        assert store.passages("s").newest([("needle",)], 10) == []
        assert store.decision("s", one) is None
        assert store.last_decided("s", 10) == [next(store.rows("s", kind="result")).trace_id]

    # Searching

    def test_a_search_finds_the_results_that_hold_all_the_words(self, store: Store) -> None:
        opened(store)
        both, one = draft(store, "nothing\nred apples\n"), draft(store, "red pears\n")
        store.append("s", [both, one, draft(store, "green plums\n")])
        assert [match.trace_id for match in store.search("s", "apples red")] == [both.header.trace_id]
        assert {match.trace_id for match in store.search("s", "red")} == {both.header.trace_id, one.header.trace_id}

    def test_a_match_shows_the_first_line_with_the_most_of_the_words(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store, "nothing\na banana here\nan apple there\nbanana apple\n")])
        (match,) = store.search("s", "apple banana")
        assert (match.line, match.text) == (4, "banana apple")

    def test_a_search_does_not_mind_capitals(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store, "ERROR: Äpfel missing")])
        assert len(store.search("s", "error äpfel")) == 1

    def test_a_search_stays_in_its_session(self, store: Store) -> None:
        opened(store, "mine")
        opened(store, "theirs")
        store.append("theirs", [draft(store, "the secret word")])
        assert store.search("mine", "secret") == []

    def test_a_search_finds_what_was_kept_since_the_last_one(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store, "early bird")])
        assert len(store.search("s", "bird")) == 1
        store.append("s", [draft(store, "late bird")])
        assert len(store.search("s", "bird")) == 2

    def test_a_search_finds_what_was_kept_after_a_purge(self, store: Store) -> None:
        opened(store, "gone")
        store.append("gone", [draft(store, "old words"), draft(store, "older words")])
        assert len(store.search("gone", "words")) == 2
        store.purge("gone", NOON)
        opened(store, "here")
        store.append("here", [draft(store, "new words")])
        assert len(store.search("here", "words")) == 1

    def test_a_search_returns_no_more_than_it_was_asked_for(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store, f"same word {number}") for number in range(5)])
        assert len(store.search("s", "word", limit=3)) == 3

    @pytest.mark.parametrize("words", ["", "   ", "\n"])
    def test_a_search_for_nothing_finds_nothing(self, store: Store, words: str) -> None:
        opened(store)
        store.append("s", [draft(store, "text")])
        assert store.search("s", words) == []

    # Passages

    def test_a_passage_is_found_by_its_words_and_by_those_of_its_call(self, store: Store) -> None:
        with_words(store, red="red apples", green="green plums")
        assert texts_found(store, ("appl",)) == ["red apples"]
        assert texts_found(store, ("green", "red")) == ["green plums", "red apples"]
        assert texts_found(store, ("call",), ("green",)) == ["green plums"]

    def test_passages_have_a_word_of_every_group_and_the_newest_come_first(self, store: Store) -> None:
        with_words(store, a="red apples", b="red pears", c="green pears", d="red cherries and pears")
        assert texts_found(store, ("red",), ("pear", "appl")) == ["red cherries and pears", "red pears", "red apples"]
        assert texts_found(store, ("red",), ("zebra",)) == []
        assert texts_found(store) == texts_found(store, ()) == []

    def test_no_more_passages_are_given_than_asked_for_and_none_at_or_below_a_number(self, store: Store) -> None:
        with_words(store, **{f"n{number}": f"same word {number}" for number in range(6)})
        passages = store.passages("s")
        numbers = passages.newest([("word",)], 100)
        assert len(numbers) == 6
        assert numbers == sorted(numbers, reverse=True)
        assert passages.newest([("word",)], 2) == numbers[:2]
        assert passages.newest([("call",), ("word",)], 100, above=numbers[3]) == numbers[:3]

    def test_passages_stay_in_their_session_task_and_query(self, store: Store) -> None:
        for name in ("s", "other"):
            session = Session(name, store=store)
            session.keep("t", None, f"word of {name}", task_id="1")
            session.keep("t", None, f"word of {name} too", task_id="2", query_id="q")
        assert texts_found(store, ("word",)) == ["word of s too", "word of s"]
        assert texts_found(store, ("word",), task_id="1") == ["word of s"]
        assert texts_found(store, ("word",), query_id="q", task_id="2") == ["word of s too"]
        assert texts_found(store, ("word",), query_id="q", task_id="1") == []

    def test_a_passage_lies_where_its_words_are(self, store: Store) -> None:
        opened(store)
        text = numbered_lines(9_000) + "the needle\n" + numbered_lines(1_000)
        store.append("s", [draft(store, text)])
        passages = store.passages("s")
        (place,) = passages.places(passages.newest([("needl",)], 5)).values()
        assert "needle" in text[place.start : place.stop]

    def test_results_that_go_on_after_what_is_indexed_are_told(self, store: Store) -> None:
        opened(store)
        long, short = draft(store, numbered_lines(40_000)), draft(store, numbered_lines(9_000))
        store.append("s", [long, short])
        assert list(store.passages("s").beyond()) == [long.header.trace_id]
        assert store.passages("s").size() == 2

    def test_a_session_that_does_not_exist_has_no_passages(self, store: Store) -> None:
        passages = store.passages("nobody")
        assert (passages.size(), passages.newest([("word",)], 5), passages.places([64])) == (0, [], {})

    def test_what_is_kept_later_has_passages_too_and_what_is_purged_has_none(self, store: Store) -> None:
        with_words(store, a="early bird")
        assert texts_found(store, ("bird",)) == ["early bird"]
        store.purge("s", NOON)
        with_words(store, b="late bird")
        assert texts_found(store, ("bird",)) == ["late bird"]

    # Endings

    def test_an_ended_session_says_when_it_ended_and_keeps_everything(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store, b"kept")])
        store.end("s", 77)
        assert store.sessions()[0].ended_at == 77
        assert stored_bytes(store, next(store.rows("s"))) == b"kept"

    def test_a_session_ends_once(self, store: Store) -> None:
        opened(store)
        store.end("s", 77)
        store.end("s", 99)
        assert store.sessions()[0].ended_at == 77

    def test_a_session_that_does_not_exist_cannot_end(self, store: Store) -> None:
        with pytest.raises(NotFound, match="nobody"):
            store.end("nobody", 1)

    # Purging

    def test_a_session_that_does_not_exist_cannot_be_purged(self, store: Store) -> None:
        with pytest.raises(NotFound, match="nobody"):
            store.purge("nobody", 1)
        assert store.tombstones() == []

    def test_an_empty_session_can_be_purged(self, store: Store) -> None:
        opened(store)
        stone = store.purge("s", 1)
        assert (stone.seq, stone.chain, stone.entries) == (0, GENESIS, 0)

    def test_a_purged_name_can_be_used_again_and_its_chain_goes_on(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store), draft(store)])
        stone = store.purge("s", 1)
        opened(store)
        (entry,) = store.append("s", [draft(store, b"again")])
        row = next(store.rows("s"))
        assert (entry.seq, row.previous) == (3, stone.chain)
        assert verify(store, "s").whole

    def test_a_name_purged_twice_has_the_newest_tombstone(self, store: Store) -> None:
        for _ in range(2):
            opened(store)
            store.append("s", [draft(store)])
            stone = store.purge("s", 1)
        assert store.tombstones() == [stone]
        assert stone.seq == 2
        opened(store)
        assert verify(store, "s").whole

    # Beginning elsewhere

    def test_an_empty_session_can_begin_after_a_given_number_and_hash(self, store: Store) -> None:
        opened(store)
        store.restart("s", 5, b"c" * 32)
        (entry,) = store.append("s", [draft(store)])
        assert (entry.seq, next(store.rows("s")).previous) == (6, b"c" * 32)
        assert verify(store, "s").whole

    def test_a_purged_session_that_begins_at_nothing_has_no_tombstone(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store)])
        store.purge("s", 1)
        opened(store)
        store.restart("s", 0, GENESIS)
        assert store.tombstones() == []
        assert [entry.seq for entry in store.append("s", [draft(store)])] == [1]
        assert verify(store, "s").whole

    def test_a_session_with_entries_cannot_begin_elsewhere(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store)])
        with pytest.raises(UsageError, match="already"):
            store.restart("s", 5, b"c" * 32)
        assert verify(store, "s").whole

    # Holding

    def test_a_held_session_is_in_use_until_the_store_is_closed(self, store: Store) -> None:
        opened(store, ephemeral=True)
        opened(store, "other", ephemeral=True)
        assert not store.is_held("s")
        store.hold("s")
        store.hold("s")
        assert store.is_held("s")
        assert not store.is_held("other")
        store.close()
        assert not store.is_held("s")

    def test_a_held_session_can_be_purged(self, store: Store) -> None:
        opened(store, ephemeral=True)
        store.hold("s")
        store.purge("s", 1)
        assert not store.is_held("s")

    def test_a_closed_store_opens_again_when_it_is_used(self, store: Store) -> None:
        opened(store)
        store.append("s", [draft(store, b"x" * 50_000)])
        store.close()
        assert stored_bytes(store, next(store.rows("s"))) == b"x" * 50_000

    # Proof

    def test_verify_goes_over_every_entry(self, store: Store) -> None:
        filled(store)
        seen: list[int] = []
        verify(store, "work", lambda entry: seen.append(entry.seq))
        assert seen == list(range(1, len(list(store.rows("work"))) + 1))

    def test_the_newest_sessions_are_the_first_of_all_sessions(self, store: Store) -> None:
        for number in range(5):
            store.open_session(SessionInfo(name=f"s{number}", created_at=(NOON + number) * 1000))
        assert store.sessions(newest=0) == []
        for number, name in enumerate(("s1", "s3", "s3", "s0")):
            store.append(name, [draft(store, at=(NOON + 10 + number) * 1000)])
        everything = store.sessions()
        assert [info.name for info in everything] == ["s0", "s3", "s1", "s4", "s2"]
        for newest in range(7):
            assert store.sessions(newest=newest) == everything[:newest]
