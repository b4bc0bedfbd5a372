"""`keepwhole doctor` says which large bodies of a record in a folder are gone, wherever they were."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.apps.doctor import examine_record
from keepwhole.config import Settings
from tests.build import numbered_lines
from tests.objects import fresh_bucket
from tests.store.blobs.test_s3 import raw, there

LARGE = numbered_lines(9_000)
OUTSIDE = "Check that `blobs` is as it was when they were kept"


def kept(folder: Path, blobs: str = "", count: int = 2) -> SqliteStore:
    store = SqliteStore(str(folder / "record"), blobs=blobs)
    with Session("s", store=store) as session:
        for number in range(count):
            session.keep("bash", {"n": number}, f"{number} {LARGE}")
    return store


def said(store: SqliteStore, blobs: str = "") -> list[str]:
    """What the doctor says is bad."""
    found = examine_record(Settings(home=store.folder, blobs=blobs), store)
    return [one.what for _, one in found if one.grade == "bad"]


def test_a_record_with_all_its_bodies_lacks_none(tmp_path: Path) -> None:
    assert said(kept(tmp_path)) == []
    assert said(kept(tmp_path / "more", str(tmp_path / "outside")), str(tmp_path / "outside")) == []


def test_files_that_are_gone_are_named(tmp_path: Path) -> None:
    store = kept(tmp_path, count=5)
    shutil.rmtree(tmp_path / "record" / "blobs")
    [what] = said(store)
    assert what.startswith("The bodies of entry 1 of session `s`, entry 3 of session `s`, entry 5 of session `s`")
    assert what.endswith(" and 2 more are not in `blobs/`. Put the files back, or restore a backup.")


def test_bodies_that_are_gone_from_a_folder_outside_are_named(tmp_path: Path) -> None:
    outside = str(tmp_path / "outside")
    store = kept(tmp_path, outside)
    next(path for path in Path(outside).rglob("*") if path.is_file()).unlink()
    [what] = said(store, outside)
    assert what.startswith("The bodies of entry ")
    assert OUTSIDE in what


def test_bodies_that_are_gone_from_a_bucket_are_named(tmp_path: Path) -> None:
    blobs = fresh_bucket()
    store = kept(tmp_path, blobs)
    assert said(store, blobs) == []
    raw(blobs).delete(next(iter(there(blobs))))
    [what] = said(store, blobs)
    assert OUTSIDE in what


def test_a_place_that_is_no_longer_named_is_told(tmp_path: Path) -> None:
    kept(tmp_path, str(tmp_path / "outside")).close()
    [what] = said(SqliteStore(str(tmp_path / "record")))
    assert what.startswith("This body is not in the record itself but where `blobs` said when it was kept.")


@pytest.mark.parametrize("blobs", ["", "outside"])
def test_what_was_forgotten_or_purged_is_not_missed(tmp_path: Path, blobs: str) -> None:
    place = str(tmp_path / blobs) if blobs else ""
    store = kept(tmp_path, place, 3)
    store.forget("s", [1])
    assert said(store, place) == []
    store.purge("s", 1)
    assert said(store, place) == []


def test_a_row_that_belongs_to_no_session_is_named(tmp_path: Path) -> None:
    store = kept(tmp_path)
    with closing(sqlite3.connect(tmp_path / "record" / "record.db")) as outside, outside:
        outside.execute("INSERT INTO endings (session, at) VALUES (999, 1)")
    assert any("foreign key in endings" in what for what in said(store))
