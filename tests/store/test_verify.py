"""`verify` names what is not as it was written, and the rest of the record stays readable."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.canonical.body import measure
from keepwhole.errors import Damaged, KeepwholeError
from keepwhole.store.protocol import Body, Draft
from keepwhole.store.verify import Verification, verify
from tests.build import decision, draft, numbered_lines, opened


def damaged(folder: Path, *statements: str) -> Verification:
    """What `verify` finds in a good session after somebody changed the file behind its back."""
    store = SqliteStore(str(folder))
    session = Session("s", store=store)
    session.keep("a", None, "first")
    session.keep("fetch", None, numbered_lines(500), call_id="c")
    session.keep("c", None, numbered_lines(9_000))
    assert session.verify().whole
    store.close()
    connection = sqlite3.connect(folder / "record.db")
    for trigger in ("entries_never_change", "entries_only_purged", "sessions_never_change", "sessions_only_purged"):
        connection.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    with Session("s", store=str(folder)) as session:
        return session.verify()


CHANGES: dict[str, tuple[str, list[int]]] = {
    "body": ("UPDATE entries SET body = CAST('firs' AS BLOB) WHERE seq = 1", [1]),
    "one letter": ("UPDATE entries SET body = x'6669727375' WHERE seq = 1", [1]),
    "header": (
        "UPDATE entries SET header = CAST(replace(CAST(header AS TEXT), 'fetch', 'fecth') AS BLOB) WHERE seq = 2",
        [2],
    ),
    "no header": ("UPDATE entries SET header = x'' WHERE seq = 2", [2]),
    "digest": ("UPDATE entries SET digest = zeroblob(32) WHERE seq = 2", [2]),
    "chain": ("UPDATE entries SET chain = zeroblob(32) WHERE seq = 2", [2, 3]),
    "previous": ("UPDATE entries SET previous = zeroblob(32) WHERE seq = 2", [2]),
    "kind": ("UPDATE entries SET kind = 'decision' WHERE seq = 1", [1]),
    "trace id": ("UPDATE entries SET trace_id = 'trace_other' WHERE seq = 1", [1]),
    "artifact id": ("UPDATE entries SET artifact_id = 'art_other' WHERE seq = 1", [1]),
    "decision": ("UPDATE entries SET body = x'5b5d' WHERE seq = 3", [3]),
    "index": ("UPDATE entries SET blocks = zeroblob(length(blocks)) WHERE seq = 4", [4]),
    "no index": ("UPDATE entries SET blocks = x'' WHERE seq = 4", [4]),
    "blob": ("UPDATE entries SET blob = 'ff000000000000000000000000000000' WHERE seq = 4", [4]),
    "gap": ("DELETE FROM entries WHERE seq = 1", [2]),
    "order": ("UPDATE entries SET seq = CASE seq WHEN 1 THEN -1 ELSE seq END", [2]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_behind_our_back_is_found_and_named(tmp_path: Path, change: str) -> None:
    statement, expected = CHANGES[change]
    found = damaged(tmp_path, statement)
    assert not found.whole
    assert set(expected) <= {finding.seq for finding in found.findings}


def test_a_result_that_was_taken_out_leaves_its_decision_without_a_subject(tmp_path: Path) -> None:
    found = damaged(tmp_path, "DELETE FROM entries WHERE seq = 2")
    assert any(finding.seq == 3 and "not in the record" in finding.what for finding in found.findings)


def test_two_entries_that_changed_places_are_found(tmp_path: Path) -> None:
    found = damaged(
        tmp_path,
        "UPDATE entries SET seq = 100 WHERE seq = 1",
        "UPDATE entries SET seq = 1 WHERE seq = 2",
        "UPDATE entries SET seq = 2 WHERE seq = 100",
    )
    assert not found.whole


@pytest.mark.parametrize(
    ("cut", "digest", "what"),
    [
        (b'["",[["k",0,3]],""]', b"bod", "does not cover"),
        (b'["",[["k",0,4]],""]', b"another view", "view that was shown"),
        (b"no cut", b"body", "cannot be read"),
    ],
)
def test_a_decision_that_does_not_fit_its_result_is_found(cut: bytes, digest: bytes, what: str) -> None:
    store = MemoryStore()
    opened(store)
    subject = draft(store, b"body")
    wrong = decision(subject.header.trace_id)
    header = wrong.header.replace(shown_digest=measure(digest).digest.hex())
    store.append("s", [subject, Draft(header, Body(measure(cut), inline=cut))])
    (finding,) = verify(store, "s").findings
    assert finding.seq == 2
    assert what in finding.what


def test_a_decision_about_a_result_of_another_session_is_found() -> None:
    store = MemoryStore()
    opened(store, "theirs")
    opened(store, "mine")
    subject = draft(store, b"body")
    store.append("theirs", [subject])
    store.append("mine", [decision(subject.header.trace_id)])
    assert [finding.what for finding in verify(store, "mine").findings] == [
        "it decides about a result that is not in the record"
    ]


def flipped(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [lambda path: flipped(path, 70_000), lambda path: path.write_bytes(b""), lambda path: path.unlink()],
    ids=["flipped", "emptied", "deleted"],
)
def test_a_damaged_file_is_found_never_served_and_costs_nothing_else(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    session = Session("s", store=str(tmp_path))
    large = session.keep("t", None, numbered_lines(9_000))
    small = session.keep("t", None, "still here")
    (blob,) = (path for path in (tmp_path / "blobs").rglob("*") if path.is_file())
    damage(blob)
    assert [finding.seq for finding in session.verify().findings if finding.seq == 1] == [1]
    with pytest.raises(Damaged):
        session.recall_bytes(str(large.trace_id))
    answer = session.call_tool("get_artifact", {"id": large.trace_id, "start_char": 69_990, "length": 20})
    assert answer.is_error
    assert "line" not in answer.content
    assert session.recall(str(small.trace_id)) == "still here"
    session.close()


def test_a_view_that_its_cut_no_longer_gives_is_found(tmp_path: Path) -> None:
    found = damaged(tmp_path, "UPDATE entries SET body = x'5b5d', digest = zeroblob(32) WHERE seq = 3")
    assert [finding.seq for finding in found.findings if finding.seq] == [3]


def test_damage_never_raises_anything_but_our_own_errors(tmp_path: Path) -> None:
    damaged(tmp_path, "UPDATE entries SET header = zeroblob(100), blocks = x'00', digest = x'', chain = x''")
    with Session("s", store=str(tmp_path)) as session:
        for row in session.store.rows("s"):
            with pytest.raises(KeepwholeError):
                session.recall(row.trace_id)


def test_a_session_that_is_not_there_has_nothing_to_verify() -> None:
    (finding,) = verify(MemoryStore(), "nobody").findings
    assert (finding.seq, finding.what) == (0, "there is no session of this name, so nothing was verified")
