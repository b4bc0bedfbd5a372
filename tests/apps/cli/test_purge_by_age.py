"""`keepwhole sessions purge --older-than`: retention by age."""

import time
from pathlib import Path

import pytest

from keepwhole.apps.cli.main import main
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.cli.cli import Cli
from tests.build import draft, opened

HOUR = 3_600_000


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A record with sessions that were last added to 50, 30 and 0 hours ago."""
    store, now = SqliteStore(str(tmp_path / "home")), int(time.time() * 1000)
    for name, hours in (("oldest", 50), ("older", 30), ("newest", 0)):
        opened(store, name)
        store.append(name, [draft(store, f"text of {name}", at=now - hours * HOUR)])
    store.close()
    return Cli(tmp_path)


def names(cli: Cli) -> set[str]:
    return {session["session"] for session in cli.json("sessions", "list")}


def test_what_is_older_goes_and_what_is_newer_stays(cli: Cli) -> None:
    said = cli.said("sessions", "purge", "--older-than", "40h", "--yes")
    assert "Purged 1 session:" in said
    assert "oldest" in said
    assert names(cli) == {"older", "newest"}
    assert cli.json("sessions", "purge", "--older-than", "1d", "--yes")["purged"] == ["older"]
    assert cli("sessions", "verify", "--all").returncode == 0


def test_a_dry_run_changes_nothing(cli: Cli) -> None:
    said = cli.said("sessions", "purge", "--older-than", "1d", "--dry-run")
    assert "Would purge 2 sessions" in said
    assert len(names(cli)) == 3


def test_without_a_yes_nothing_is_purged(cli: Cli) -> None:
    assert cli("sessions", "purge", "--older-than", "1d").returncode == 1
    assert len(names(cli)) == 3


@pytest.mark.parametrize("age", ["30", "d", "-3d", "3m", "٣d", "3.5d", "99999999999d"])
def test_what_is_no_age_is_refused(cli: Cli, age: str) -> None:
    done = cli("sessions", "purge", f"--older-than={age}", "--yes")
    assert done.returncode == 2
    assert (b"is not an age" if age else b"not an empty one") in done.stderr
    assert len(names(cli)) == 3


def test_a_session_and_an_age_are_one_too_many_and_neither_too_few(cli: Cli) -> None:
    for words in (("older", "--older-than", "1d"), ()):
        done = cli("sessions", "purge", *words, "--yes")
        assert done.returncode == 2
        assert b"--older-than 30d" in done.stderr


def test_a_session_with_anything_new_stays_though_the_clock_was_set_back_since(cli: Cli) -> None:
    store, now = SqliteStore(cli.environ["KEEPWHOLE_HOME"]), int(time.time() * 1000)
    opened(store, "set-back")
    for hours in (60, 0, 50):
        store.append("set-back", [draft(store, f"{hours} hours ago", at=now - hours * HOUR)])
    store.close()
    assert cli.json("sessions", "purge", "--older-than", "40h", "--yes")["purged"] == ["oldest"]
    assert "set-back" in names(cli)


def test_what_goes_on_while_a_person_is_asked_stays(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def agree_late(*_: object) -> bool:
        store = SqliteStore(cli.environ["KEEPWHOLE_HOME"])
        store.append("older", [draft(store, "it goes on", at=int(time.time() * 1000))])
        store.close()
        return True

    monkeypatch.setattr("keepwhole.apps.cli.screen.confirm", agree_late)
    monkeypatch.setenv("KEEPWHOLE_HOME", cli.environ["KEEPWHOLE_HOME"])
    assert main(["sessions", "purge", "--older-than", "1d"]) == 0
    assert names(cli) == {"older", "newest"}
