"""`keepwhole forget`: what is forgotten is nowhere in the record, and what is left still verifies."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.apps.cli.main import main
from keepwhole.errors import NotFound
from keepwhole.exchange.request_log import LoggedAnswer, RequestFacts, RequestLog
from keepwhole.store.protocol import HasResultFiles, Store
from keepwhole.store.verify import verify
from keepwhole.transfer.copy import carry_out, plan
from tests.build import numbered_lines
from tests.stores import DURABLE, Place, place

SECRET = 'hunter2-"é\\n<b>-canary'
"""A string that every spelling of JSON writes in another way."""
WORDS = "canary"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(params=DURABLE)
def at(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A record of every kind, which commands find by the settings."""
    found = place(request.param, home)
    for name, value in found.environ.items():
        monkeypatch.setenv(name, value)
    return found


def everywhere(store: Store) -> Session:
    """A session with the secret in a body, a file, arguments, a view, a copy for reading, a request and answers."""
    session = Session("s", store=store, recall="path")
    session.keep("t", None, "before")
    session.keep("t", {"command": f"echo {SECRET}"}, "in the arguments")
    session.keep("t", None, f"small {SECRET}")
    session.keep("t", None, f"{numbered_lines(9_000)}{SECRET}")
    session.keep("t", json.dumps({"nested": json.dumps({"deep": SECRET})}), "nested")
    log = RequestLog(session)
    first = log.add(json.dumps({"messages": [{"role": "user", "content": "harmless"}]}).encode(), RequestFacts())
    sent = {"messages": [{"role": "user", "content": f"I use {SECRET}"}, {"role": "user", "content": "x" * 500}]}
    second = log.add(json.dumps(sent).encode(), RequestFacts())
    log.add(json.dumps({**sent, "more": "later"}).encode(), RequestFacts())
    assert first is not None
    assert second is not None
    log.add_answer(first, LoggedAnswer(f"packed {SECRET} {'y' * 5_000}".encode(), 200))
    pieces = [SECRET[:7], SECRET[7:]]
    events = "".join(f"data: {json.dumps({'delta': {'text': piece}})}\n\n" for piece in pieces)
    log.add_answer(second, LoggedAnswer(events.encode(), 200))
    session.keep("t", None, "after")
    session.store.search("s", WORDS)
    return session


MARKS = (b"hunter2", b"canary")


def remains(home: Path) -> list[str]:
    """The files in which something of the secret is left, in plain or packed bytes."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return [path.name for path in files if any(mark in path.read_bytes() for mark in MARKS)]


def remains_anywhere(at: Place) -> list[str]:
    """The files, tables and objects in which something of the secret is left."""
    found = remains(Path(at.folder))
    if at.address:
        found += [name for name, data in tables(at.address).items() if any(mark in data for mark in MARKS)]
    if at.blobs:
        found += [name for name, data in objects(at).items() if any(mark in data for mark in MARKS)]
    return found


def tables(address: str) -> dict[str, bytes]:
    """Every table of a schema, as the server copies it out."""
    import psycopg

    from keepwhole.store.postgres.address import address_of

    where, found = address_of(address), dict[str, bytes]()
    with psycopg.connect(where.url) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
        for (name,) in connection.execute(query, (where.schema,)).fetchall():
            with connection.cursor().copy(f"COPY {where.schema}.{name} TO STDOUT (FORMAT binary)".encode()) as copied:
                found[name] = b"".join(map(bytes, copied))
    return found


def objects(at: Place) -> dict[str, bytes]:
    """Every object of a record in a bucket."""
    import obstore

    store: Any = at.open()
    client = store.blobs.outside()._patient
    listing: Any = obstore.list(client)  # pyright: ignore[reportUnknownMemberType] - Arrow is not here
    names = [found["path"] for batch in listing for found in batch]
    store.close()
    return {name: bytes(obstore.get(client, name).bytes()) for name in names}


def test_a_string_is_gone_from_rows_files_index_log_and_requests(at: Place) -> None:
    store = at.open()
    everywhere(store)
    Session("other", store=store).keep("t", None, "nothing of it")
    assert len(set(remains_anywhere(at))) >= 3
    head, other = verify(store, "s").head, verify(store, "other")
    store.close()
    assert main(["forget", "--text", SECRET, "--yes"]) == 0
    assert remains_anywhere(at) == []
    store = at.open()
    found = verify(store, "s")
    assert found.whole, found.findings
    assert found.head == head
    assert found.forgotten > 5
    assert verify(store, "other") == other
    session = Session("s", store=store)
    assert [session.recall(row.trace_id) for row in store.rows("s", kind="result")] == ["before", "after"]
    assert store.search("s", WORDS) == []
    assert [RequestLog(session).body(step.request.trace_id) for step in RequestLog(session).all()] == [
        b'{"messages": [{"role": "user", "content": "harmless"}]}'
    ]
    assert session.keep("t", None, "goes on").problem is None
    assert session.verify().whole
    store.close()
    assert main(["doctor", "--full"]) == 0
    assert main(["sessions", "show", "s"]) == 0
    assert main(["artifacts", "list", "--session", "s"]) == 0


def test_a_result_is_gone_with_its_views_and_the_rest_stays(at: Place) -> None:
    store = at.open()
    session = Session("s", store=store, recall="path")
    other = session.keep("t", None, numbered_lines(2_000))
    gone = session.keep("t", None, f"{WORDS} {numbered_lines(9_000)}")
    shown = session.keep("t", None, "short and innocent, not the same")
    assert isinstance(store, HasResultFiles)
    path = store.files.path_of("s", str(gone.trace_id))
    RequestLog(session).add(json.dumps({"messages": [{"role": "tool", "content": gone.content}]}).encode())
    assert Path(path).exists()
    assert session.forget(str(gone.trace_id)) == 3
    assert not Path(path).exists()
    with pytest.raises(NotFound):
        session.recall(str(gone.trace_id))
    assert session.recall(str(other.trace_id)) == numbered_lines(2_000)
    assert session.recall(str(shown.trace_id)) == "short and innocent, not the same"
    assert session.verify().whole
    store.close()
    assert remains_anywhere(at) == []


def test_the_same_call_can_be_kept_again_after_it_was_forgotten(at: Place) -> None:
    store = at.open()
    session = Session("s", store=store)
    kept = session.keep("t", None, "a result", call_id="c")
    session.forget(str(kept.trace_id))
    again = session.keep("t", None, "a result", call_id="c")
    assert again.trace_id != kept.trace_id
    assert session.recall(str(again.trace_id)) == "a result"
    store.close()


def test_what_was_forgotten_cannot_be_filled_again_unnoticed(home: Path) -> None:
    store = SqliteStore(str(home))
    session = Session("s", store=store)
    session.forget(str(session.keep("t", None, "a result").trace_id))
    session.keep("t", None, "another")
    store.close()
    connection = sqlite3.connect(home / "record.db")
    trigger = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'entries_never_change'").fetchone()[0]
    connection.execute("DROP TRIGGER entries_never_change")
    connection.execute("UPDATE entries SET body = x'6162' WHERE seq = 1")
    connection.execute(trigger)
    connection.commit()
    connection.close()
    store = SqliteStore(str(home))
    assert [finding.seq for finding in verify(store, "s").findings] == [1]
    store.close()


def test_forgetting_asks_first_and_names_what_may_still_have_it(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(str(home))
    everywhere(store)
    store.close()
    (home / "record.db.before-4").write_bytes(b"an older database")
    assert main(["forget", "--text", SECRET]) == 1
    assert remains(home)
    capsys.readouterr()
    assert main(["forget", "--text", SECRET, "--yes"]) == 0
    said = capsys.readouterr().out
    assert "record.db.before-4" in said
    assert "Backups" in said
    assert main(["forget", "--text", SECRET, "--yes"]) == 1, "nothing was left to forget"
    assert main(["forget", "--text", "abc", "--yes"]) == 2, "too short"


def test_trash_and_bodies_without_an_entry_are_searched_too(home: Path) -> None:
    store = SqliteStore(str(home))
    Session("s", store=store).keep("t", None, "x")
    store.close()
    (home / "trash").mkdir()
    (home / "trash" / ("0" * 32)).write_text(SECRET)
    (home / "trash" / ("1" * 32)).write_text("harmless")
    assert main(["forget", "--text", SECRET, "--yes"]) == 0
    assert [path.name for path in (home / "trash").iterdir()] == ["1" * 32]


def test_a_session_with_forgotten_entries_can_be_exported_backed_up_and_copied(at: Place, tmp_path: Path) -> None:
    store = at.open()
    everywhere(store)
    last = Session("s", store=store).keep("t", None, f"the last one is {SECRET}")
    assert last.problem is None
    store.close()
    assert main(["forget", "--text", SECRET, "--yes"]) == 0
    store = at.open()
    wanted = verify(store, "s")
    assert main(["sessions", "export", "s", "-o", str(tmp_path / "out.jsonl")]) == 0
    assert main(["sessions", "import", str(tmp_path / "out.jsonl"), "--as", "again"]) == 0
    assert verify(store, "again").replace(session="s") == wanted
    other = place(at.kind, tmp_path / "copied").open()
    for step in plan(store, other, ["s"]):
        carry_out(store, other, step)
    assert verify(other, "s") == wanted
    assert Session("s", store=other).keep("t", None, "goes on").problem is None
    assert verify(other, "s").whole
    assert main(["store", "backup", str(tmp_path / "backup")]) == 0
    assert main(["store", "restore", str(tmp_path / "backup"), "--into", str(tmp_path / "restored")]) == 0
    restored = SqliteStore(str(tmp_path / "restored"))
    assert verify(restored, "s") == wanted
    for each in (store, other, restored):
        each.close()
    assert remains(tmp_path / "copied") == remains(tmp_path / "restored") == []


def test_an_archive_with_a_changed_forgotten_entry_is_refused(home: Path, tmp_path: Path) -> None:
    store = SqliteStore(str(home))
    session = Session("s", store=store)
    session.forget(str(session.keep("t", None, "a result").trace_id))
    session.keep("t", None, "another")
    store.close()
    path = tmp_path / "out.jsonl"
    assert main(["sessions", "export", "s", "-o", str(path)]) == 0
    text = path.read_text()
    assert '"forgotten"' in text
    at = text.index('"digest":"') + 10
    path.write_text(text[:at] + "0000" + text[at + 4 :])
    assert main(["sessions", "import", str(path), "--as", "again"]) != 0
