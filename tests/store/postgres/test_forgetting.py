"""Single entries are forgotten by the schema's owner alone, and what they said does not come back."""

from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.apps.cli.main import main
from keepwhole.errors import NotStored, StoreError, StoreRefused
from keepwhole.store.blobs.folder import BlobFolder
from keepwhole.store.protocol import Row, rows_with_forgotten
from keepwhole.store.verify import verify
from tests.build import draft, opened, stored_bytes
from tests.store.postgres.test_guarded import as_writer, ask, url

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres.store import PostgresStore

__all__ = ["url"]

LARGE = b"canary " * 200_000


def filled(url: str, folder: Path, blobs: str = "") -> PostgresStore:
    """A store with two sessions that have the same bodies: in a row, in one piece, in two."""
    store = PostgresStore(url, str(folder), blobs=blobs)
    for name in ("s", "other"):
        opened(store, name)
        store.append(name, [draft(store, b"canary"), draft(store, LARGE[:50_000]), draft(store, LARGE)])
    return store


def test_the_writing_role_is_told_who_may_forget_and_nothing_changes(url: str, tmp_path: Path) -> None:
    filled(url, tmp_path).close()
    store = PostgresStore(as_writer(url), str(tmp_path))
    shown = Session("s", store=store, recall="path").keep("t", None, "x" * 100_000)
    copy = Path(store.files.path_of("s", str(shown.trace_id)))
    before = verify(store, "s")
    with pytest.raises(StoreRefused, match=r"may add .* and not forget.*owner"):
        store.forget("s", [1, 2, 3, 4])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(as_writer(url), "SELECT * FROM forget('s', ARRAY[1])", "keepwhole_writer")
    assert copy.exists()
    assert verify(store, "s") == before
    store.close()


def test_the_command_says_so_too(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(url, tmp_path).close()
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path))
    monkeypatch.setenv("KEEPWHOLE_STORE", as_writer(url))
    assert main(["forget", "--text", "canary", "--yes"]) != 0
    assert "address of the schema's owner" in capsys.readouterr().err
    monkeypatch.setenv("KEEPWHOLE_STORE", url)
    assert main(["forget", "--text", "canary", "--yes"]) == 0
    said = capsys.readouterr().out
    assert "Removed 6 results" in said
    assert "VACUUM FULL" in said


@pytest.mark.parametrize("outside", [False, True], ids=["in the table", "outside"])
def test_the_bodies_of_another_session_stay(url: str, tmp_path: Path, outside: bool) -> None:
    store = filled(url, tmp_path / "home", str(tmp_path / "shared") if outside else "")
    assert store.forget("s", [1, 2, 3]) == 3
    assert store.forget("s", [1, 2, 3]) == 0, "forgotten twice"
    assert [stored_bytes(store, row) for row in store.rows("other")] == [b"canary", LARGE[:50_000], LARGE]
    assert [row.seq for row in store.forgotten("s")] == [1, 2, 3]
    assert verify(store, "s").whole
    assert len([path for path in (tmp_path / "shared").rglob("*") if path.is_file()]) == (2 if outside else 0)
    assert store.select("SELECT count(DISTINCT blob) FROM pieces") == [(0 if outside else 2,)]
    store.close()


def test_who_forgot_something_is_noted(url: str, tmp_path: Path) -> None:
    store = filled(url, tmp_path)
    last = list(store.rows("s"))[-1]
    store.forget("s", [2])
    store.forget("s", [2])
    noted = store.select("SELECT what, name, seq, chain, entries, by FROM removals")
    assert noted == [("entries", "s", 3, last.chain, 1, "postgres")]
    store.close()


def test_what_was_read_for_the_index_before_it_was_forgotten_is_not_indexed_after(url: str, tmp_path: Path) -> None:
    store = filled(url, tmp_path)
    number, seqs, words = store.number_of("s"), [1, 2, 3], ["'canary'"] * 3
    store.forget("s", [2])
    store.select("SELECT index_passages(%s, 0, 3, %s, %s)", (number, [seq * 64 for seq in seqs], words))
    assert store.select("SELECT number / 64 FROM passages WHERE session = %s ORDER BY 1", (number,)) == [(1,), (3,)]
    store.close()


def test_a_session_is_searched_after_something_of_it_was_forgotten(url: str, tmp_path: Path) -> None:
    store = filled(url, tmp_path)
    store.forget("s", [2])
    assert len(store.search("s", "canary")) == 2
    store.forget("s", [1])
    assert len(store.search("s", "canary")) == 1
    assert store.passages("s").is_all
    store.close()


def nothing(*_: object) -> None:
    """Delete nothing."""


def test_a_body_outside_that_cannot_be_deleted_is_reported(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(url, tmp_path / "home", str(tmp_path / "shared"))
    with monkeypatch.context() as patch:
        patch.setattr(BlobFolder, "remove", nothing)
        with pytest.raises(StoreError, match="artifacts collect"):
            store.forget("s", [3])
    assert verify(store, "s").whole
    store.close()


def left_of(store: PostgresStore, session: str) -> list[tuple[Row, bool]]:
    return list(rows_with_forgotten(store, session))


def test_what_is_left_of_an_entry_is_added_once_and_only_at_the_end(url: str, tmp_path: Path) -> None:
    store = filled(url, tmp_path)
    store.forget("s", [1, 3])
    writer = PostgresStore(as_writer(url), str(tmp_path))
    opened(writer, "copy")
    (first, _), (second, _), (third, _) = left_of(store, "s")
    writer.add_forgotten("copy", first)
    writer.add_forgotten("copy", first)  # as it is sent again after the connection was lost
    with pytest.raises(NotStored, match="Another process"):
        writer.add_forgotten("copy", third)
    (row, is_forgotten) = left_of(writer, "copy")[0]
    assert is_forgotten
    assert row == first.replace(session="copy")
    assert len(left_of(writer, "copy")) == 1
    assert second.previous == first.chain
    assert verify(writer, "copy").whole
    assert writer.append("copy", [draft(writer)])[0].seq == 2
    assert verify(writer, "copy").whole
    for each in (store, writer):
        each.close()


def test_bodies_that_no_entry_has_are_searched_too(url: str, tmp_path: Path) -> None:
    store = filled(url, tmp_path)
    draft(store, LARGE)
    harmless = draft(store, b"x" * 1_200_000).body.blob
    assert store.remove_leftovers(lambda data: b"canary" in data) == 1
    left = "SELECT DISTINCT blob FROM pieces WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.blob = pieces.blob)"
    assert store.select(left) == [(harmless,)]
    assert verify(store, "s").whole
    store.close()
