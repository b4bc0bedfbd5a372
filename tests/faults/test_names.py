"""Ids and names that are meant as paths: they are not found, and nothing outside the store is opened."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole import NotFound, Session, SqliteStore
from keepwhole.errors import Damaged, UsageError
from keepwhole.store.protocol import Body, body_of
from tests.faults.outputs import BLOB, Keeper
from tests.faults.watching import Decoy, paths_touched
from tests.torture.checks import opened

HOSTILE = (
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "/",
    "",
    "%2e%2e",
    "%2e%2e%2fetc%2fpasswd",
    "..\\..\\windows\\win.ini",
    "art_../..",
    "art_1_../../../../etc/passwd",
    "trace_../../record.db",
    "file:///etc/passwd",
    "a\0b",
    "\0",
    "art_\0/../../etc/passwd",
    "\ud800",
    "art_\udcff\udcfe",
    "art_" + "a" * 100_000,
    "../" * 50_000,
    "\n\r\x1b]52;c;AAAA\x07",
    "' OR 1=1 --",
    "art_%",
    "~root/.ssh/id_rsa",
    "$(id)",
    "ａｒｔ＿／．．",
    "‮drowssap",
)
IDS = (*HOSTILE, "record.db", "record.lock", "blobs")
"""A session may be called like a file of ours; an id is still not found by it."""


def shortly(name: str) -> str:
    return ascii(name[:24])


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(str(tmp_path_factory.mktemp("named") / "store")) as store:
        session = Session("real", store=store)
        assert Keeper(session).keep("str", BLOB)
        yield session


def folder_of(session: Session) -> Path:
    assert isinstance(session.store, SqliteStore)
    return Path(session.store.folder)


def outside(paths: list[str], session: Session) -> list[str]:
    """The paths that do not lie in the store's folder, but for the interpreter's own modules."""
    folder = folder_of(session)
    full = [Path(os.path.realpath(folder / path)) for path in paths if "\0" not in path]
    return [str(path) for path in full if not path.is_relative_to(folder) and path.suffix not in (".py", ".pyc")]


@pytest.mark.parametrize("name", IDS, ids=shortly)
def test_a_hostile_id_is_not_found_and_opens_nothing(session: Session, name: str) -> None:
    asks: tuple[Callable[[str], object], ...] = (
        session.recall,
        session.recall_bytes,
        session.open,
        session.shown,
        lambda id: list(session.stream(id)),
        lambda id: session.recall(id, lines="1-2"),
    )
    with paths_touched() as paths:
        for ask in asks:
            with pytest.raises((NotFound, UsageError)):
                ask(name)
    assert not outside(paths, session)


@pytest.mark.parametrize("name", IDS, ids=shortly)
def test_a_model_that_asks_for_a_hostile_id_is_told_what_there_is(session: Session, name: str) -> None:
    calls: tuple[dict[str, Any], ...] = (
        {"id": name},
        {"artifact_id": name, "lines": "1-5"},
        {"trace_id": name, "start_char": 0, "length": 5},
        {"id": [name]},
        {"id": {name: name}},
    )
    with paths_touched() as paths:
        for arguments in calls:
            answer = session.call_tool("get_artifact", arguments)
            assert answer.content.startswith("404: " if answer.is_error else '[There is no artifact "')
            answer.content.encode()
    assert not outside(paths, session)


@pytest.mark.parametrize("name", IDS, ids=shortly)
def test_a_hostile_range_is_answered_and_opens_nothing(session: Session, name: str) -> None:
    known = session.artifacts()[0].artifact_id
    with paths_touched() as paths:
        for key in ("lines", "start_char", "length", "start_line", "end_line"):
            session.call_tool("get_artifact", {"id": known, key: name}).content.encode()
    assert not outside(paths, session)


@pytest.mark.parametrize("name", HOSTILE, ids=shortly)
def test_a_hostile_session_name_is_refused(session: Session, name: str) -> None:
    with paths_touched() as paths, pytest.raises(UsageError):
        Session(name, store=session.store)
    assert not outside(paths, session)


@pytest.mark.parametrize("name", ["../../etc", "\0", "\ud800", "x" * 100_000], ids=shortly)
def test_a_hostile_tool_or_call_id_is_kept_as_text_and_opens_nothing(session: Session, name: str) -> None:
    with paths_touched() as paths:
        shown = session.keep(name, {"path": name}, "output", call_id=name, task_id=name, question=name)
        assert shown.problem is None
        assert session.recall(str(shown.trace_id)) == "output"
        assert session.keep(name, {"path": name}, "output", call_id=name).trace_id == shown.trace_id
    assert not outside(paths, session)


def planted_names(decoy: Path) -> list[str]:
    """Names of files that no row of ours has. Those that lead anywhere lead to the decoy: were one followed and its
    file removed, only the decoy would be."""
    return [f"/{decoy}/file", "../decoy/file", "..", "", "a\0", "zz" * 16, "ab" * 17, "." + "ab" * 16]


def test_a_hostile_file_name_in_a_row_is_damage_and_opens_nothing(session: Session) -> None:
    """A damaged or planted row may name any file; only names of our own making are opened or removed."""
    store, beside = session.store, folder_of(session).parent / "decoy"
    row = next(row for row in store.rows("real") if row.blob is not None)
    beside.mkdir()
    (beside / "file").write_text("not yours")
    with Decoy(str(beside)) as decoy:
        for name in planted_names(beside):
            planted = Body(body_of(row).facts, None, name)
            with pytest.raises(Damaged):
                store.open(planted)
            with contextlib.suppress(Damaged):
                store.discard(planted)
            assert decoy.touched() == [], f"{name!r} was followed"
    assert (beside / "file").read_text() == "not yours"
