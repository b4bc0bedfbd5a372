"""What a session had when it was first read is looked up; every answer is the one of a journal that read all of it."""

import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import pytest

from keepwhole import SqliteStore
from keepwhole.canonical.entry import Result
from keepwhole.errors import StoreError
from keepwhole.record.bills import BillLog
from keepwhole.record.journal import Journal, ResultMatch
from keepwhole.record.known_result import KnownResult
from keepwhole.record.writer import decision_draft
from keepwhole.store.protocol import Draft, HasLookups, Store
from keepwhole.truncation.cut import Cut, whole
from tests.build import NOON, draft, opened, request, response
from tests.stores import made

TEXTS = ["ok", "", "one\ntwo\n", "three", "lone \ud800 surrogate", "lone \ufffd surrogate", "x" * 70_000, "never kept"]
CALLS = [f"call-{number}" for number in range(6)]
TOOLS = ["bash", "keepwhole_round", "keepwhole_summary"]
each_kind = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
POSTGRES = [("postgres", seed) for seed in range(6)]


class WithoutLookups:
    """A store in which everything has to be read."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name == "lookups":
            raise AttributeError(name)
        return getattr(self._store, name)


class RandomSession:
    """Appends entries of all kinds: results with the same texts and calls, views that name them or do not."""

    def __init__(self, store: Store, random: Random) -> None:
        self.store, self.random = store, random
        self.results: list[Draft] = []
        self.asked: list[str] = []
        self.shown: set[str] = set()

    def append(self, count: int) -> None:
        for _ in range(count):
            drafts = [self._draft() for _ in range(self.random.randrange(1, 4))]
            self.store.append("s", drafts)

    def _draft(self) -> Draft:
        kind = self.random.choice(["result", "decision", "decision", "request", "response"])
        if kind == "decision" and self.results:
            return self._decision(self.random.choice(self.results[-8:]))
        if kind == "request":
            asked = request(self.store, branch=self.random.choice("ab"), recall=self.random.choice(["", "tools"]))
            self.asked.append(asked.header.trace_id)
            return asked
        if kind == "response" and self.asked:
            return response(self.store, self.random.choice(self.asked))
        body = self.random.choice(TEXTS[:-1]) if self.random.random() < 0.9 else b"\xff\x00 no text"
        call_id, tool = self.random.choice([None, *CALLS[:-1]]), self.random.choice(TOOLS)
        self.results.append(draft(self.store, body, call_id=call_id, tool=tool))
        return self.results[-1]

    def _decision(self, about: Draft) -> Draft:
        header: Any = about.header
        name = self.random.choice([header.artifact_id, header.trace_id, "nobody"])
        above = self.random.choice(["", f"[{name}]\n"])
        cut = Cut(whole(3).pieces, above=above)
        shown = self.random.choice([f"{above}abc", "ok"])  # several results may be shown by the same words
        self.shown.add(shown)
        return decision_draft(header.trace_id, NOON, self.random.choice(["cap", "undo"]), "head", cut, shown)


def damage(store: Store, seqs: list[int]) -> None:
    """Change the headers of some entries behind the store's back."""
    if isinstance(store, SqliteStore):
        with sqlite3.connect(store.path) as connection:
            ((trigger,),) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'entries_never_change'")
            connection.execute("DROP TRIGGER entries_never_change")
            for seq in seqs:
                connection.execute("UPDATE entries SET header = CAST(header || x'20' AS BLOB) WHERE seq = ?", (seq,))
            connection.execute(trigger)
        connection.close()
        return
    server: Any = getattr(store, "server")  # noqa: B009
    with server.transaction() as execute:
        execute("ALTER TABLE entries DISABLE TRIGGER never_changed")
        execute("UPDATE entries SET header = header || ' '::bytea WHERE seq = ANY (%s)", (seqs,))
        execute("ALTER TABLE entries ENABLE TRIGGER never_changed")


def known(one: KnownResult | None) -> object:
    """A result as it is known, to be compared."""
    if one is None:
        return None
    return one.result, one.seq, one.digest, one.decision, one.views, one.named, one.body.facts


def matched(one: ResultMatch | None) -> object:
    return one and (known(one.known), one.is_whole)


def billed(log: BillLog) -> object:
    return log.take(), log.last_sent, log.offered


def answers(journal: Journal, session: RandomSession, random: Random) -> list[object]:
    """What a journal answers to every question, asked in a random order: what is asked first is looked up first."""
    texts = [*TEXTS, *sorted(session.shown)]
    questions: list[tuple[str, Any]] = [("match", (call_id, text)) for call_id in CALLS for text in texts]
    questions += [("origins", [text]) for text in texts]
    questions.append(("origins", texts))
    questions += [("find", each.header.trace_id) for each in session.results]
    questions += [("find", each.header.artifact_id) for each in session.results if isinstance(each.header, Result)]
    questions += [("with", seq) for seq in range(journal.seq + 1)]
    questions += [("tool", tool) for tool in TOOLS[1:]]
    order = random.sample(range(len(questions)), len(questions))
    found: dict[int, object] = {number: _answer(journal, *questions[number]) for number in order}
    return [found[number] for number in range(len(questions))] + [billed(journal.bills), journal.seq]


def _answer(journal: Journal, kind: str, about: Any) -> object:
    if kind == "match":
        return [*map(matched, journal.match_all([(*about, None)])), journal.is_foreign_cut(*about)]
    if kind == "origins":
        return journal.origins_of(about)
    if kind == "find":
        return known(journal.find(about))
    return journal.decisions_with(about) if kind == "with" else [known(one) for one in journal.of_tool(about)]


@pytest.mark.parametrize(("kind", "seed"), [*(("sqlite", seed) for seed in range(25)), *POSTGRES])
def test_a_journal_that_looks_up_answers_like_one_that_read_everything(tmp_path: Path, kind: str, seed: int) -> None:
    random = Random(seed)
    store = made(kind, tmp_path)
    assert isinstance(store, HasLookups)
    session = RandomSession(store, random)
    opened(store)
    session.append(random.randrange(1, 30))
    damage(store, random.sample(range(1, 8), 2) if seed % 3 == 0 else [])
    everything: Any = WithoutLookups(store)
    assert not isinstance(everything, HasLookups)
    lazy, eager = Journal(store, "s"), Journal(everything, "s")
    lazy.catch_up()
    eager.catch_up()
    for _ in range(3):
        before = len(eager.decided)
        if random.random() < 0.5:
            assert answers(lazy, session, random) == answers(eager, session, random)
        session.append(random.randrange(0, 12))
        lazy.catch_up()
        eager.catch_up()
        new = len(eager.decided) - before
        assert lazy.decided[len(lazy.decided) - new :] == eager.decided[before:]
    assert answers(lazy, session, random) == answers(eager, session, random)
    store.close()


@each_kind
def test_a_purge_is_noticed_and_the_session_read_from_its_beginning(tmp_path: Path, kind: str) -> None:
    store = made(kind, tmp_path)
    opened(store)
    store.append("s", [draft(store, "old", call_id="c")])
    journal = Journal(store, "s")
    journal.catch_up()
    store.purge("s", NOON)
    opened(store)
    kept = draft(store, "new", call_id="c")
    store.append("s", [kept])
    journal.catch_up()
    assert journal.generation == 1
    assert journal.match("c", "old") is None
    (match,) = journal.match_all([("c", "new", None)])
    assert match is not None
    assert match.known.result == kept.header
    store.close()


@each_kind
def test_what_is_first_appended_to_an_empty_session_is_known_without_being_asked_for(tmp_path: Path, kind: str) -> None:
    store = made(kind, tmp_path)
    opened(store)
    journal = Journal(store, "s")
    journal.catch_up()
    store.append("s", [draft(store, "text", call_id="c")])
    journal.catch_up()
    assert journal.match("c", "text") is not None
    store.close()


def test_a_result_is_learned_with_its_decisions_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(str(tmp_path))
    opened(store)
    kept = draft(store, "text", call_id="c")
    store.append("s", [kept, decision_draft(kept.header.trace_id, NOON, "cap", "head", whole(4), "text")])
    journal = Journal(store, "s")
    journal.catch_up()

    def fail(*_: object) -> None:
        raise StoreError("away")

    with monkeypatch.context() as away:
        away.setattr(store.lookups, "decisions_about", fail)
        with pytest.raises(StoreError):
            journal.match_all([("c", "text", None)])
    assert journal.match("c", "text") is None
    (match,) = journal.match_all([("c", "text", None)])
    assert match is not None
    assert match.known.decision is not None
    store.close()
