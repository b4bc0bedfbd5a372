"""Trouble while an output is still streaming, when there is no second copy of it: nothing that came is lost."""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.record.kept_result import KeptResult
from tests.faults.outputs import BLOB, INLINE, KINDS, LARGE, Keeper, assert_given_back, handed_over, unfinished_files
from tests.torture.bodies import pieces, text
from tests.torture.checks import opened

kinds = pytest.mark.parametrize("kind", KINDS)
sizes = pytest.mark.parametrize("size", [INLINE, BLOB])


def assert_kept_or_given_back(session: Session, shown: KeptResult, content: str) -> None:
    if shown.problem is None:
        assert session.recall(str(shown.trace_id)) == content
    else:
        assert_given_back(shown, content)


@pytest.mark.parametrize("size", [INLINE, BLOB, LARGE])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "the terminal is gone"), ValueError("a broken generator")])
def test_a_tool_that_fails_in_the_middle_is_not_taken_for_a_failed_disk(
    tmp_path: Path, size: int, error: Exception
) -> None:
    def failing() -> Iterator[bytes]:
        yield from pieces(text(1, size).encode())
        raise error

    with opened(str(tmp_path / "store")) as store:
        session = Session("failing", store=store)
        with pytest.raises(type(error)):
            session.keep("tool", None, failing())
        assert unfinished_files(store.folder) == []
        keeper = Keeper(session)
        assert keeper.keep("iterator", BLOB), "the store mistrusts its disk for an error of the tool"
        keeper.check()


@kinds
def test_a_result_kept_again_whose_first_copy_is_damaged_is_not_lost(tmp_path: Path, kind: str) -> None:
    with opened(str(tmp_path / "store")) as store:
        session = Session("again", store=store)
        content = text(1, BLOB)
        assert session.keep("tool", None, content, call_id="call").problem is None
        for path in (tmp_path / "store" / "blobs").rglob("*"):
            if path.is_file():
                path.write_bytes(b"")
        with handed_over(kind, content) as given:
            shown = session.keep("tool", None, given, call_id="call")
        assert_kept_or_given_back(session, shown, content)


@kinds
@sizes
def test_a_record_that_cannot_be_asked_about_a_call_gives_the_original_back(
    tmp_path: Path, kind: str, size: int
) -> None:
    folder = str(tmp_path / "store")
    with opened(folder) as store:
        assert Session("damaged", store=store).keep("tool", None, "first", call_id="call").problem is None
    wipe_index(os.path.join(folder, "record.db"), "decision_by_trace")
    with opened(folder) as store:
        session, content = Session("damaged", store=store), text(2, size)
        with handed_over(kind, content) as given:
            shown = session.keep("tool", None, given, call_id="call")
        assert_kept_or_given_back(session, shown, content)


def wipe_index(path: str, name: str) -> None:
    """Overwrite the root page of an index."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with open(path, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


@kinds
@sizes
def test_a_session_that_somebody_purged_meanwhile_loses_nothing_kept_after(
    tmp_path: Path, kind: str, size: int
) -> None:
    folder = str(tmp_path / "store")
    with opened(folder) as store, opened(folder) as other:
        session, content = Session("purged", store=store), text(3, size)
        assert session.keep("tool", None, "before").problem is None
        other.purge("purged", 0)
        with handed_over(kind, content) as given:
            shown = session.keep("tool", None, given)
        assert_kept_or_given_back(session, shown, content)
