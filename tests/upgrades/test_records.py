"""A record and settings that any released version has written open in this one, and show what they showed."""

import json
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, SqliteStore, config
from keepwhole.errors import StoreRefused
from keepwhole.store.sqlite.schema import scripts
from keepwhole.store.verify import verify
from keepwhole.version import VERSION
from release.unpack import unpack
from tests.apps.cli.cli import Cli
from tests.upgrades.record_of_release import FOLDER, MODEL, conversation, digest

RECORDS = sorted(FOLDER.glob("*.tar.xz"))


@pytest.fixture(params=RECORDS, ids=lambda path: path.name.removesuffix(".tar.xz"))
def record(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """The folder of a record, and what must be in it."""
    with tarfile.open(request.param) as archive:
        unpack(archive, tmp_path)
    return tmp_path, json.loads((tmp_path / "expected.json").read_text(encoding="utf-8"))


def test_this_version_has_written_its_record_down() -> None:
    assert VERSION in [path.name.removesuffix(".tar.xz") for path in RECORDS], (
        "run `python -m tests.upgrades.record_of_release`"
    )


def test_everything_in_it_is_whole_and_comes_back(record: tuple[Path, dict[str, Any]]) -> None:
    folder, expected = record
    store = SqliteStore(str(folder / "record"))
    assert sorted(info.name for info in store.sessions()) == expected["sessions"]
    for name in expected["sessions"]:
        assert verify(store, name).whole
    session = Session("by-hand", store=store)
    for trace_id, kept in expected["kept"].items():
        assert digest(session.recall_bytes(trace_id)) == kept["digest"]
        assert session.shown(trace_id).content == kept["shown"]
    store.close()


@pytest.mark.parametrize(("file", "words"), [("backup", ["store", "restore"]), ("exported", ["sessions", "import"])])
def test_a_backup_and_an_export_come_in(
    record: tuple[Path, dict[str, Any]], file: str, words: list[str], tmp_path: Path
) -> None:
    folder, expected = record
    cli = Cli(tmp_path / "new")
    cli.folder.mkdir()
    cli.said(*words, str(folder / file))
    store = SqliteStore(cli.environ["KEEPWHOLE_HOME"])
    session = Session("by-hand", store=store)
    assert verify(store, "by-hand").whole
    found = {trace_id: digest(session.recall_bytes(trace_id)) for trace_id in expected["kept"]}
    assert found == {trace_id: kept["digest"] for trace_id, kept in expected["kept"].items()}
    store.close()


def test_a_conversation_goes_on_with_the_bytes_that_were_sent(record: tuple[Path, dict[str, Any]]) -> None:
    folder, expected = record
    store = SqliteStore(str(folder / "record"))
    more = [*conversation(), {"role": "user", "content": "And now?"}]
    sent = Session("talk", store=store).view(more, model=MODEL)
    assert sent[: len(expected["sent"])] == expected["sent"]
    assert any(message["content"] != came["content"] for message, came in zip(sent, more, strict=True)), (
        "nothing was cut"
    )
    store.close()


def test_its_settings_are_taken(record: tuple[Path, dict[str, Any]]) -> None:
    settings = config.load(str(record[0] / "keepwhole.yaml"))
    assert (settings.auto.worth, settings.truncation.for_tool("execute_command").inline_limit) == (9_000, 3_000)


def test_an_older_version_names_the_version_that_it_takes_and_changes_nothing(
    record: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = record
    SqliteStore(str(folder / "record")).sessions()
    database = folder / "record" / "record.db"
    before = database.read_bytes()
    monkeypatch.setattr("keepwhole.store.sqlite.store.scripts", lambda: scripts()[:-1], raising=False)
    monkeypatch.setattr("keepwhole.store.sqlite.database.scripts", lambda: scripts()[:-1], raising=False)
    with pytest.raises(StoreRefused, match=rf"Keepwhole {VERSION}"):
        SqliteStore(str(folder / "record")).sessions()
    assert database.read_bytes() == before
    assert sqlite3.connect(database).execute("PRAGMA integrity_check").fetchone() == ("ok",)
